// SPDX-License-Identifier: Apache-2.0

package cpuprof

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// times returns a stack as often as it is sampled.
func times(n int, stack string) []string { return slices.Repeat([]string{stack}, n) }

// lasting returns a profile with a duration.
func lasting(d time.Duration, stacks ...[]string) *profile.Profile {
	p := stacked(10, slices.Concat(stacks...)...)
	p.DurationNanos = int64(d)
	return p
}

const (
	working = "main.work main.main"
	finding = "runtime.findRunnable runtime.schedule runtime.mcall"
	idling  = "runtime.gcDrain runtime.gcDrainMarkWorkerIdle+runtime.gcBgMarkWorker"
)

func class(t *testing.T, c *Comparison, class Class) ClassChange {
	t.Helper()
	i := slices.IndexFunc(c.Classes, func(x ClassChange) bool { return x.Class == class })
	if i < 0 {
		t.Fatalf("no class %s", class)
	}
	return c.Classes[i]
}

// TestCompare: profiles of different length are compared by CPU time per second: twice as long and
// the same work is no difference.
func TestCompare(t *testing.T) {
	a := lasting(10*time.Second, times(500, working), times(10, finding))
	b := lasting(20*time.Second, times(1000, working), times(200, finding), times(60, idling))
	c, err := Compare(a, b, false)
	if err != nil {
		t.Fatal(err)
	}
	near := func(got, want float64) bool { return math.Abs(got-want) < 1e-9 }
	if !c.PerSecond || !near(c.Total.A, 0.51) || !near(c.Total.B, 0.63) || c.Total.Shown() {
		t.Errorf("%+v", c.Total)
	}
	user, sched, idle := class(t, c, User), class(t, c, Sched), class(t, c, GCIdleMark)
	if !near(user.A, 0.5) || !near(user.B, 0.5) || user.Shown() {
		t.Errorf("%+v", user)
	}
	if !near(sched.Difference(), 0.09) || !sched.Shown() || sched.Low < 0.05 || sched.High > 0.13 {
		t.Errorf("%+v", sched)
	}
	if idle.A != 0 || !near(idle.B, 0.03) || !idle.Shown() {
		t.Errorf("%+v", idle)
	}
	if c.Classes[0].Class != Sched || c.Classes[1].Class != GCIdleMark {
		t.Errorf("the largest change is not first: %+v", c.Classes)
	}
	if !near(c.OverSize.Difference(), 0.12) || !c.OverSize.Shown() || !near(c.GC.B, 0.03) {
		t.Errorf("%+v, %+v", c.OverSize, c.GC)
	}
	if len(c.Functions) != 1 || c.Functions[0].Name != "main.work" || c.Functions[0].Shown() || !near(c.Functions[0].Self.B, 0.5) {
		t.Errorf("%+v", c.Functions)
	}
	// By share the program has less of B.
	if c, err = Compare(a, b, true); err != nil || c.PerSecond || !near(c.Total.A, 1) || !(class(t, c, User).High < 0) {
		t.Errorf("%v, %+v", err, c)
	}
	a.DurationNanos = 0
	if c, err = Compare(a, b, false); err != nil || c.PerSecond {
		t.Errorf("without a duration: %v, %+v", err, c.Total)
	}
}

// TestCompareSame: a profile does not differ from itself, nor few samples from few others.
func TestCompareSame(t *testing.T) {
	a := lasting(time.Second, times(50, working), times(3, finding))
	b := lasting(time.Second, times(45, working), times(6, finding))
	for _, pair := range [][2]*profile.Profile{{a, a}, {a, b}, {b, a}} {
		c, err := Compare(pair[0], pair[1], false)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range c.Classes {
			if x.Shown() || !(x.Low < x.Difference() && x.Difference() < x.High) {
				t.Errorf("%+v", x)
			}
		}
	}
}

