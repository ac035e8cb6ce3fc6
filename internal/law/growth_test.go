// SPDX-License-Identifier: Apache-2.0

package law

import (
	"slices"
	"testing"
)

// TestGrowth drives a knob by what the limits ask for, a step each second.
func TestGrowth(t *testing.T) {
	type step struct {
		at   float64
		wish int64
	}
	hold := func(wish int64, from, to float64) (all []step) {
		for ; from <= to; from++ {
			all = append(all, step{from, wish})
		}
		return all
	}
	// flap returns growth to 8 that holds for up seconds and is gone for down seconds, n times.
	flap := func(n, up, down int) (all []step) {
		at := 1.0
		for range n {
			all = append(all, hold(8, at, at+float64(up)-1)...)
			all = append(all, hold(4, at+float64(up), at+float64(up+down)-1)...)
			at += float64(up + down)
		}
		return all
	}
	for _, c := range []struct {
		name  string
		steps []step
		want  []step // each change of the knob, which begins as 4
	}{
		{"nothing to do", hold(4, 1, 100), nil},
		{"a smaller value at once", []step{{1, 3}}, []step{{1, 3}}},
		{"a larger one once it has held", hold(8, 1, 5), []step{{4, 8}}},
		{"not before", []step{{1, 8}, {3.9, 8}}, nil},
		{"at that moment", []step{{1, 8}, {4, 8}}, []step{{4, 8}}},
		{"it must hold without a break", []step{{1, 8}, {3, 4}, {4, 8}, {6.9, 8}, {7, 8}}, []step{{7, 8}}},
		{"a shrink is a break", []step{{1, 8}, {3, 3}, {4, 8}, {6.9, 8}, {7, 8}}, []step{{3, 3}, {7, 8}}},
		{"the smallest wish meanwhile", append([]step{{1, 8}, {2, 6}}, hold(9, 3, 8)...), []step{{4, 6}, {8, 9}}},
		{"the wait doubles", flap(3, 5, 5), []step{{4, 8}, {6, 4}}},
		{"also the second time", flap(3, 8, 2), []step{{4, 8}, {9, 4}, {17, 8}, {19, 4}}},
		{"not after growth that was of use", flap(3, 14, 1), []step{{4, 8}, {15, 4}, {19, 8}, {30, 4}, {34, 8}, {45, 4}}},
		{"the wait is at most a minute", flap(7, 61, 1), []step{
			{4, 8}, {62, 4}, {66, 8}, {124, 4}, {128, 8}, {186, 4}, {190, 8},
			{248, 4}, {252, 8}, {310, 4}, {314, 8}, {372, 4}, {376, 8}, {434, 4},
		}},
	} {
		var s GrowthState
		now, got := int64(4), []step(nil)
		for _, x := range c.steps {
			var n int64
			if s, n = StepGrowth(s, x.at, now, x.wish); n != now {
				got = append(got, step{x.at, n})
			}
			if (s.Since != 0) != (n == now && x.wish > now) {
				t.Errorf("%s: at %v it waits since %v for %d beside %d", c.name, x.at, s.Since, x.wish, now)
			}
			now = n
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestGrowthWaits measures the wait after each of several growths in vain, and after some calm.
func TestGrowthWaits(t *testing.T) {
	var s GrowthState
	at, now := 1.0, int64(4)
	grow := func() (waited float64) {
		for from := at; ; at++ {
			if s, now = StepGrowth(s, at, now, 8); now == 8 {
				return at - from
			}
		}
	}
	shrink := func(after float64) {
		at += after
		s, now = StepGrowth(s, at, now, 4)
		at++
	}
	var got []float64
	for range 7 {
		got = append(got, grow())
		shrink(9)
	}
	got = append(got, grow())
	shrink(flapping) // of use
	got = append(got, grow())
	shrink(calm - 1 - 60)
	got = append(got, grow()) // calm seconds after the last growth
	shrink(1)
	at += calm
	got = append(got, grow()) // still what it was: it is forgotten now
	shrink(flapping)
	got = append(got, grow())
	if want := []float64{3, 6, 12, 24, 48, 60, 60, 60, 60, 60, 60, 3}; !slices.Equal(got, want) {
		t.Errorf("waits %v, want %v", got, want)
	}
}
