// SPDX-License-Identifier: Apache-2.0

// Package size decides which container a Go program needs, from what was seen of it. It is pure: facts
// in, values with reasons out.
package size

import (
	"math"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// Seen is what was seen of a program, in the form of its document. What is unknown says why.
type Seen struct {
	finding.SizeSeen
	Seconds     float64 // of the watch
	Age         float64 // in seconds when the watch began; 0 = unknown
	Collections int     // that ended in the watch
	Mates       int     // other processes in its cgroup
	CPUs        int     // that it may run on; 0 = unknown
	Minor       int     // 26 for Go 1.26; 0 = unknown
	Aware       bool    // the runtime follows the CPU quota

	// Of a workload that agents have seen, in place of a watch.
	Days  float64 // in which they saw it; 0 = a watch
	Every float64 // seconds from one look to the next: what CPUHigh is of; 0 = a second
	Burst float64 // bytes that it allocates a second in a busy time, if more than Allocated

	margin float64 // for what was not seen, a share
	lives  float64 // bytes of live heap that the answer leaves room for
	cores  float64 // the CPU limit of the answer
}

// Price is what a core and a GiB cost for the same time, in any unit.
type Price struct{ Core, GiB float64 }

// Fargate is the price of an hour on AWS Fargate in dollars: Linux on x86 in us-east-1
// (https://aws.amazon.com/fargate/pricing/).
var Fargate = Price{Core: 0.04048, GiB: 0.004445}

const (
	mib = 1 << 20
	gib = 1 << 30
	// forced is how often the runtime collects without need (runtime/proc.go, forcegcperiod).
	forced = 1.0 / 120
	// few collections tell too little of what one costs.
	few = 4
	// rows of the curve on each side of the answer.
	rows = 6
	// margin is added to what lives, to what is not Go's and to the CPU request, for peaks that no watch shows: that of
	// Kubernetes' VPA (recommendation-margin-fraction). If the watch was shorter than short, began in the first warm
	// seconds of the program, or saw the live heap grow, it is twice that.
	margin      = 0.15
	short, warm = 120, 60
	// overshoot is how far over its goal the runtime lets a heap grow before it stops allocations (runtime/mgcpacer.go,
	// maxOvershoot).
	overshoot = 1.1
	// period in seconds is how long the collector may wait for a CPU while the program allocates: that of a quota.
	period = 0.1
	// marking is the share of the CPU that the runtime plans for collections (runtime/mgcpacer.go,
	// gcBackgroundUtilization). What needs more makes the program wait.
	marking = 0.25
)

// Decide returns the container for a program.
func Decide(s *Seen, price Price) *finding.Size {
	seen := *s // margin, lives and cores are decided here
	a := &answer{Seen: &seen, Size: &finding.Size{
		Head: finding.NewHead(finding.KindSize), Seconds: s.Seconds, Collections: s.Collections,
		Price: finding.SizePrice{Core: price.Core, GiB: price.GiB, From: price.From()},
		Curve: []finding.SizePoint{}, Unknown: []finding.Gap{},
	}}
	a.unseen()
	a.cpu()
	a.memory()
	a.Size.Seen = s.SizeSeen
	a.Watched = &finding.SizeWatched{Age: s.Age, Mates: s.Mates, CPUs: s.CPUs, Minor: s.Minor, Aware: s.Aware}
	return a.Size
}

// answer is a document in the making.
type answer struct {
	*Seen
	*finding.Size
}

func (a *answer) say(code string, numbers ...float64) {
	a.Unseen = append(a.Unseen, why(code, numbers...))
}

func why(code string, numbers ...float64) finding.Why {
	return finding.Why{Code: code, Numbers: numbers}
}

// unseen says what the watch does not show, and what is added for it.
func (a *answer) unseen() {
	s := a.Seen
	s.margin = margin
	if s.Age > 0 && s.Age < warm {
		s.margin = 2 * margin
		a.say(finding.SizeYoung, s.Age)
	}
	if s.Growth.N > 0 {
		s.margin = 2 * margin
		a.say(finding.SizeGrowing, s.Growth.N)
	}
	if s.Seconds < short || s.Days > 0 && s.Days < 1 {
		s.margin = 2 * margin
	}
	s.lives = s.LiveMost.N + s.margin*s.LiveMost.N + s.Growth.N
	lives := 0.0
	if s.unmodelled() == nil {
		lives = 1
	}
	if s.Days > 0 {
		a.say(finding.SizePeaksScans, s.Every, s.Days, s.margin, lives)
	} else {
		a.say(finding.SizePeaks, s.Seconds, s.margin, lives)
	}
	switch {
	case s.Collections == 0 && s.Allocated.Known():
		a.say(finding.SizeNoCollection, s.Allocated.N*s.Seconds)
	case s.Collections == 0:
		a.say(finding.SizeNoCollection)
	case s.Collections < few:
		a.say(finding.SizeLiveUnsure, float64(s.Collections))
	}
	if s.Mates > 0 {
		a.say(finding.SizeMates, float64(s.Mates))
	}
	if s.CPUMean.N > 0 && s.Waited.N > waited*s.CPUMean.N {
		a.say(finding.SizeWaited, s.Waited.N/s.CPUMean.N)
	}
	if s.Throttled.N > limited {
		a.say(finding.SizeThrottled, s.Throttled.N)
	}
}

// unmodelled returns why the curve cannot be drawn; nil = it can.
func (s *Seen) unmodelled() *finding.Why {
	what := [...]string{"live_heap_bytes", "allocated_bytes", "gc_cores", "go_rest_bytes", "other_most_bytes"}
	for i, f := range [...]*figure.Of[float64]{&s.Live, &s.Allocated, &s.GCCores, &s.Rest, &s.Other} {
		if !f.Known() {
			return &finding.Why{Code: finding.SizeFigureUnknown, Of: what[i], Detail: f.Why}
		}
	}
	if s.Collections < few {
		w := why(finding.SizeFewCollections, float64(s.Collections))
		return &w
	}
	return nil
}

// memory decides the memory limit and GOMEMLIMIT. With GC(M) the CPU of collections in the limit M, the price
//
//	price.GiB M + price.Core GC(M),   GC(M) = cost allocated / (part (goal(M) - live))
//
// is least where (goal - live)^2 = allocated cost price.Core / (part price.GiB), cost being the CPU time of one
// collection: the square-root rule of Kirisame, Shenoy, Panchekha, "Optimal heap limits for reducing browser
// memory use", OOPSLA 2022. The answer is not below what the program needs (see need), nor above what GOGC lets the
// heap use. What was used may be garbage, so it decides only where the live heap is unknown.
func (a *answer) memory() {
	s := a.Seen
	used, ok := s.Used.Get()
	if !ok {
		a.Memory.Why = finding.Why{Code: finding.SizeMemoryUnknown, Detail: s.Used.Why}
		a.GOMEMLIMIT.Why = a.Memory.Why
		return
	}
	used += s.Earlier.N
	if s.gogc() < 0 && s.Minor != 0 && s.Minor < 19 { // Go has no GOMEMLIMIT
		a.Memory.Why = why(finding.SizeEndless)
		_, a.GOMEMLIMIT.Why = s.goMemLimit(step(used))
		return
	}
	if cause := s.unmodelled(); cause != nil {
		if s.gogc() < 0 && s.MemLimit.State == limits.None {
			a.Memory.Why, a.GOMEMLIMIT.Why = why(finding.SizeEndless), why(finding.SizeNineTenths)
			return
		}
		limit := step(max((used+s.Growth.N)*(1+s.margin), s.least()))
		if n, _ := s.goMemLimit(limit); n == 0 { // nothing but GOGC ends the heap, if it does
			limit = max(limit, step(s.over()*s.Goal.N+s.beside()))
		}
		limit = raised(limit, func(m float64) bool { // with GOGC=off a GOMEMLIMIT must fit
			n, _ := s.goMemLimit(m)
			return n > 0 || s.gogc() >= 0
		})
		a.choose(limit, finding.Why{Code: finding.SizeAllUsed, Cause: cause})
		return
	}
	least := s.fitting(s.limitFor(s.need()))
	code := finding.SizeNeeded
	if more := used - s.explained(); more > max(8*mib, used/10) {
		a.say(finding.SizeUnexplained, more)
		if held := step(used); least < held {
			least, code = held, finding.SizeHeld
		}
	}
	most := step(max(least, s.limitFor(s.byGOGC()-s.Live.N)))
	if s.goal(least) >= s.byGOGC() {
		most = least // without a GOMEMLIMIT, limitFor leaves room for nothing
	}
	best := s.fitting(s.limitFor(s.cheapest(a.Price.Core, a.Price.GiB)))
	switch {
	case best < least:
		a.choose(least, why(code))
	case best >= most:
		best = most
		a.choose(most, why(finding.SizeGoalFits, float64(s.gogc())))
	default:
		a.choose(best, why(finding.SizeCheapest))
	}
	a.Memory.Least = &least
	if most < math.MaxInt64 {
		a.Memory.Most = &most
	}
	a.Model = s.model()
	if m, ok := a.Model.Get(); ok && (m < minPart/1.1 || m > maxPart*1.1) {
		a.say(finding.SizeCurveUnsure, m)
	}
	a.curve(least, best)
	if n, ok := a.CPURequest.Value, a.GCCores.Known(); n != nil && ok {
		for i := range a.Curve {
			if p := &a.Curve[i]; p.Chosen && p.GCCores > s.GCCores.N {
				a.request(p.GCCores - s.GCCores.N)
			}
		}
	}
}

func (a *answer) choose(limit float64, why finding.Why) {
	a.Memory.Value, a.Memory.Why = &limit, why
	var n float64
	if n, a.GOMEMLIMIT.Why = a.goMemLimit(limit); n > 0 {
		a.GOMEMLIMIT.Value = &n
	}
}

// goMemLimit returns the GOMEMLIMIT within a memory limit: by the rule of package plan, less if memory that is not
// Go's, or what the heap may pass its goal by, needs more than that leaves. 0 = leave it alone.
func (s *Seen) goMemLimit(limit float64) (n float64, of finding.Why) {
	in := plan.Input{Go: plan.Go{Minor: s.Minor}}
	in.Limits.Memory.Soft = limits.Of(int64(limit))
	in.Limits.Memory.Hard = in.Limits.Memory.Soft
	set := &plan.Decide(&in).GOMEMLIMIT
	if set.Leave {
		return 0, finding.Why{Code: finding.SizeLeftAlone, Detail: set.Code}
	}
	n, of = float64(set.Value), why(finding.SizeHeadroom)
	heap := (limit - s.beside()) / s.over()
	if least := min(limit-s.other()-plan.MinHeadroom, max(heap/0.97, heap+mib)+s.Rest.N); least < n {
		n, of = least, why(finding.SizeMoreHeadroom, limit-least)
	}
	n = math.Floor(n/mib) * mib
	if n < plan.MinValue {
		return 0, why(finding.SizeTooLittle)
	}
	return n, of
}

// curve draws the points around the answer, the cheapest one among them, and none below least.
func (a *answer) curve(least, best float64) {
	const apart = 1.19 // four rows double the limit
	chosen := *a.Memory.Value
	at := []float64{chosen, best}
	for i := 1.0; i <= rows; i++ {
		at = append(at, step(chosen*math.Pow(apart, i)), step(chosen/math.Pow(apart, i)))
	}
	slices.Sort(at)
	cheapest := -1
	for _, m := range slices.Compact(at) {
		p := finding.SizePoint{Memory: m, Goal: a.expected(m), Chosen: m == chosen, Below: m < a.Used.N}
		p.Cycles = a.cycles(p.Goal)
		if !p.Chosen && (m < least || !a.fits(m)) || math.IsInf(p.Cycles+p.Goal, 0) {
			continue // it might be killed
		}
		if n := len(a.Curve); n > 0 && !p.Chosen && p.Goal == a.Curve[n-1].Goal {
			continue // the heap would not use it
		}
		if n, _ := a.goMemLimit(m); n > 0 {
			p.GOMEMLIMIT = &n
		}
		p.GCCores = p.Cycles * a.cost()
		p.Price = a.Price.GiB*m/gib + a.Price.Core*p.GCCores
		a.Curve = append(a.Curve, p)
		if cheapest < 0 || p.Price < a.Curve[cheapest].Price {
			cheapest = len(a.Curve) - 1
		}
	}
	if cheapest >= 0 {
		a.Curve[cheapest].Cheapest = true
	}
}

// step rounds up to what people write: 4 MiB, from 256 MiB on 16, from 1 GiB on 64.
func step(bytes float64) float64 {
	to := 4.0 * mib
	switch {
	case bytes > gib:
		to = 64 * mib
	case bytes > 256*mib:
		to = 16 * mib
	}
	return math.Ceil(bytes/to) * to
}
