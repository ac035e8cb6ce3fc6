// SPDX-License-Identifier: Apache-2.0

package size

import (
	"encoding/json"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestAgain: a saved answer holds all that the decision depends on, so that Decide says the same again, by any price.
func TestAgain(t *testing.T) {
	const why = "no collection ended in the watch"
	for name, change := range map[string]func(*Seen){
		"usual":           func(*Seen) {},
		"off":             off,
		"young":           func(s *Seen) { s.Age = 20 },
		"not alone":       func(s *Seen) { s.Mates = 2 },
		"one CPU":         func(s *Seen) { s.CPUs = 1 },
		"blind":           func(s *Seen) { s.Minor, s.Aware = 24, false },
		"no collection":   func(s *Seen) { s.Collections, s.Live = 0, figure.Of[float64]{Why: why} },
		"throttled":       func(s *Seen) { s.Quota, s.Throttled = know(1), know(0.4) },
		"without a quota": func(s *Seen) { s.Quota.None(); s.Throttled.None() },
	} {
		t.Run(name, func(t *testing.T) {
			s := seen()
			change(s)
			for _, other := range []Price{Fargate, {1, 1}, {1, 100}} {
				want := Decide(s, other)
				first := Decide(s, Fargate)
				first.Target, first.Next, first.Unknown = "server", "snug ps", append(first.Unknown, Gaps(&first.Seen)...)
				want.Target, want.Next, want.Unknown = first.Target, first.Next, first.Unknown
				text, err := finding.Encode(first)
				if err != nil {
					t.Fatal(err)
				}
				saved, err := finding.Decode(text)
				if err != nil {
					t.Fatal(err)
				}
				got, err := Again(saved.(*finding.Size), other)
				if err != nil {
					t.Fatal(err)
				}
				a, _ := json.Marshal(want)
				b, _ := json.Marshal(got)
				if string(a) != string(b) {
					t.Errorf("%+v:\n%s\nafter it was saved:\n%s", other, a, b)
				}
			}
		})
	}
	if _, err := Again(&finding.Size{}, Fargate); err != ErrEarlier {
		t.Error(err)
	}
}

// TestPossible: values that no container can have are damage, and unknown ones are not.
func TestPossible(t *testing.T) {
	for name, c := range map[string]struct {
		of   func(*finding.Size) *finding.SizeValue
		good []float64
		bad  []float64
	}{
		"memory":     {func(d *finding.Size) *finding.SizeValue { return &d.Memory }, []float64{100 * mib, 1 << 60}, []float64{-1, 0, mib - 1, 1e300, 90 * mib}},
		"GOMEMLIMIT": {func(d *finding.Size) *finding.SizeValue { return &d.GOMEMLIMIT }, []float64{48 * mib, 100 * mib}, []float64{-1, 0, 1.5, 50*mib + 0.5, 101 * mib}},
		"request":    {func(d *finding.Size) *finding.SizeValue { return &d.CPURequest }, []float64{0.001, 2}, []float64{-3, 0, 1e-4, 2.1, 1e308}},
		"limit":      {func(d *finding.Size) *finding.SizeValue { return &d.CPULimit }, []float64{0.5, 1e6}, []float64{-1, 0, 0.4, 1e7, 1e308}},
		"GOMAXPROCS": {func(d *finding.Size) *finding.SizeValue { return &d.GOMAXPROCS }, []float64{1, 4}, []float64{-7, 0, 2.5, 1e300}},
	} {
		for i, n := range append(c.good, c.bad...) {
			d := &finding.Size{}
			for _, v := range []struct {
				v *finding.SizeValue
				n float64
			}{{&d.Memory, 100 * mib}, {&d.GOMEMLIMIT, 91 * mib}, {&d.CPURequest, 0.5}, {&d.CPULimit, 2}, {&d.GOMAXPROCS, 2}} {
				v.v.Value = &v.n
			}
			c.of(d).Value = &n
			if err := Possible(d); (err != nil) != (i >= len(c.good)) {
				t.Errorf("%s %v: %v", name, n, err)
			}
		}
	}
	if err := Possible(&finding.Size{}); err != nil {
		t.Error(err)
	}
}

// FuzzAgain: any figures give an answer that can be written, or an error.
func FuzzAgain(f *testing.F) {
	s := seen()
	off(s)
	f.Add(s.Live.N, s.LiveMost.N, s.Allocated.N, s.GCCores.N, s.Rest.N, s.Other.N, s.Used.N, s.CPUHigh.N, s.CPUMost.N, s.Seconds, s.Collections, s.GOGC.N, 1.0)
	for _, x := range []float64{0, -1, 1e-300, 1e18, 1e300} {
		f.Add(x, x, x, x, x, x, x, x, x, x, 4, 100, x)
		f.Add(100.0*mib, 104.0*mib, x, x, 1.0, 1.0, 1e9, 0.5, x, 120.0, 40, -1, 1e-9)
	}
	f.Fuzz(func(t *testing.T, live, lives, allocated, gc, rest, other, used, high, burst, seconds float64, collections, gogc int, core float64) {
		s := seen()
		s.Live, s.LiveMost, s.Allocated, s.GCCores, s.Rest, s.Other, s.Used = know(live), know(lives), know(allocated), know(gc), know(rest), know(other), know(used)
		s.CPUHigh, s.CPUMost, s.Seconds, s.Collections, s.GOGC = know(high), know(burst), seconds, collections, figure.New(gogc, "")
		d := &finding.Size{Seen: s.SizeSeen, Seconds: seconds, Collections: collections, Watched: &finding.SizeWatched{Age: 100, CPUs: 4, Minor: 26, Aware: true}}
		if !(core >= 1e-9 && core < 1e9) {
			core = 1
		}
		got, err := Again(d, Price{Core: core, GiB: 1})
		if err != nil {
			return
		}
		if _, err := finding.Encode(got); err != nil {
			t.Errorf("%v: %+v", err, d.Seen)
		}
	})
}
