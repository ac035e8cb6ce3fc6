// SPDX-License-Identifier: Apache-2.0

package law

import (
	"math"
	"slices"
	"testing"
)

// mix is what a second holds, in cores and in goroutines and threads that wait.
type mix struct{ used, goWait, kernelWait, throttled, wakeups, idle float64 }

var (
	calm  = mix{0.2, 0.5, 0.1, 0, 3000, 0.9}
	stuck = mix{0.25, 98, 0.5, 0.1, 400, 0}   // Ps held
	queue = mix{0.5, 80, 1.5, 0.5, 1000, 0}   // neighbours take the CPUs
	spent = mix{0.5, 80, 1.5, 1, 1000, 0}     // the quota is used up
	burst = mix{0.3, 98, 0.1, 0, 5000, 0.8}   // Ps idle between bursts
	full  = mix{0.49, 0.5, 0.5, 0.6, 2000, 0} // no calm, and nothing held
)

// feed gives the law a stream and does what it says.
type feed struct {
	x      CPU
	p      StarvationPolicy
	s      StarvationState
	d      StarvationDecision
	perP   bool                 // goroutines run as often as there are Ps
	spoil  func(i int, x *CPU)  // what goes wrong in reading
	refuse bool                 // GOMAXPROCS cannot be set
	asked  []int                // each new GOMAXPROCS asked for
	codes  []string             // each new code
	at     map[string][]float64 // when
	i      int
}

func newFeed(base int) *feed {
	return &feed{
		x:    CPU{At: 50, Procs: base, Cores: 0.5, Quota: 0.5},
		p:    StarvationPolicy{Base: base},
		perP: true, at: map[string][]float64{},
	}
}

func (f *feed) run(seconds float64, m mix) {
	for end := f.x.At + seconds; f.x.At < end; {
		f.step(f.d.Next, m)
	}
}

func (f *feed) step(dt float64, m mix) {
	if dt <= 0 {
		dt = 1
	}
	x := &f.x
	x.At += dt
	x.Used += m.used * dt
	x.GoWait += m.goWait * dt * max(1, float64(x.Procs)/float64(max(f.p.Base, 1))) // however many Ps, it stays crowded
	x.KernelWait += m.kernelWait * dt
	x.Periods += int64(10 * dt)
	x.Throttled += int64(10 * dt * m.throttled)
	rate := m.wakeups
	if f.perP {
		rate *= float64(x.Procs)
	}
	x.Wakeups += rate * dt
	x.Idle += m.idle * float64(x.Procs) * dt
	x.Busy += (1 - m.idle) * float64(x.Procs) * dt
	read := *x
	if !f.d.WantKernel {
		read.KernelWait = math.NaN()
	}
	if f.spoil != nil {
		f.spoil(f.i, &read)
	}
	f.i++
	f.s, f.d = StepStarvation(f.s, read, f.p)
	if n := f.d.Procs; n != 0 && n != x.Procs {
		if len(f.asked) == 0 || f.asked[len(f.asked)-1] != n || !f.refuse {
			f.asked = append(f.asked, n)
		}
		if !f.refuse {
			x.Procs = n
		}
	}
	if n := len(f.codes); n == 0 || f.codes[n-1] != f.d.Code {
		f.codes = append(f.codes, f.d.Code)
		f.at[f.d.Code] = append(f.at[f.d.Code], x.At)
	}
}

func (f *feed) want(t *testing.T, name string, procs int, code string, asked ...int) {
	t.Helper()
	if f.x.Procs != procs || f.d.Code != code || !slices.Equal(f.asked, asked) {
		t.Errorf("%s: %d Ps, %q, asked for %v; want %d, %q, %v (codes %q)", name, f.x.Procs, f.d.Code, f.asked, procs, code, asked, f.codes)
	}
}

