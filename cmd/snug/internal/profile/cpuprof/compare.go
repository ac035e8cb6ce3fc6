// SPDX-License-Identifier: Apache-2.0

package cpuprof

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/google/pprof/profile"
)

// Comparison says where profile B spends more or less CPU time than profile A.
type Comparison struct {
	A, B *Summary
	// PerSecond: amounts are CPU seconds for each second of a profile. Otherwise they are shares of
	// its CPU time, 0 to 1. Neither depends on the length of a profile.
	PerSecond bool
	Total     Change // without an interval: CPU time is counted, not sampled
	// Classes, Functions and Calls are families: their intervals hold all together with Confidence.
	// Differences that are shown come first, then the larger ones.
	Classes   []ClassChange
	OverSize  Change // the sum of OverSizes
	GC        Change // the sum of all classes of collections
	Functions []FuncChange
	// Calls are the flame graph of both profiles added up, so that a call of only one has its place.
	Calls []CallChange
}

// Change is an amount of CPU time in both profiles.
type Change struct {
	A, B float64
	// Low and High bound B - A. They are NaN if the samples of a profile were not counted.
	Low, High float64
}

// Difference returns B - A.
func (c Change) Difference() float64 { return c.B - c.A }

// Shown reports whether the difference is more than chance in sampling makes.
func (c Change) Shown() bool { return c.Low > 0 || c.High < 0 }

// ClassChange is a change of a class.
type ClassChange struct {
	Class Class
	Change
}

// FuncChange is a change of a function of the program: of its own code, and, as Change, with what
// the runtime and the kernel did for it.
type FuncChange struct {
	Name string
	Self Change
	Change
}

// CallChange is a change of a drawn call. Start and Size of the call are shares of both profiles.
type CallChange struct {
	Call
	Change
}

// minCompared is the minimum number of samples, in one profile, of a function to compare.
const minCompared = 3

// Compare compares two profiles by CPU time per second, or, if one has no duration or byShare
// is set, by shares. Its errors are those of Summarize.
func Compare(a, b *profile.Profile, byShare bool) (*Comparison, error) {
	var sums [2]*Summary
	var values [2]func(*profile.Sample) (n, ns float64)
	for i, p := range []*profile.Profile{a, b} {
		var err error
		if sums[i], err = summarize(p); err != nil {
			return nil, err
		}
		if values[i], err = cpuValues(p); err != nil {
			return nil, err
		}
	}
	c := &Comparison{A: sums[0], B: sums[1]}
	c.PerSecond = !byShare && c.A.Duration > 0 && c.B.Duration > 0
	c.Total = Change{c.whole(c.A), c.whole(c.B), math.NaN(), math.NaN()}
	var present []Class
	for _, class := range Classes() {
		if c.A.Ratio(class) > 0 || c.B.Ratio(class) > 0 {
			present = append(present, class)
		}
	}
	for _, class := range present {
		c.Classes = append(c.Classes, ClassChange{class, c.change(c.A.Ratio(class), c.B.Ratio(class), len(present))})
	}
	slices.SortStableFunc(c.Classes, func(x, y ClassChange) int { return byChange(x.Change, y.Change) })
	c.OverSize = c.change(c.A.OverSize(), c.B.OverSize(), 2)
	c.GC = c.change(c.A.AllGC(), c.B.AllGC(), 2)
	c.functions()
	c.calls(a, b, values)
	return c, nil
}

// whole returns the amount of all CPU time of a profile.
func (c *Comparison) whole(s *Summary) float64 {
	switch {
	case s.CPUSeconds <= 0:
		return 0
	case c.PerSecond:
		return s.CPUSeconds / s.Duration.Seconds()
	}
	return 1
}

// change returns the change between two shares, 0 to 1, of the profiles' own CPU time, as one of
// several.
func (c *Comparison) change(a, b float64, several int) Change {
	x, y := c.whole(c.A), c.whole(c.B)
	d := Change{a * x, b * y, math.NaN(), math.NaN()}
	if n, m := float64(c.A.Samples), float64(c.B.Samples); n > 0 && m > 0 {
		d.Low, d.High = differ(counted{min(a, 1) * n, n, x}, counted{min(b, 1) * m, m, y}, deviations(several))
	}
	return d
}

// byChange orders changes: those shown first, then the larger.
func byChange(x, y Change) int {
	if x.Shown() != y.Shown() {
		return boolCompare(y.Shown(), x.Shown())
	}
	return cmp.Compare(math.Abs(y.Difference()), math.Abs(x.Difference()))
}

// functions compares the functions that have enough samples.
func (c *Comparison) functions() {
	all := map[string]*[2]Func{}
	for side, s := range []*Summary{c.A, c.B} {
		for _, f := range s.Top {
			if all[f.Name] == nil {
				all[f.Name] = &[2]Func{}
			}
			all[f.Name][side] = f
		}
	}
	maps.DeleteFunc(all, func(_ string, f *[2]Func) bool {
		few := func(s *Summary, f Func) bool { return s.Samples > 0 && f.Caused*float64(s.Samples) < minCompared-0.5 }
		return few(c.A, f[0]) && few(c.B, f[1])
	})
	for name, f := range all {
		c.Functions = append(c.Functions, FuncChange{
			Name: name, Self: c.change(f[0].Self, f[1].Self, len(all)), Change: c.change(f[0].Caused, f[1].Caused, len(all)),
		})
	}
	slices.SortStableFunc(c.Functions,
		func(x, y FuncChange) int { return cmp.Or(byChange(x.Change, y.Change), cmp.Compare(x.Name, y.Name)) })
}

// calls lays out the calls of both profiles.
func (c *Comparison) calls(a, b *profile.Profile, values [2]func(*profile.Sample) (n, ns float64)) {
	var samples []weighed
	for side, p := range []*profile.Profile{a, b} {
		s := []*Summary{c.A, c.B}[side]
		if s.CPUSeconds > 0 {
			samples = append(samples, weigh(p, values[side], side, c.whole(s)/s.CPUSeconds/1e9)...)
		}
	}
	calls := newTree(samples).calls()
	for _, call := range calls {
		share := call.Amounts
		for side, s := range []*Summary{c.A, c.B} {
			if whole := c.whole(s); whole > 0 {
				share[side] /= whole
			}
		}
		c.Calls = append(c.Calls, CallChange{call, c.change(share[0], share[1], len(calls))})
	}
}
