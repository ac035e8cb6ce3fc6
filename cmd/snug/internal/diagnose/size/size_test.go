// SPDX-License-Identifier: Apache-2.0

package size

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func know(n float64) figure.Of[float64] { return figure.New(n, "") }

// seen is a program with a live heap of 100 MiB that allocates 200 MiB a second, and whose collections take 0.05 s
// of CPU. By GOGC=100 it collects twice a second.
func seen() *Seen {
	return &Seen{
		SizeSeen: finding.SizeSeen{Live: know(100 * mib), LiveMost: know(104 * mib), Allocated: know(200 * mib), GCCores: know(0.1),
			Rest: know(10 * mib), Other: know(5 * mib), Used: know(225 * mib), GOGC: figure.New(100, ""), Goal: know(200 * mib),
			CPUMean: know(0.4), CPUHigh: know(0.62), CPUMost: know(1.13), Procs: figure.New(4, "")},
		Seconds: 300, Age: 3600, Collections: 600, CPUs: 8, Minor: 26, Aware: true,
	}
}

// off is seen with GOGC=off in a container of 500 MiB that it fills.
func off(s *Seen) {
	s.GOGC, s.Goal, s.Used, s.Collections = figure.New(-1, ""), know(420*mib), know(470*mib), 180
	s.GCCores = know(0.05 * 180 / 300)
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
		s.GOGC.N = -1
		Decide(s, price)
		best, least := 0.0, math.Inf(1)
		for m := s.least(); m < 64*gib; m += mib / 2 {
			if !s.fits(m) {
				continue
			}
			if p := price.GiB*m/gib + price.Core*s.cycles(s.goal(m))*s.cost(); p < least {
				best, least = m, p
			}
		}
		got := s.limitFor(s.cheapest(price.Core, price.GiB))
		if p := price.GiB*got/gib + price.Core*s.cycles(s.goal(got))*s.cost(); p > 1.01*least {
			t.Errorf("%+v: %v MiB costs %v, %v MiB costs %v", price, got/mib, p, best/mib, least)
		}
	}
}

// TestRequestWithinLimit: collections that an answer with little memory adds raise the limit with the request. Kubernetes
// refuses a request above its limit.
func TestRequestWithinLimit(t *testing.T) {
	s := seen()
	off(s)
	s.CPUHigh, s.CPUMost, s.CPUMean = know(0.86), know(0.9), know(0.8)
	d := Decide(s, Price{Core: 1, GiB: 1})
	if *d.CPURequest.Value <= 1 || *d.CPULimit.Value != 2 || !d.ByGo || *d.GOMAXPROCS.Value != 2 || *d.CPULimit.Least != 0.9 {
		t.Errorf("request %v, limit %v (%s), GOMAXPROCS %v", *d.CPURequest.Value, *d.CPULimit.Value, words(d.CPULimit.Why), *d.GOMAXPROCS.Value)
	}
	s.CPUHigh = know(0.5)
	if d = Decide(s, Price{Core: 1, GiB: 1}); *d.CPURequest.Value > 1 || *d.CPULimit.Value != 1 {
		t.Errorf("request %v, limit %v (%s)", *d.CPURequest.Value, *d.CPULimit.Value, words(d.CPULimit.Why))
	}
}

// TestNearlyFree: a price that makes memory cost next to nothing gives an answer that can be written.
func TestNearlyFree(t *testing.T) {
	s := seen()
	off(s)
	d := Decide(s, Price{Core: 9e8, GiB: 1e-300})
	if n := *d.Memory.Value; n > 1<<51 || d.GOMEMLIMIT.Value == nil {
		t.Errorf("memory %v, GOMEMLIMIT %s", n, words(d.GOMEMLIMIT.Why))
	}
	if _, err := json.Marshal(d); err != nil {
		t.Error(err)
	}
}

