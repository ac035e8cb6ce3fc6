// SPDX-License-Identifier: Apache-2.0

package law

import (
	"math"
	"math/rand/v2"
	"testing"
)

// pair returns two samples, 10 s apart, with the given use and waits between them.
func pair(procs int, quota, used, goWait, kernelWait, throttled float64) (from, to CPU) {
	const dt = 10
	from = CPU{
		At: 100, Procs: procs, CPUs: 2, Cores: quota, Quota: quota, Used: 7, GC: 1, Busy: 5, Idle: 3,
		Periods: 1000, Throttled: 500, GoWait: 3000, Wakeups: 1e6, KernelWait: 60,
	}
	if quota == 0 {
		from.Cores, from.Periods, from.Throttled = 2, -1, -1
	}
	to = from
	to.At += dt
	to.Used += used * dt
	to.GoWait += goWait * dt
	to.KernelWait += kernelWait * dt
	to.Wakeups += 1000 * dt
	if quota > 0 {
		to.Periods += 100
		to.Throttled += int64(100 * throttled)
	}
	return from, to
}

// TestVerdictOfMeasuredStates: figures that a prototype measured in each state.
func TestVerdictOfMeasuredStates(t *testing.T) {
	unknown := math.NaN()
	for _, c := range []struct {
		name                                       string
		procs                                      int
		quota, used, goWait, kernelWait, throttled float64
		want                                       Verdict
	}{
		{"collections on one P of 1.5: too few, but not held", 1, 1.5, 0.82, 25, 0.15, 0, Unclear},
		{"collections on 4 Ps of 1.5: enough", 4, 1.5, 1.1, 2.5, 1.7, 0, Fine},
		{"system calls on one P of 1.5", 1, 1.5, 0.18, 725, 0.3, 0, TooFewPs},
		{"system calls on 2 Ps of 0.5", 2, 0.5, 0.295, 98, 0.8, 0.17, TooFewPs},
		{"system calls on 4 Ps of 0.5, the mildest", 4, 0.5, 0.3, 43, 1, 0.04, TooFewPs},
		{"system calls on 4 Ps of 0.5, the worst", 4, 0.5, 0.18, 63, 0.5, 0.04, TooFewPs},
		{"system calls on 2 Ps of 0.5, kernel wait not read", 2, 0.5, 0.295, 98, unknown, 0.17, Unclear},
		{"system calls on 4 Ps of 0.5 that is nearly used up", 4, 0.5, 0.42, 63, 0.5, 0.3, Unclear},
		{"collections on 8 Ps of 0.5: too many, no verdict without a trial", 8, 0.5, 0.46, 0.64, 0.95, 0.5, Unclear},
		{"collections on one P of 0.5: throttled at its best too", 1, 0.5, 0.425, 1.07, 0.25, 0.23, Unclear},
		{"overloaded at 0.5 on one P", 1, 0.5, 0.5, 4.1, 0.6, 0.96, QuotaSpent},
		{"overloaded at 0.5 on 2 Ps", 2, 0.5, 0.5, 5.2, 1.6, 0.96, QuotaSpent},
		{"overloaded at 0.5 on 4 Ps", 4, 0.5, 0.5, 10, 3.6, 0.96, QuotaSpent},
		{"overloaded, kernel wait not read", 4, 0.5, 0.5, 10, unknown, 0.96, QuotaSpent},
		{"2 Ps of 1.5", 2, 1.5, 0.63 * 1.5, 2.3, 0.5, 0, Fine},
		{"8 Ps of 1.5", 8, 1.5, 0.71 * 1.5, 1.3, 2.1, 0, Fine},
		{"8 Ps of 1.5, kernel wait not read", 8, 1.5, 0.71 * 1.5, 1.3, unknown, 0, Unclear},
		{"bursts on one P of 1.5", 1, 1.5, 0.62, 8.5, 0.1, 0, Unclear},
		{"idle without a quota", 2, 0, 0.01, 0.001, 0.001, 0, Fine},
		{"no quota, neighbours take both CPUs", 2, 0, 1, 80, 1, 0, HostBusy},
		{"a quota that is hardly used, neighbours take both CPUs", 2, 0.5, 0.04, 0.1, 2, 0, HostBusy},
		{"light work beside six hogs on 2 CPUs", 2, 0, 0.19, 0.2, 1.39, 0, HostBusy},
		{"the same, kernel wait not read", 2, 0.5, 0.04, 80, unknown, 0, Unclear},
		{"neighbours, and the quota throttles too", 2, 0.5, 0.3, 2, 1.9, 0.3, Unclear},
		{"4 Ps on 2 CPUs wait for each other", 4, 0, 1.4, 80, 1.9, 0, Unclear},
		{"4 Ps on 2 CPUs, and neighbours", 4, 0, 0.9, 80, 2.5, 0, HostBusy},
		{"threads that are not Go's wait for each other", 2, 0, 1, 4, 4.1, 0, Unclear},
		{"no quota, system calls", 2, 0, 0.3, 98, 0.1, 0, TooFewPs},
		{"every period throttled, quota not used up", 2, 0.5, 0.3, 2, 0.5, 1, Unclear},
		{"quota used up, seldom throttled", 1, 0.5, 0.5, 0.5, 0.1, 0.2, Unclear},
	} {
		from, to := pair(c.procs, c.quota, c.used, c.goWait, c.kernelWait, c.throttled)
		w := Measure(&from, &to)
		if w.Verdict != c.want {
			t.Errorf("%s: %v, want %v: %+v", c.name, w.Verdict, c.want, w)
		}
		near(t, c.name+" GoWait", w.GoWait, c.goWait)
		near(t, c.name+" KernelWait", w.KernelWait, c.kernelWait)
		near(t, c.name+" PerWakeup", w.PerWakeup, (c.goWait+c.kernelWait)/1000)
		near(t, c.name+" Used", w.Used, c.used)
		if c.quota > 0 {
			near(t, c.name+" Throttled", w.Throttled, c.throttled)
		}
	}
}