// TestCompareFunctions: functions of only one profile, and functions with too few samples.
func TestCompareFunctions(t *testing.T) {
	a := lasting(10*time.Second, times(300, "main.old main.main"), times(300, "runtime.mallocgc main.both"), times(2, "main.rare"))
	b := lasting(10*time.Second, times(300, "main.new main.main"), times(100, "runtime.mallocgc main.both"), times(2, "main.rare"))
	c, err := Compare(a, b, false)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range c.Functions {
		if !f.Shown() {
			t.Errorf("%+v", f)
		}
		got = append(got, f.Name)
	}
	if want := []string{"main.new", "main.old", "main.both"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if both := c.Functions[2]; both.Self.A != 0 || both.Self.Shown() || math.Abs(both.Difference()+0.2) > 1e-9 {
		t.Errorf("%+v", both)
	}
	// The drawing has the calls of both.
	sizes := map[string]CallChange{}
	for _, call := range c.Calls {
		sizes[call.Name] = call
	}
	if all := sizes["all"]; all.Size != 1 || math.Abs(all.A-c.Total.A)+math.Abs(all.B-c.Total.B) > 1e-9 {
		t.Errorf("%+v of %+v", all, c.Total)
	}
	if old, new := sizes["main.old"], sizes["main.new"]; old.B != 0 || new.A != 0 || !old.Shown() || !new.Shown() || math.Abs(old.Size-300./1004) > 1e-9 {
		t.Errorf("%+v, %+v", old, new)
	}
}

// TestCompareWithoutCounts: no interval where samples are not counted, or there are none.
func TestCompareWithoutCounts(t *testing.T) {
	b := lasting(time.Second, times(50, working))
	a := lasting(time.Second, times(50, finding))
	a.SampleType = a.SampleType[1:]
	for _, s := range a.Sample {
		s.Value = s.Value[1:]
	}
	c, err := Compare(a, b, false)
	if err != nil || len(c.Classes) != 2 || class(t, c, User).Shown() || !math.IsNaN(class(t, c, Sched).Low) {
		t.Errorf("%v, %+v", err, c.Classes)
	}
	for _, byShare := range []bool{false, true} {
		if c, err = Compare(lasting(time.Second), b, byShare); err != nil || len(c.Classes) != 1 || c.Classes[0].A != 0 || c.Classes[0].Shown() || c.Total.A != 0 {
			t.Errorf("an idle process: %v, %+v", err, c.Classes)
		}
	}
	if c, err = Compare(lasting(0), lasting(0), false); err != nil || len(c.Classes)+len(c.Calls) > 0 {
		t.Errorf("nothing: %v, %+v", err, c)
	}
	if _, err = Compare(b, &profile.Profile{}, false); !errors.Is(err, ErrNotCPU) {
		t.Error(err)
	}
}

func TestMerge(t *testing.T) {
	a := lasting(time.Second, times(5, working))
	b := lasting(2*time.Second, times(7, working), times(1, finding))
	sum, err := Merge([]*profile.Profile{a, b})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Summarize(sum)
	if err != nil || s.Samples != 13 || s.Duration != 3*time.Second || s.Source != RuntimePprof || len(sum.Sample) != 2 {
		t.Errorf("%v, %+v", err, s)
	}
	b.Comments = []string{perfComment + ", 99 Hz, " + userComment}
	if sum, err = Merge([]*profile.Profile{a, b}); err != nil {
		t.Fatal(err)
	}
	if s, err = Summarize(sum); err != nil || s.Source != OtherSource || !s.UserOnly {
		t.Errorf("of two samplers: %v, %+v", err, s)
	}
	b.SampleType = b.SampleType[1:]
	for _, s := range b.Sample {
		s.Value = s.Value[1:]
	}
	if _, err = Merge([]*profile.Profile{a, b}); !errors.Is(err, ErrUnlike) || !strings.HasSuffix(err.Error(), ": one counts samples/count, cpu/nanoseconds, another cpu/nanoseconds") {
		t.Error(err)
	}
	if _, err = Merge([]*profile.Profile{a, {}}); !errors.Is(err, ErrNotCPU) {
		t.Error(err)
	}
	counts := func(period int64) *profile.Profile {
		p := stacked(10, working)
		p.SampleType, p.Period = p.SampleType[:1], period
		p.Sample[0].Value = p.Sample[0].Value[:1]
		return p
	}
	a.Sample[0].Value[1] = math.MaxInt64 - 1e9
	if _, err = Merge([]*profile.Profile{a, a.Copy()}); err == nil || errors.Is(err, ErrNotCPU) {
		t.Errorf("a sum that does not fit: %v", err)
	}
	if _, err = Merge([]*profile.Profile{counts(1e7), counts(2e7)}); !errors.Is(err, ErrUnlike) {
		t.Errorf("periods: %v", err)
	}
}