func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Seen)
		memory float64 // MiB; 0 = unknown
		why    string
		unseen string
	}{
		"GOGC bounds the heap":             {func(*Seen) {}, 256, "GOGC=100", "peaks outside of the 300 s of the watch: 15 % is added to what lives"},
		"GOGC off, a full limit":           {off, 464, "cheapest", ""},
		"all of it garbage":                {func(s *Seen) { off(s); s.Used = know(510 * mib) }, 464, "cheapest", ""},
		"more than its goal explains":      {func(s *Seen) { off(s); s.Used = know(4000 * mib) }, 4032, "more than its heap goal", "3505 MiB of memory in use were, more than"},
		"the same where live heaps differ": {func(s *Seen) { off(s); s.Used, s.LiveMost = know(4000*mib), know(1000*mib) }, 1408, "lives at most", ""},
		"the need decides": {func(s *Seen) {
			off(s)
			s.LiveMost = know(600 * mib)
		}, 832, "lives at most, memory that is not Go's, and room for collections: the least that fits", ""},
		"a growing heap":  {func(s *Seen) { off(s); s.Growth = know(900 * mib) }, 1280, "lives", "grew by 900 MiB"},
		"no collection":   {func(s *Seen) { s.Collections, s.Live = 0, figure.Of[float64]{} }, 272, "garbage is unknown: live heap unknown", "no collection ended in the watch, in which it allocated 60000 MiB"},
		"few collections": {func(s *Seen) { s.Collections = 2 }, 272, "fewer than 4 collections in the watch: 2", "whether the live heap grows: 2 ended"},
		"memory unknown":  {func(s *Seen) { s.Used = figure.Of[float64]{Why: "no files"} }, 0, "no files", ""},
		"no collection, GOGC off": {func(s *Seen) {
			s.Collections, s.Live, s.GOGC.N, s.Used = 0, figure.Of[float64]{}, -1, know(40*mib)
			s.MemLimit.None()
		}, 0, "without end", ""},
		"a goal that would not fit": {func(s *Seen) {
			s.Collections, s.Goal, s.Used = 1, know(60*mib), know(45*mib)
			s.LiveMost = know(20 * mib)
		}, 104, "collections in the watch: 1", ""},
		"no collection, GOGC off, and a GOMEMLIMIT": {func(s *Seen) {
			s.Collections, s.Live, s.LiveMost, s.GOGC.N, s.Used, s.MemLimit = 0, figure.Of[float64]{}, figure.Of[float64]{}, -1, know(40*mib), figure.New(int64(460*mib), "")
			s.Goal.None()
		}, 80, "garbage is unknown", ""},
		"an earlier peak":      {func(s *Seen) { s.Earlier = know(475 * mib) }, 704, "more than its heap goal", "457 MiB of memory in use were"},
		"less used than lives": {func(s *Seen) { s.Allocated, s.Used = figure.Of[float64]{}, know(90*mib) }, 144, "all that was used", ""},
		"no GOMEMLIMIT":        {func(s *Seen) { s.Minor, s.Allocated = 18, figure.Of[float64]{Why: "old"} }, 272, "bytes allocated unknown: old", ""},
		"old, and its heap grows": {func(s *Seen) {
			s.Minor, s.Allocated, s.Growth = 18, figure.Of[float64]{}, know(70*mib)
		}, 384, "bytes allocated unknown", "grew by 70 MiB in the watch, and as much is added"},
		"nothing ends the heap, with a model": {func(s *Seen) { off(s); s.Minor = 18 }, 0, "without end", ""},
		"nothing ends the heap":               {func(s *Seen) { s.Minor, s.GOGC.N, s.Collections = 18, -1, 0 }, 0, "without end", ""},
		"its goal fits in the least": {func(s *Seen) {
			s.Live, s.LiveMost, s.Goal, s.Used, s.Other = know(mib/5), know(mib/4), know(4*mib), know(7*mib), know(0)
			s.Allocated, s.GCCores, s.Rest = know(45*mib), know(0.002), know(5*mib)
		}, 16, "GOGC=100", ""},
		"too small for GOMEMLIMIT": {func(s *Seen) {
			s.Live, s.LiveMost, s.Goal, s.GOGC.N, s.Used = know(8*mib), know(8*mib), know(30*mib), 275, know(40*mib)
			s.Allocated, s.GCCores = know(18*mib), know(0.0015)
		}, 52, "GOGC=275", ""},
		"a short watch":            {func(s *Seen) { s.Seconds, s.Collections = 20, 40 }, 272, "", "20 s of the watch: 30 %"},
		"a young process":          {func(s *Seen) { s.Age = 5 }, 272, "", "run for 5 s"},
		"others in the cgroup":     {func(s *Seen) { s.Mates = 2 }, 256, "", "share its limits, 2 in all: add it; their memory counts"},
		"a busy machine":           {func(s *Seen) { s.Waited = know(0.32) }, 256, "", "waited 0.8 times as long"},
		"throttled":                {func(s *Seen) { s.Throttled = know(0.2) }, 256, "", "20.0 %"},
		"the model does not agree": {func(s *Seen) { s.Collections = 1200 }, 256, "", "0.50 of the way"},
		"an idle program":          {func(s *Seen) { s.Collections, s.Allocated, s.GCCores = 0, know(0), know(0) }, 272, "collections in the watch: 0", "allocated 0 MiB"},
	} {
		s := seen()
		c.change(s)
		a := Decide(s, Fargate)
		if (a.Memory.Value != nil) != (c.memory > 0) || !strings.Contains(words(a.Memory.Why), c.why) {
			t.Errorf("%s: %+v", name, a.Memory)
			continue
		}
		if !strings.Contains(words(a.Unseen...), c.unseen) {
			t.Errorf("%s: unseen %s", name, words(a.Unseen...))
		}
		if a.Memory.Value == nil {
			continue
		}
		memory := *a.Memory.Value
		if memory != c.memory*mib || a.GOMEMLIMIT.Value != nil && *a.GOMEMLIMIT.Value >= memory || a.Memory.Least != nil && *a.Memory.Least > memory {
			t.Errorf("%s: %v MiB, %+v", name, memory/mib, a.Memory)
		}
		chosen, last := 0, 0.0
		for _, p := range a.Curve {
			if p.Memory <= last || overshoot*s.goal(p.Memory)+s.beside() > p.Memory || p.Memory < *a.Memory.Least || p.Below != (p.Memory < s.Used.N) {
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

// TestExpected: with the heap that there was Go's memory beside objects is what was seen, and it is never below zero.
func TestExpected(t *testing.T) {
	for _, rest := range []float64{0, 2 * mib, 10 * mib, 90 * mib} {
		s := seen()
		off(s)
		s.Rest = know(rest)
		Decide(s, Fargate)
		for _, limit := range []float64{240 * mib, 320 * mib, 500 * mib, 4 * gib} {
			n, _ := s.goMemLimit(limit)
			goal := s.expected(limit)
			if goal == s.Live.N { // no room
				continue
			}
			beside := n - max(goal/0.97, goal+mib)
			if beside < -1 || math.Abs(beside-rest) > spans*math.Abs(goal-s.filled())+1 || math.Abs(beside-rest) > 1 && (beside > rest) != (goal > s.filled()) {
				t.Errorf("%v MiB: rest %v MiB of %v where the heap goal is %v of %v", limit/mib, beside/mib, rest/mib, goal/mib, s.filled()/mib)
			}
		}
		s.Allocated = know(0) // collections that the runtime forces: the heap never reaches its goal
		if got, most := s.expected(500*mib), s.goal(500*mib)+spans*500*mib; got > most {
			t.Errorf("a heap that stays small: a goal of %v MiB, want at most %v", got/mib, most/mib)
		}
		s.Goal = figure.Of[float64]{}
		if s.expected(500*mib) != s.goal(500*mib) {
			t.Error("with no goal seen it differs")
		}
	}
}

// TestNeed: in the least memory that is advised, collections take no more than the runtime plans for them.
func TestNeed(t *testing.T) {
	for _, cost := range []float64{1, 10, 50} {
		s := seen()
		off(s)
		s.GCCores.N *= cost
		a := Decide(s, Price{1, 1e6}) // as little memory as possible
		goal := s.goal(*a.Memory.Value)
		if share := s.cycles(goal) * s.cost() / *a.CPULimit.Value; !(share <= marking) || *a.Memory.Value != *a.Memory.Least || goal < s.LiveMost.N*(1+margin) {
			t.Errorf("cost %v: %v of the CPU limit in %v MiB", cost, share, *a.Memory.Value/mib)
		}
		if len(a.Curve) == 0 || a.CPURequest.Value == nil || cost == 1 && !strings.Contains(words(a.CPURequest.Why), "more collections") {
			t.Errorf("cost %v: %+v", cost, a.CPURequest)
		}
	}
}

func TestCPU(t *testing.T) {
	for name, c := range map[string]struct {
		change               func(*Seen)
		request, limit, most float64 // most Ps
		why                  string
	}{
		"more than a core":    {func(*Seen) {}, 0.72, 2, 2, "1.13"},
		"bursts below a core": {func(s *Seen) { s.CPUMost, s.CPUHigh, s.CPUMean = know(0.35), know(0.26), know(0.1) }, 0.3, 1, 2, "reserves nothing"},
		"a core":              {func(s *Seen) { s.CPUMost = know(1.04) }, 0.72, 1, 2, ""},
		"a short watch":       {func(s *Seen) { s.Seconds = 20 }, 0.81, 2, 2, ""},
		"throttled":           {func(s *Seen) { s.Quota, s.Throttled = know(1.5), know(0.1); s.CPUMost = know(1.5) }, 0.72, 2, 2, ""},
		"throttled more":      {func(s *Seen) { s.Quota, s.Throttled = know(2), know(0.1) }, 0.72, 3, 3, "10.0 %"},
		"hardly throttled":    {func(s *Seen) { s.Quota, s.Throttled = know(2), know(0.005) }, 0.72, 2, 2, ""},
		"busy Ps":             {func(s *Seen) { s.CPUHigh, s.CPUMost, s.Procs.N = know(1.97), know(2.04), 2 }, 2.3, 3, 3, "Ps were busy"},
	} {
		s := seen()
		c.change(s)
		a := Decide(s, Fargate)
		if *a.CPURequest.Value != c.request || *a.CPULimit.Value != c.limit || *a.GOMAXPROCS.Value != c.most || !a.ByGo || !strings.Contains(words(a.CPULimit.Why), c.why) {
			t.Errorf("%s: request %v, limit %v (%s), %v Ps (%s)", name, *a.CPURequest.Value, *a.CPULimit.Value, words(a.CPULimit.Why), *a.GOMAXPROCS.Value, words(a.GOMAXPROCS.Why))
		}
	}
	s := seen()
	s.Aware = false
	if a := Decide(s, Fargate); *a.GOMAXPROCS.Value != 2 || a.ByGo {
		t.Errorf("%+v", a.GOMAXPROCS)
	}
	s.CPUMost = figure.Of[float64]{Why: "many threads"}
	if a := Decide(s, Fargate); *a.CPULimit.Value != 1 || !strings.Contains(words(a.CPULimit.Why), "95 % of the seconds") || !strings.Contains(words(a.Unseen...), "than a second: many threads") {
		t.Errorf("%+v, %s", a.CPULimit, words(a.Unseen...))
	}
	s.CPUMean = know(0.8) // more than most of the seconds
	if a := Decide(s, Fargate); *a.CPURequest.Value != 0.92 || !strings.Contains(words(a.CPURequest.Why), "a mean of 0.80") {
		t.Errorf("%+v", a.CPURequest)
	}
	s.CPUHigh = figure.Of[float64]{}
	if a := Decide(s, Fargate); a.CPULimit.Value != nil || a.GOMAXPROCS.Value != nil || a.CPULimit.Why.Code == "" {
		t.Errorf("%+v", a)
	}
}

// TestInUse: a cgroup's own count has what the kernel holds and no pages of files; code counts, data does not.
func TestInUse(t *testing.T) {
	for name, c := range map[string]struct{ resident, files, code, kept, mapped, used, other float64 }{
		"no limit of its own":                {150, 50, 20, -1, 90, 120, 30},
		"its own, with the kernel's memory":  {150, 50, 20, 120, 90, 140, 50},
		"Go has mapped more than is touched": {150, 50, 20, 120, 200, 140, 40},
		"a cgroup that holds nothing":        {150, 50, 20, 0, 90, 20, 20},
		"no pages of files":                  {100, 0, 0, 100, 100, 100, 0},
		"unknown pages":                      {100, 0, 0, -1, 100, 100, 0},
		"mapped data alone":                  {1600, 1500, 10, 110, 100, 120, 20},
	} {
		if used, other := InUse(c.resident, c.files, c.code, c.kept, c.mapped); used != c.used || other != c.other {
			t.Errorf("%s: %v in use, of it %v not Go's", name, used, other)
		}
	}
}

// TestOther: memory that is not Go's is left out of GOMEMLIMIT.
func TestOther(t *testing.T) {
	s := seen()
	s.Other = know(200 * mib)
	if n, why := s.goMemLimit(500 * mib); n != 263*mib || !strings.Contains(words(why), "237 MiB for what is not Go's") {
		t.Errorf("%v MiB, %s", n/mib, words(why))
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
					s.Live, s.LiveMost, s.Allocated, s.GCCores, s.GOGC.N = know(live), know(live), know(allocated), know(gc), gogc
					a := Decide(s, Fargate)
					if n := a.Memory.Value; n == nil || !(*n >= live) || math.IsInf(*n, 0) || len(a.Curve) > 2*rows+2 {
						t.Fatalf("%v %v %v %v: %+v", live, allocated, gc, gogc, a)
					}
					if _, err := json.Marshal(a); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
}

// words returns reasons as they are printed.
func words(of ...finding.Why) string {
	all := ""
	for i := range of {
		all += content.Reason(&of[i]) + "\n"
	}
	return all
}

// TestParsePrice: both numbers are from 1e-9 to below 1e9.
func TestParsePrice(t *testing.T) {
	for text, want := range map[string]Price{"": Fargate, "1e-9,1e-9": {1e-9, 1e-9}, "9e8,9e8": {9e8, 9e8}, "0.04,0.004": {0.04, 0.004}} {
		if got, err := ParsePrice(text); err != nil || got != want || (got.From() == "--price") != (text != "") {
			t.Errorf("%q: %v, %v, %s", text, got, err, got.From())
		}
	}
	for _, text := range []string{"1", "1,", ",1", "x,1", "1,x", "0,1", "1,0", "1e9,1", "1,1e9", "9e-10,1", "1,9e-10", "-1,1", "NaN,1", "1,Inf", "1,2,3"} {
		if got, err := ParsePrice(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}
