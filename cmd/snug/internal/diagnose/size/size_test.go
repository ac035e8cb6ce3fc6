// SPDX-License-Identifier: Apache-2.0

package size

import (
	"math"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
)

func know(n float64) figure.Of[float64] { return figure.New(n, "") }

// seen is a program with a live heap of 100 MiB that allocates 200 MiB a second, and whose collections take 0.05 s
// of CPU. By GOGC=100 it collects twice a second.
func seen() *Seen {
	return &Seen{
		Seconds: 300, Collections: 600, Live: know(100 * mib), LiveMost: know(104 * mib), Allocated: know(200 * mib), GCCores: know(0.1),
		Rest: know(10 * mib), Other: know(5 * mib), Used: know(225 * mib), GOGC: 100, Goal: know(200 * mib),
		CPUMean: know(0.4), CPUHigh: know(0.62), CPUMost: know(1.13), CPUs: 8, Minor: 26, Aware: true,
	}
}

func TestModel(t *testing.T) {
	s := seen()
	a := Decide(s, Fargate)
	if !(math.Abs(a.Model.N-1) < 0.01) {
		t.Errorf("%v of the way", a.Model.N)
	}
	if got := s.cycles(150 * mib); got != 4 {
		t.Errorf("%v collections a second with 50 MiB to allocate", got)
	}
	if !math.IsInf(s.cycles(s.Live.N), 1) || s.cycles(1e15) != forced {
		t.Error("without room, and with all of it")
	}
}

// TestCheapest: the square-root rule finds what a search over all limits finds.
func TestCheapest(t *testing.T) {
	for _, price := range []Price{Fargate, {1, 1}, {100, 1}, {1, 10}} {
		s := seen()
		s.GOGC = -1
		best, least := 0.0, math.Inf(1)
		for m := s.least(); m < 64*gib; m += mib / 2 {
			if p := price.GiB*m/gib + price.Core*s.cycles(s.goal(m))*s.cost(); p < least {
				best, least = m, p
			}
		}
		got := s.limitFor(s.cheapest(price))
		if p := price.GiB*got/gib + price.Core*s.cycles(s.goal(got))*s.cost(); p > 1.01*least {
			t.Errorf("%+v: %v MiB costs %v, %v MiB costs %v", price, got/mib, p, best/mib, least)
		}
	}
}

func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Seen)
		memory float64 // MiB; 0 = unknown
		why    string
		unseen string
	}{
		"GOGC bounds the heap": {func(*Seen) {}, 244, "GOGC=100", "peaks outside"},
		"GOGC off":             {func(s *Seen) { s.GOGC, s.Goal = -1, know(150*mib) }, 464, "cheapest", ""},
		"much was used":        {func(s *Seen) { s.Used = know(900 * mib) }, 912, "what was used", ""},
		"no collection":        {func(s *Seen) { s.Collections, s.Live = 0, figure.Of[float64]{} }, 228, "live heap unknown", "no collection"},
		"few collections":      {func(s *Seen) { s.Collections = 2 }, 228, "4 are needed", "only 2"},
		"memory unknown":       {func(s *Seen) { s.Used = figure.Of[float64]{Why: "no files"} }, 0, "no files", ""},
		"too small for GOMEMLIMIT": {func(s *Seen) {
			s.Live, s.LiveMost, s.Goal, s.GOGC, s.Used = know(16*mib), know(16*mib), know(56*mib), 400, know(65*mib)
			s.Allocated, s.GCCores = know(18*mib), know(0.0015)
		}, 68, "what was used; the model expects 64 MiB", ""},
		"a short watch":            {func(s *Seen) { s.Seconds, s.Collections = 20, 40 }, 244, "", "20 s"},
		"throttled":                {func(s *Seen) { s.Throttled = know(0.2) }, 244, "", "20.0 %"},
		"the model does not agree": {func(s *Seen) { s.Collections = 1200 }, 244, "", "0.50 of the way"},
	} {
		s := seen()
		c.change(s)
		a := Decide(s, Fargate)
		if a.Memory.Known != (c.memory > 0) || a.Memory.Known && a.Memory.N != c.memory*mib || !strings.Contains(a.Memory.Why, c.why) {
			t.Errorf("%s: %v MiB, %+v", name, a.Memory.N/mib, a.Memory)
		}
		if !strings.Contains(strings.Join(a.Unseen, "\n"), c.unseen) {
			t.Errorf("%s: unseen %q", name, a.Unseen)
		}
		if a.Memory.Known && (a.Memory.N < s.Used.N || !(a.GOMEMLIMIT.N < a.Memory.N)) {
			t.Errorf("%s: %+v", name, a)
		}
		chosen, last := 0, 0.0
		for _, p := range a.Curve {
			if p.Memory <= last || p.Goal+s.Rest.N+s.Other.N > p.Memory && !p.Chosen || p.Below != (p.Memory < s.Used.N) {
				t.Errorf("%s: %+v", name, p)
			}
			if p.Chosen {
				chosen++
			}
			last = p.Memory
		}
		if len(a.Curve) > 0 && chosen != 1 {
			t.Errorf("%s: %d points are chosen", name, chosen)
		}
	}
}

func TestCPU(t *testing.T) {
	s := seen()
	a := Decide(s, Fargate)
	if a.CPURequest.N != 0.62 || a.CPULimit.N != 1.2 || a.GOMAXPROCS.N != 2 {
		t.Errorf("%+v", a)
	}
	s.Quota, s.Throttled = know(2), know(0.1)
	if a := Decide(s, Fargate); a.CPULimit.N != 2 || !strings.Contains(a.CPULimit.Why, "throttled") {
		t.Errorf("%+v", a.CPULimit)
	}
	s.CPUMost = figure.Of[float64]{}
	if a := Decide(s, Fargate); a.CPULimit.Known || a.GOMAXPROCS.Known || a.CPULimit.Why == "" {
		t.Errorf("%+v", a)
	}
}

// TestOther: memory that is not Go's is left out of GOMEMLIMIT.
func TestOther(t *testing.T) {
	s := seen()
	s.Other = know(200 * mib)
	if n, why := s.goMemLimit(500 * mib); n != 292*mib || !strings.Contains(why, "200 MiB") {
		t.Errorf("%v MiB, %s", n/mib, why)
	}
	if n, _ := s.goMemLimit(32 * mib); n != 0 {
		t.Errorf("%v", n)
	}
}

// TestStrange: no figures make it panic, or advise what is no number.
func TestStrange(t *testing.T) {
	odd := []float64{0, 1, mib, 1e12, 1e18}
	for _, live := range odd {
		for _, allocated := range odd {
			for _, gc := range []float64{0, 1e-9, 1, 1e6} {
				for _, gogc := range []int{-1, 0, 1, 100, 1 << 30} {
					s := seen()
					s.Live, s.LiveMost, s.Allocated, s.GCCores, s.GOGC = know(live), know(live), know(allocated), know(gc), gogc
					a := Decide(s, Fargate)
					if !(a.Memory.N >= s.Used.N) || math.IsInf(a.Memory.N, 0) || len(a.Curve) > 2*rows+2 {
						t.Fatalf("%v %v %v %v: %+v", live, allocated, gc, gogc, a)
					}
				}
			}
		}
	}
}
