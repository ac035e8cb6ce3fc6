// SPDX-License-Identifier: Apache-2.0

package law

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// program has Ps that are held: it uses perP cores for each, up to most, while goroutines wait.
type program struct {
	perP, most, waits float64
	refuse            bool                // GOMAXPROCS cannot be set
	spoil             func(i int, x *CPU) // errors in reading
	x                 CPU
	s                 ProcsState
	d                 ProcsDecision
	p                 ProcsPolicy
	requested         []int     // each new GOMAXPROCS asked for
	at                []float64 // when
	i                 int
}

func newProgram(base int, perP float64) *program {
	return &program{
		perP: perP, most: 4, waits: 100,
		x: CPU{At: 50, Procs: base, Cores: 4, Quota: 4}, p: ProcsPolicy{Base: base},
	}
}

func (f *program) run(seconds float64) {
	for end := f.x.At + seconds; f.x.At < end; {
		f.step()
	}
}

func (f *program) step() {
	dt := f.d.Next
	if dt <= 0 {
		dt = 1
	}
	x := &f.x
	x.At += dt
	x.Used += min(f.most, f.perP*float64(x.Procs)) * dt
	x.GoWait += f.waits * dt
	read := *x
	if f.spoil != nil {
		f.spoil(f.i, &read)
	}
	f.i++
	f.s, f.d = StepProcs(f.s, read, f.p)
	n := f.d.Procs
	if n == 0 {
		n = f.p.Base
	}
	if n == x.Procs {
		return
	}
	if k := len(f.requested); k == 0 || f.requested[k-1] != n {
		f.requested, f.at = append(f.requested, n), append(f.at, x.At)
	}
	if !f.refuse {
		x.Procs = n
	}
}

func (f *program) want(t *testing.T, name, code string, requested ...int) {
	t.Helper()
	if f.d.Code != code || !slices.Equal(f.requested, requested) {
		t.Errorf("%s: %q, requested %v at %v; want %q, %v", name, f.d.Code, f.requested, f.at, code, requested)
	}
}

// TestProcsCeilingFalls: a held number falls with the ceiling, at once and without a test.
func TestProcsCeilingFalls(t *testing.T) {
	for _, c := range []struct {
		ceiling   int
		code      string
		requested []int
	}{
		{8, ProcsRaised, []int{4, 8, 16, 8}},
		{2, "", []int{4, 8, 16, 2}},
		{1, "", []int{4, 8, 16, 2}},
	} {
		f := newProgram(2, 0.1)
		f.run(12)
		f.p.Ceiling = c.ceiling
		f.run(1)
		f.want(t, "the ceiling is "+strconv.Itoa(c.ceiling), c.code, c.requested...)
	}
}

// TestProcsClimb: GOMAXPROCS doubles while that raises CPU use, up to the ceiling or the cores
// there are.
func TestProcsClimb(t *testing.T) {
	for _, c := range []struct {
		name      string
		perP      float64
		ceiling   int
		requested []int
	}{
		{"up to the ceiling", 0.1, 0, []int{4, 8, 16}},
		{"up to a lower one", 0.1, 6, []int{4, 6}},
		{"a ceiling below", 0.1, 1, nil},
		{"until all is used", 0.5, 0, []int{4, 8}},
		{"all is used", 1.9, 0, nil},
		{"what does not help is taken back", 0, 0, []int{4, 2}},
	} {
		f := newProgram(2, c.perP)
		f.p.Ceiling = c.ceiling
		f.run(13)
		code := ProcsRaised
		if n := len(c.requested); n == 0 || c.requested[n-1] == 2 {
			code = ""
		}
		f.want(t, c.name, code, c.requested...)
	}
}

// TestProcsRest: a try takes two and a half seconds, and a failed one is repeated after 10 s, 20
// s and so on.
func TestProcsRest(t *testing.T) {
	f := newProgram(2, 0)
	f.run(800)
	for i := 0; i+1 < len(f.at); i += 2 {
		if took := f.at[i+1] - f.at[i]; f.requested[i] != 4 || f.requested[i+1] != 2 || took != 1.5 {
			t.Errorf("try %d: %v for %g s", i/2, f.requested[i:i+2], took)
		}
	}
	var rests []float64
	for i := 2; i < len(f.at); i += 2 {
		rests = append(rests, math.Round((f.at[i]-f.at[i-1])/10)*10)
	}
	if want := []float64{10, 20, 40, 80, 160, 160, 160}; !slices.Equal(rests, want) {
		t.Errorf("rests of %v s, want %v", rests, want)
	}
}

