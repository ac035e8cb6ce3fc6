// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"math/rand/v2"
	"testing"
)

func TestLearnedMemory(t *testing.T) {
	const mib, week, most = 1 << 20, LearnedFor, 1_000_000_000_000_000_000
	for _, c := range []struct {
		name                              string
		limit, fixed, peak, seconds, want int64
	}{
		{"a third is not Go's", 1000 * mib, 900 * mib, 300 * mib, 3600, 625 * mib},
		{"the same for a week", 1000 * mib, 900 * mib, 300 * mib, week, 625 * mib},
		{"hardly any, seen for less than a week", 1000 * mib, 900 * mib, 10 * mib, week - 1, 900 * mib},
		{"hardly any, seen for a week", 1000 * mib, 900 * mib, 10 * mib, week, 950 * mib},
		{"the margin is a quarter", 1000 * mib, 900 * mib, 60 * mib, week, 925 * mib},
		{"the margin is the smallest headroom", 1000 * mib, 900 * mib, 24 * mib, week, 950 * mib},
		{"as much as the fixed rule leaves", 1000 * mib, 900 * mib, 80 * mib, 1, 900 * mib},
		{"a little more", 1000 * mib, 900 * mib, 84 * mib, 1, 895 * mib},
		{"nearly all", 1000 * mib, 900 * mib, 990 * mib, week, 450 * mib},
		{"more than the limit", 1000 * mib, 900 * mib, most, week, 450 * mib},
		{"none", 1000 * mib, 900 * mib, 0, week, 950 * mib},
		{"the smallest container", MinMemory, 56 * mib, 0, week, 56 * mib},
		{"its other memory", MinMemory, 56 * mib, 30 * mib, week, MinValue},
		{"a share of all", 100 * mib, 100 * mib, 1 * mib, week, 91 * mib},
		{"a share of all, too short", 100 * mib, 100 * mib, 0, 1, 92 * mib},
		{"a configured half", 1000 * mib, 500 * mib, 100 * mib, week, 750 * mib},
		{"the largest limit", most, most / 10 * 9, 0, week, most / 100 * 95},
	} {
		if got := LearnedMemory(c.limit, c.fixed, c.peak, c.seconds); got != c.want {
			t.Errorf("%s: %d, want %d (%d MiB)", c.name, got, c.want, got>>20)
		}
	}
}

// TestLearnedMemoryBounds: whatever was measured, the value is within the bounds, less for a larger
// peak, and never more for a shorter time.
func TestLearnedMemoryBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 5))
	for range 100_000 {
		limit := MinMemory + r.Int64N(1<<(27+r.IntN(33)))
		in := Input{Hints: Hints{MemoryLimit: limit}}
		if r.IntN(2) == 0 {
			in.Policy.Memory.Percent = 1 + 99*r.Float64()
		}
		fixed := Decide(&in).GOMEMLIMIT.Value
		if fixed == 0 {
			continue
		}
		peak, seconds := r.Int64N(1<<r.IntN(60)), r.Int64N(2*LearnedFor)
		n := LearnedMemory(limit, fixed, peak, seconds)
		switch {
		case n < MinValue || n < fixed/2 || n > limit:
			t.Fatalf("%d of %d, fixed %d", n, limit, fixed)
		case seconds < LearnedFor && n > fixed:
			t.Fatalf("%d of %d after %d s is more than %d", n, limit, seconds, fixed)
		case n > fixed && limit-n < max(peak+MinHeadroom, (limit-fixed)/2):
			t.Fatalf("%d of %d leaves too little beside %d", n, limit, peak)
		case n < LearnedMemory(limit, fixed, peak+r.Int64N(1<<40), seconds), n < LearnedMemory(limit, fixed, peak, seconds/2):
			t.Fatalf("%d of %d: more for a larger peak or a shorter time", n, limit)
		}
	}
}