func near(t *testing.T, name string, got, want float64) {
	t.Helper()
	if math.IsNaN(got) != math.IsNaN(want) || math.Abs(got-want) > 1e-6+1e-9*math.Abs(want) {
		t.Errorf("%s %g, want %g", name, got, want)
	}
}

func TestMeasureWhatIsUnknown(t *testing.T) {
	unknown := math.NaN()
	held := func() (CPU, CPU) { return pair(2, 1.5, 0.3, 98, 0.3, 0) }
	spent := func() (CPU, CPU) { return pair(2, 0.5, 0.5, 5, 1.6, 1) }
	fine := func() (CPU, CPU) { return pair(2, 1.5, 0.9, 2, 0.5, 0) }
	for _, c := range []struct {
		name    string
		state   func() (CPU, CPU)
		change  func(from, to *CPU)
		unknown func(w *Waiting) float64 // must be NaN
		want    Verdict
	}{
		{"the same moment", held, func(f, x *CPU) { x.At = f.At }, func(w *Waiting) float64 { return w.Used }, Unclear},
		{"time goes back", held, func(f, x *CPU) { x.At = f.At - 1 }, func(w *Waiting) float64 { return w.GoWait }, Unclear},
		{"time unknown", held, func(f, x *CPU) { x.At = unknown }, func(w *Waiting) float64 { return w.GoWait }, Unclear},
		{"another GOMAXPROCS", held, func(f, x *CPU) { x.Procs = 4 }, nil, Unclear},
		{"another quota", spent, func(f, x *CPU) { x.Quota, x.Cores = 0.4, 0.4 }, nil, Unclear},
		{"GOMAXPROCS unknown", held, func(f, x *CPU) { x.Procs, f.Procs = 0, 0 }, nil, Unclear},
		{"cores unknown", held, func(f, x *CPU) { x.Cores, f.Cores = 0, 0 }, nil, Unclear},
		{"CPU time unknown", held, func(f, x *CPU) { x.Used = unknown }, func(w *Waiting) float64 { return w.Used }, Unclear},
		{"CPU time went back", spent, func(f, x *CPU) { x.Used = f.Used - 1 }, func(w *Waiting) float64 { return w.Used }, Unclear},
		{"moved to another group", spent, func(f, x *CPU) { x.Periods, x.Throttled = 3, 3 }, func(w *Waiting) float64 { return w.Throttled }, Unclear},
		{"periods unknown", spent, func(f, x *CPU) { x.Periods, x.Throttled = -1, -1 }, func(w *Waiting) float64 { return w.Throttled }, Unclear},
		{"periods were unknown", spent, func(f, x *CPU) { f.Periods, f.Throttled = -1, -1 }, func(w *Waiting) float64 { return w.Throttled }, Unclear},
		{"periods unknown, a quota: it may not suffice", fine, func(f, x *CPU) { x.Periods = -1 }, func(w *Waiting) float64 { return w.Throttled }, Unclear},
		{"periods unknown, Ps held", held, func(f, x *CPU) { x.Periods = -1 }, func(w *Waiting) float64 { return w.Throttled }, TooFewPs},
		{"no periods: the group slept", fine, func(f, x *CPU) { x.Periods, x.Throttled = f.Periods, f.Throttled }, nil, Fine},
		{"threads ended", held, func(f, x *CPU) { x.KernelWait = f.KernelWait - 1 }, func(w *Waiting) float64 { return w.KernelWait + w.PerWakeup }, Unclear},
		{"kernel wait unknown", fine, func(f, x *CPU) { f.KernelWait = unknown }, func(w *Waiting) float64 { return w.KernelWait + w.PerWakeup }, Unclear},
		{"waits unknown", held, func(f, x *CPU) { x.GoWait = unknown }, func(w *Waiting) float64 { return w.GoWait + w.PerWakeup }, Unclear},
		{"waits infinite", held, func(f, x *CPU) { x.GoWait = math.Inf(1) }, func(w *Waiting) float64 { return w.GoWait }, Unclear},
		{"waits went back", fine, func(f, x *CPU) { x.GoWait = 0 }, func(w *Waiting) float64 { return w.GoWait }, Unclear},
		{"wake-ups unknown", fine, func(f, x *CPU) { x.Wakeups = unknown }, func(w *Waiting) float64 { return w.PerWakeup }, Fine},
		{"no wake-up", fine, func(f, x *CPU) { x.Wakeups = f.Wakeups }, func(w *Waiting) float64 { return w.PerWakeup }, Fine},
		{"Ps idle most of the time: bursts", held, func(f, x *CPU) { x.Busy, x.Idle = f.Busy+5, f.Idle+15 }, nil, Unclear},
		{"Ps never idle", held, func(f, x *CPU) { x.Busy, x.Idle = f.Busy+20, f.Idle+0.1 }, nil, TooFewPs},
		{"a collection after a long idle time", held, func(f, x *CPU) { x.Busy, x.Idle = f.Busy+20, f.Idle+200 }, nil, TooFewPs},
	} {
		from, to := c.state()
		c.change(&from, &to)
		w := Measure(&from, &to)
		if w.Verdict != c.want {
			t.Errorf("%s: %v, want %v: %+v", c.name, w.Verdict, c.want, w)
		}
		if c.unknown != nil {
			if v := c.unknown(&w); !math.IsNaN(v) {
				t.Errorf("%s: %g, want NaN: %+v", c.name, v, w)
			}
		}
	}
}