func TestEscapeRaisesStaysAndReturns(t *testing.T) {
	f := newFeed(2)
	f.run(100, calm)
	f.want(t, "calm", 2, "")
	if f.d.WantKernel || f.d.Next != 1 || f.d.Procs != 0 {
		t.Errorf("calm: %+v", f.d)
	}
	began := f.x.At
	for f.x.Procs == 2 && f.x.At < began+10 {
		f.step(f.d.Next, stuck)
	}
	if took := f.x.At - began; took < hotFor || took > 4.1 {
		t.Errorf("raised after %g s", took)
	}
	f.want(t, "stuck", 4, StarvationEscape, 4)
	f.run(5, stuck)
	f.want(t, "still stuck", 8, StarvationEscape, 4, 8)
	f.run(590, calm)
	f.want(t, "the stay", 8, StarvationEscape, 4, 8)
	f.run(30, full)
	f.want(t, "stay over, not calm", 8, StarvationEscape, 4, 8)
	f.run(9, calm)
	f.want(t, "not yet calm enough", 8, StarvationEscape, 4, 8)
	f.run(3, calm)
	f.want(t, "returned", 2, "", 4, 8, 2)
	if len(f.at[EscapeReturned]) != 1 {
		t.Errorf("codes %q", f.codes)
	}
	f.run(2000, calm)
	f.want(t, "long after", 2, "", 4, 8, 2)
}

func TestEscapeRelapses(t *testing.T) {
	f := newFeed(2)
	f.p.Stay, f.p.Relapses = 100, 3
	stays := []float64{}
	for range 10 {
		f.run(20, calm)
		if f.d.GaveUp {
			break
		}
		for f.x.Procs == 2 {
			f.step(f.d.Next, stuck)
		}
		if len(stays) == 0 {
			f.run(4, stuck) // once it takes 8
		}
		raised := f.x.At
		for f.x.Procs != 2 && f.x.At < raised+2000 {
			f.step(f.d.Next, calm)
		}
		stays = append(stays, f.x.At-raised)
	}
	if want := []int{4, 8, 2, 8, 2, 8, 2, 8}; !slices.Equal(f.asked, want) {
		t.Errorf("asked for %v, want %v: what was enough comes at once", f.asked, want)
	}
	for i, want := range []float64{100, 200, 400} {
		if len(stays) != 4 || math.Abs(stays[i]-want) > 3 {
			t.Fatalf("stayed %v", stays)
		}
	}
	if !f.d.GaveUp || f.d.Code != EscapeStays || f.x.Procs != 8 {
		t.Errorf("%+v", f.d)
	}
	f.run(1e5, calm)
	if f.x.Procs != 8 || f.d.Procs != 8 {
		t.Errorf("for good: %+v", f.d)
	}
}

// TestRelapseForgiven: what collapses once in two days is no relapse.
func TestRelapseForgiven(t *testing.T) {
	f := newFeed(2)
	f.p.Stay, f.p.Relapses = 100, 1
	for range 5 {
		f.run(5, stuck)
		f.run(2*forgiveAfter, calm)
		if f.d.GaveUp || f.x.Procs != 2 {
			t.Fatalf("%+v, asked for %v", f.d, f.asked)
		}
	}
}

func TestEscapeThatDoesNotHelp(t *testing.T) {
	f := newFeed(2)
	f.perP = false
	f.run(60, stuck)
	f.want(t, "as often with 4 as with 2", 2, EscapeFutile, 4, 2)
	if !f.d.GaveUp || f.d.WantKernel || f.d.Procs != 0 {
		t.Errorf("%+v", f.d)
	}
	f.run(1e4, stuck)
	f.want(t, "for ever", 2, EscapeFutile, 4, 2)
	f.p.Base, f.x.Procs, f.asked = 3, 3, nil
	f.perP = true
	f.run(10, stuck)
	f.want(t, "another Base", 8, StarvationEscape, 6, 8)
}

