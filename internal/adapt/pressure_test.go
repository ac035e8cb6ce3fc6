// SPDX-License-Identifier: Apache-2.0

package adapt_test

import (
	"math"
	"testing"

	"github.com/snug-go/snug/internal/adapt"
)

// alarm is a series of one sample a second of a heap of 200 MiB.
type alarm struct {
	s      adapt.PressureState
	at     float64
	cycles uint64
}

// seconds passes n seconds with so many cycles in each, or one in so many seconds.
func (a *alarm) seconds(n int, gogc float64, perSecond float64, share float64) (last adapt.Level) {
	for range n {
		a.at++
		a.cycles = max(a.cycles, 1+uint64(a.at*perSecond))
		h := adapt.Heap{Mapped: 300 * mib, Objects: 210 * mib, Live: 200 * mib, GOGC: 100, Cycles: a.cycles}
		h.Goal = h.Live + int64(gogc/100*float64(h.Live))
		a.s, last = adapt.StepPressure(a.s, a.at, &h, share)
	}
	return last
}

func TestPressure(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		situation string
		series    func(a *alarm) adapt.Level
		want      adapt.Level
	}{
		{"plenty", func(a *alarm) adapt.Level { return a.seconds(30, 100, 3, 0.2) }, adapt.Calm},
		{"below 20, two seconds", func(a *alarm) adapt.Level { a.seconds(5, 50, 2, nan); return a.seconds(1, 19, 2, nan) }, adapt.Tight},
		{"below 10 at once", func(a *alarm) adapt.Level { a.seconds(5, 50, 2, nan); return a.seconds(1, 9, 2, nan) }, adapt.Spiral},
		{"the share is still small: it is late", func(a *alarm) adapt.Level { a.seconds(5, 50, 2, 0.01); return a.seconds(1, 9, 2, 0.01) }, adapt.Spiral},
		{"idle at 5", func(a *alarm) adapt.Level { return a.seconds(300, 5, 1.0/120, nan) }, adapt.Calm},
		{"idle at 5 and the share says so", func(a *alarm) adapt.Level { return a.seconds(300, 5, 0.25, 0.005) }, adapt.Calm},
		{"idle at 5 wakes up", func(a *alarm) adapt.Level {
			a.seconds(100, 5, 1.0/120, nan)
			a.cycles += 3
			return a.seconds(1, 5, 0, nan)
		}, adapt.Spiral},
		{"few cycles, but they take a fifth of the CPU", func(a *alarm) adapt.Level { return a.seconds(9, 5, 0.1, 0.2) }, adapt.Spiral},
		{"9 s of recovery", func(a *alarm) adapt.Level { a.seconds(5, 5, 2, 0.3); return a.seconds(9, 50, 2, 0.3) }, adapt.Spiral},
		{"10 s of recovery", func(a *alarm) adapt.Level { a.seconds(5, 5, 2, 0.3); return a.seconds(10, 50, 2, 0.3) }, adapt.Calm},
		{"10 s of half a recovery", func(a *alarm) adapt.Level { a.seconds(5, 5, 2, 0.3); return a.seconds(10, 15, 2, 0.3) }, adapt.Tight},
		{"the share falls, the heap does not", func(a *alarm) adapt.Level { a.seconds(5, 0, 2, 0.5); return a.seconds(40, 0, 2, 0.01) }, adapt.Spiral},
		{"all load shed, no more cycles", func(a *alarm) adapt.Level { a.seconds(5, 5, 2, 0.5); return a.seconds(180, 5, 0, 0.5) }, adapt.Calm},
		{"and it comes back", func(a *alarm) adapt.Level {
			a.seconds(5, 5, 2, 0.5)
			a.seconds(100, 5, 0, 0.01)
			a.cycles += 2
			a.seconds(1, 5, 0, nan)
			a.cycles += 2
			return a.seconds(1, 5, 0, nan)
		}, adapt.Spiral},
	} {
		if got := c.series(&alarm{}); got != c.want {
			t.Errorf("%s: %v, want %v", c.situation, got, c.want)
		}
	}
}

// TestPressureFlapping: an effective GOGC on the edge is one alarm.
func TestPressureFlapping(t *testing.T) {
	a := &alarm{}
	a.seconds(5, 50, 2, math.NaN())
	changes, last := 0, adapt.Calm
	for i := range 600 {
		now := a.seconds(1, []float64{8, 12, 25, 9.9, 21}[i%5], 2, math.NaN())
		if now != last {
			changes++
		}
		last = now
	}
	if changes != 1 || last != adapt.Spiral {
		t.Errorf("%d changes, then %v, want one alarm", changes, last)
	}
}

// TestPressureUnreadable: a failed reading neither raises nor ends an alarm.
func TestPressureUnreadable(t *testing.T) {
	a := &alarm{}
	a.seconds(5, 50, 2, math.NaN())
	s, l := adapt.StepPressure(a.s, a.at+1, &adapt.Heap{}, math.NaN())
	if l != adapt.Calm {
		t.Errorf("nothing was read: %v", l)
	}
	a.s = s
	a.seconds(2, 5, 2, math.NaN())
	for i := range 100 {
		if _, l := adapt.StepPressure(a.s, a.at+float64(i), &adapt.Heap{Mapped: -1}, 0); l != adapt.Spiral {
			t.Fatalf("nothing was read: %v, want the alarm to stay", l)
		}
		if _, l := adapt.StepPressure(a.s, math.NaN(), &adapt.Heap{Mapped: 1}, 0); l != adapt.Spiral {
			t.Fatalf("no time: %v, want the alarm to stay", l)
		}
	}
}