// TestThrottledShareAloneIsNoVerdict: for every combination of the other figures.
func TestThrottledShareAloneIsNoVerdict(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 20000 {
		procs := 1 + r.IntN(8)
		from, to := pair(procs, 0.5, 0.48*r.Float64(), 15*r.Float64(), float64(procs)*r.Float64(), 0)
		if without := Measure(&from, &to).Verdict; without == Unclear {
			to.Throttled = from.Throttled + r.Int64N(101)
			if w := Measure(&from, &to); w.Verdict != Unclear {
				t.Fatalf("%+v", w)
			}
		}
	}
}

func TestVerdictWords(t *testing.T) {
	for v, want := range []string{"unknown", "fine", "too-few-procs", "quota-spent", "host-busy"} {
		if got := Verdict(v).String(); got != want {
			t.Errorf("%d: %q, want %q", v, got, want)
		}
	}
}

// FuzzMeasure: for any input, each output is in its range or NaN.
func FuzzMeasure(f *testing.F) {
	f.Add(0.0, 1.0, 2, 2, 0.5, 1.0, 2.0, 3.0, 50.0, 0.1, 0.2, int64(1), int64(5), int64(0), int64(4))
	f.Add(5.0, 4.0, 0, -1, math.NaN(), math.Inf(1), -2.0, 3.0, 1e308, -1.0, 0.2, int64(-1), int64(5), int64(9), int64(4))
	f.Fuzz(func(t *testing.T, at1, at2 float64, p1, p2 int, quota, used1, used2, go1, go2, k1, k2 float64, n1, n2, t1, t2 int64) {
		from := CPU{At: at1, Procs: p1, Cores: quota, Quota: quota, Used: used1, GoWait: go1, KernelWait: k1, Periods: n1, Throttled: t1, Wakeups: k2}
		to := CPU{At: at2, Procs: p2, Cores: quota, Quota: quota, Used: used2, GoWait: go2, KernelWait: k2, Periods: n2, Throttled: t2, Wakeups: go2, Idle: used2, Busy: used1}
		w := Measure(&from, &to)
		for _, v := range []float64{w.Seconds, w.GoWait, w.KernelWait, w.PerWakeup, w.Used, w.Throttled} {
			if v < 0 {
				t.Errorf("%+v", w)
			}
		}
		if w.Throttled > 1 || w.Verdict > QuotaSpent || math.IsNaN(w.Seconds) {
			t.Errorf("%+v", w)
		}
		if w.Verdict != Unclear && (p1 != p2 || p2 <= 0 || !(w.Seconds > 0) || math.IsNaN(w.Used)) {
			t.Errorf("a verdict on %+v", w)
		}
	})
}
