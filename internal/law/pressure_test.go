// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"math"
	"testing"

	"github.com/snug-go/snug/internal/law"
)

// alarm feeds the law one sample per second of a heap of 200 MiB.
type alarm struct {
	s      law.PressureState
	at     float64
	cycles uint64
}

// seconds passes n seconds with perSecond cycles in each; it may be below 1.
func (a *alarm) seconds(n int, gogc float64, perSecond float64, share float64) (last law.Level) {
	for range n {
		a.at++
		a.cycles = max(a.cycles, 1+uint64(a.at*perSecond))
		h := law.Heap{Mapped: 300 * mib, Objects: 210 * mib, Live: 200 * mib, GOGC: 100, Cycles: a.cycles}
		h.Goal = h.Live + int64(gogc/100*float64(h.Live))
		a.s, last = law.StepPressure(a.s, a.at, &h, share)
	}
	return last
}

func TestPressure(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		situation string
		series    func(a *alarm) law.Level
		want      law.Level
	}{
		{"plenty", func(a *alarm) law.Level { return a.seconds(30, 100, 3, 0.2) }, law.Calm},
		{"below 20, a second", func(a *alarm) law.Level { a.seconds(5, 50, 2, nan); return a.seconds(1, 19, 2, nan) }, law.Tight},
		{"below 10 at once", func(a *alarm) law.Level { a.seconds(5, 50, 2, 0.2); return a.seconds(2, 9, 2, 0.2) }, law.Spiral},
		{"below 10 at once: first things first", func(a *alarm) law.Level { a.seconds(5, 50, 2, 0.2); return a.seconds(1, 9, 2, 0.2) }, law.Tight},
		{"tight before collections cost anything", func(a *alarm) law.Level { a.seconds(60, 50, 1.0/30, 0.001); return a.seconds(40, 19, 1.0/30, 0.001) }, law.Tight},
		{"below 10, and the share is unknown", func(a *alarm) law.Level { a.seconds(5, 50, 2, nan); return a.seconds(20, 9, 2, nan) }, law.Tight},
		{"idle at 5", func(a *alarm) law.Level { return a.seconds(300, 5, 1.0/120, nan) }, law.Tight},
		{"idle at 5 and the share says so", func(a *alarm) law.Level { return a.seconds(300, 5, 0.25, 0.005) }, law.Tight},
		{"idle at 5 wakes up", func(a *alarm) law.Level {
			a.seconds(100, 5, 1.0/120, nan)
			a.cycles += 3
			return a.seconds(1, 5, 0, 0.2)
		}, law.Spiral},
		{"few cycles, but they take a fifth of the CPU", func(a *alarm) law.Level { return a.seconds(9, 5, 0.1, 0.2) }, law.Spiral},
		{"9 s of recovery", func(a *alarm) law.Level { a.seconds(5, 5, 2, 0.3); return a.seconds(9, 50, 2, 0.3) }, law.Spiral},
		{"10 s of recovery", func(a *alarm) law.Level { a.seconds(5, 5, 2, 0.3); return a.seconds(10, 50, 2, 0.3) }, law.Calm},
		{"10 s of half a recovery", func(a *alarm) law.Level { a.seconds(5, 5, 2, 0.3); return a.seconds(10, 15, 2, 0.3) }, law.Tight},
		{"the share falls, the heap does not", func(a *alarm) law.Level { a.seconds(5, 0, 2, 0.5); return a.seconds(40, 0, 2, 0.01) }, law.Tight},
		{"all load shed, no more cycles", func(a *alarm) law.Level { a.seconds(5, 5, 2, 0.5); return a.seconds(180, 5, 0, nan) }, law.Calm},
		{"and for less than the runtime waits with a cycle of its own", func(a *alarm) law.Level { a.seconds(5, 5, 2, 0.5); return a.seconds(140, 5, 0, nan) }, law.Tight},
		{"and it comes back", func(a *alarm) law.Level {
			a.seconds(5, 5, 2, 0.5)
			a.seconds(100, 5, 0, 0.01)
			a.cycles += 2
			return a.seconds(1, 5, 0, 0.2)
		}, law.Spiral},
	} {
		if got := c.series(&alarm{}); got != c.want {
			t.Errorf("%s: %v, want %v", c.situation, got, c.want)
		}
	}
}

// TestPressureAhead: a heap that survives entirely is tight before a collection finds it so; a
// steady one is not, however close to the limit it comes.
func TestPressureAhead(t *testing.T) {
	const limit = 115 * mib
	for _, c := range []struct {
		name string
		live func(second int) int64 // MiB that are reachable
		want law.Level
		at   int64 // MiB of heap when the level rose, at most
	}{
		{"a ramp", func(s int) int64 { return int64(2 * s) }, law.Tight, 96},
		{"half a heap that lives on, and garbage", func(int) int64 { return 55 }, law.Calm, 0},
		{"a cache that was filled", func(s int) int64 { return int64(min(2*s, 50)) }, law.Calm, 0},
	} {
		h := law.Heap{GOGC: 100, Limit: limit, Cycles: 1, Goal: 4 * mib}
		var s law.PressureState
		level, at := law.Calm, int64(0)
		for second := 1; second <= 50 && level == law.Calm; second++ {
			live := c.live(second) * mib
			h.Objects = max(h.Objects+2*mib, live)
			if h.Objects >= h.Goal { // a collection
				h.Objects, h.Live, h.Cycles = live, live, h.Cycles+1
				h.Goal = max(live, min(2*live, limit*97/100-5*mib))
			}
			h.Mapped = h.Objects + 5*mib
			s, level = law.StepPressure(s, float64(second), &h, 0.01)
			at = h.Objects / mib
		}
		if level != c.want || level > law.Calm && at > c.at {
			t.Errorf("%s: %v at %d MiB, want %v at %d at most", c.name, level, at, c.want, c.at)
		}
	}
}

// TestPressureFlapping: an effective GOGC on the edge raises the level once.
func TestPressureFlapping(t *testing.T) {
	a := &alarm{}
	a.seconds(5, 50, 2, math.NaN())
	changes, last := 0, law.Calm
	for i := range 600 {
		now := a.seconds(1, []float64{8, 12, 25, 9.9, 21}[i%5], 2, 0.2)
		if now != last {
			changes++
		}
		last = now
	}
	if changes != 2 || last != law.Spiral { // Tight, then Spiral
		t.Errorf("%d changes, then %v, want one alarm", changes, last)
	}
}

// TestPressureUnreadable: a failed reading neither raises nor lowers the level.
func TestPressureUnreadable(t *testing.T) {
	a := &alarm{}
	a.seconds(5, 50, 2, math.NaN())
	s, l := law.StepPressure(a.s, a.at+1, &law.Heap{}, math.NaN())
	if l != law.Calm {
		t.Errorf("nothing was read: %v", l)
	}
	a.s = s
	a.seconds(2, 5, 2, 0.2)
	for i := range 100 {
		if _, l := law.StepPressure(a.s, a.at+float64(i), &law.Heap{Mapped: -1}, 0); l != law.Spiral {
			t.Fatalf("nothing was read: %v, want the alarm to stay", l)
		}
		if _, l := law.StepPressure(a.s, math.NaN(), &law.Heap{Mapped: 1}, 0); l != law.Spiral {
			t.Fatalf("no time: %v, want the alarm to stay", l)
		}
	}
}