// TestProcsTest: a held number is tested, less and less often, and given back when it is not
// needed.
func TestProcsTest(t *testing.T) {
	f := newProgram(2, 0.1)
	f.run(400)
	want := []int{4, 8, 16, 2, 16, 2, 16, 2, 16, 2, 16, 2, 16}
	f.want(t, "needed", ProcsRaised, want...)
	var after []float64
	for i := 3; i < len(f.at); i += 2 {
		after = append(after, math.Round((f.at[i]-f.at[i-1])/10)*10)
	}
	if want := []float64{10, 20, 40, 80, 160}; !slices.Equal(after, want) {
		t.Errorf("tested after %v s, want %v", after, want)
	}
	f.waits, f.perP = 0, 0
	f.run(200)
	f.want(t, "no load", "", append(want, 2)...)
	f.waits, f.perP = 100, 0.1
	f.run(60)
	f.want(t, "again", ProcsRaised, append(want, 2, 4, 8, 16)...)
}

// TestProcsNothingWaits: Ps without waiting goroutines are enough.
func TestProcsNothingWaits(t *testing.T) {
	f := newProgram(4, 0.1)
	f.waits = 1.9
	f.run(1000)
	f.want(t, "half a goroutine for each P", "")
	if f.d.Next != 1 || f.d.Procs != 0 {
		t.Errorf("%+v", f.d)
	}
}

// TestProcsRefused: a number that cannot be set is requested for half a minute at a time.
func TestProcsRefused(t *testing.T) {
	f := newProgram(2, 0.1)
	f.refuse = true
	requested := 0
	for f.x.At < 1000 {
		f.step()
		if f.d.Procs == 4 {
			requested++
		}
	}
	if requested == 0 || requested > 200 {
		t.Errorf("requested 4 in %d of %d samples", requested, f.i)
	}
}

// TestProcsUnknown: unreadable samples raise nothing, and end a try.
func TestProcsUnknown(t *testing.T) {
	for name, spoil := range map[string]func(x *CPU){
		"CPU time":   func(x *CPU) { x.Used = math.NaN() },
		"waiting":    func(x *CPU) { x.GoWait = math.NaN() },
		"cores":      func(x *CPU) { x.Cores = 0 },
		"procs":      func(x *CPU) { x.Procs = 0 },
		"time":       func(x *CPU) { x.At = math.Inf(1) },
		"not a time": func(x *CPU) { x.At = math.NaN() },
	} {
		f := newProgram(2, 0.1)
		f.spoil = func(_ int, x *CPU) { spoil(x) }
		f.run(100)
		f.want(t, name, "")
	}
	f := newProgram(2, 0.1)
	f.spoil = func(_ int, x *CPU) {
		if x.Procs > 2 {
			x.Used = math.NaN()
		}
	}
	f.run(11)
	f.want(t, "in a try", "", 4, 2)
}

// TestProcsOfAnotherBase: new limits start over.
func TestProcsOfAnotherBase(t *testing.T) {
	f := newProgram(2, 0.1)
	f.run(10)
	f.p.Base = 3
	f.step()
	f.want(t, "at once", "", 4, 8, 16, 3)
	f.run(13)
	f.want(t, "and again", ProcsRaised, 4, 8, 16, 3, 6, 12, 16)
}

// TestProcsStaysInBounds: for any input, at any rate.
func TestProcsStaysInBounds(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 3))
		f := newProgram(1+r.IntN(6), 0.1)
		odd := []float64{0, -1, math.NaN(), math.Inf(1), math.MaxFloat64, 1e-300}
		f.spoil = func(_ int, x *CPU) {
			for _, v := range []*float64{&x.At, &x.Used, &x.GoWait, &x.Cores, &x.Quota} {
				if r.IntN(20) == 0 {
					*v = odd[r.IntN(len(odd))]
				}
			}
			if r.IntN(20) == 0 {
				x.Procs = r.IntN(40) - 2
			}
		}
		for range 2000 {
			f.perP, f.waits = r.Float64(), 50*r.Float64()
			if r.IntN(100) == 0 {
				f.p.Base, f.p.Ceiling = 1+r.IntN(6), r.IntN(40)
			}
			f.step()
			most := f.p.Ceiling
			if most == 0 {
				most = math.MaxInt // Cores may be anything here
			}
			if n := f.d.Procs; n != 0 && (n < f.p.Base || n > max(most, f.p.Base, f.s.held)) || !(f.d.Next == procsLook || f.d.Next == 1) {
				t.Fatalf("seed %d: %+v of %+v, %+v", seed, f.d, f.p, f.s)
			}
		}
	}
}