func TestCeilings(t *testing.T) {
	for _, c := range []struct {
		name                 string
		base, ceiling        int
		cores, quota, factor float64
		want                 []int
	}{
		{"by default", 2, 0, 0.5, 0.5, 1, []int{4, 8}},
		{"an odd base", 3, 0, 0.5, 0.5, 1, []int{6, 8}},
		{"many cores", 4, 0, 3.5, 0, 3, []int{8, 16}},
		{"given", 2, 3, 0.5, 0.5, 1, []int{3}},
		{"below Base", 4, 2, 0.5, 0.5, 1, nil},
		{"at Base", 8, 0, 0.5, 0.5, 1, nil},
	} {
		f := newFeed(c.base)
		f.p.Ceiling, f.x.Cores, f.x.Quota = c.ceiling, c.cores, c.quota
		m := stuck
		m.goWait *= c.factor
		f.run(40, m)
		if !slices.Equal(f.asked, c.want) {
			t.Errorf("%s: asked for %v, want %v", c.name, f.asked, c.want)
		}
		if c.want == nil && f.d.WantKernel {
			t.Errorf("%s: looks at threads for nothing", c.name)
		}
	}
}

// TestNothingIsDone: whatever lasts, and whatever cannot be read.
func TestNothingIsDone(t *testing.T) {
	unknown := math.NaN()
	for _, c := range []struct {
		name  string
		m     mix
		spoil func(i int, x *CPU)
	}{
		{"neighbours take the CPUs", queue, nil},
		{"quota used up", spent, nil},
		{"bursts", burst, nil},
		{"Ps held, quota nearly used up", mix{0.42, 98, 0.5, 0.5, 400, 0}, nil},
		{"full", full, nil},
		{"too short", stuck, func(i int, x *CPU) {
			if i%3 == 2 {
				x.GoWait -= 1e9 // goes back
			}
		}},
		{"kernel wait unknown", stuck, func(i int, x *CPU) { x.KernelWait = unknown }},
		{"threads end all the time", stuck, func(i int, x *CPU) { x.KernelWait = 1000 - x.At }},
		{"waits unknown", stuck, func(i int, x *CPU) { x.GoWait = unknown }},
		{"CPU time unknown", stuck, func(i int, x *CPU) { x.Used = unknown }},
		{"every other CPU time unknown", stuck, func(i int, x *CPU) {
			if i%2 == 1 {
				x.Used = unknown
			}
		}},
		{"cores unknown", stuck, func(i int, x *CPU) { x.Cores, x.Quota = 0, 0 }},
		{"GOMAXPROCS unknown", stuck, func(i int, x *CPU) { x.Procs = 0 }},
		{"the clock stands", stuck, func(i int, x *CPU) { x.At = 7 }},
		{"no clock", stuck, func(i int, x *CPU) { x.At = unknown }},
		{"the clock goes back", stuck, func(i int, x *CPU) { x.At = -x.At }},
		{"quota goes up and down", stuck, func(i int, x *CPU) { x.Cores = 0.5 + float64(i%2); x.Quota = x.Cores }},
	} {
		f := newFeed(2)
		f.spoil = c.spoil
		f.run(300, c.m)
		if len(f.asked) != 0 {
			t.Errorf("%s: asked for %v, codes %q", c.name, f.asked, f.codes)
		}
		// Looking at threads is dear: not all the time without an emergency.
		if f.i > 420 && c.m != stuck {
			t.Errorf("%s: %d looks in 300 s", c.name, f.i)
		}
	}
	f := newFeed(2)
	f.p.Base = 0
	f.run(60, stuck)
	if len(f.asked) != 0 {
		t.Errorf("no Base: asked for %v", f.asked)
	}
}

// TestShortHotTimes: a collapse that ends by itself within 2 s, every 4 s, is none.
func TestShortHotTimes(t *testing.T) {
	f := newFeed(2)
	for range 200 {
		f.run(1.4, stuck)
		f.run(2.5, calm)
	}
	f.want(t, "1.4 s at a time", 2, f.d.Code)
	f = newFeed(2)
	f.run(10, calm)
	f.step(50, stuck) // the process was stopped
	f.run(10, calm)
	f.step(300, stuck)
	f.run(10, calm)
	f.want(t, "stopped for 50 s", 2, "")
}
