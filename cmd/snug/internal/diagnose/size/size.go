// SPDX-License-Identifier: Apache-2.0

// Package size decides which container a Go program needs, from what was seen of it. It is pure: facts
// in, values with reasons out.
package size

import (
	"fmt"
	"math"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
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

// Endless is why there is no memory limit where nothing ends the growth of the heap.
const Endless = "with GOGC=off and no GOMEMLIMIT its heap grows without end"

// Decide returns the container for a program.
func Decide(s *Seen, price Price) *finding.Size {
	seen := *s // margin, lives and cores are decided here
	a := &answer{Seen: &seen, Size: &finding.Size{Head: finding.NewHead(finding.KindSize), Seconds: s.Seconds, Collections: s.Collections,
		Price: finding.SizePrice{Core: price.Core, GiB: price.GiB, From: price.From()}, Curve: []finding.SizePoint{}, Unknown: []finding.Gap{}}}
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

func (a *answer) say(format string, args ...any) {
	a.Unseen = append(a.Unseen, fmt.Sprintf(format, args...))
}

// unseen says what the watch does not show, and what is added for it.
func (a *answer) unseen() {
	s := a.Seen
	s.margin = margin
	if s.Age > 0 && s.Age < warm {
		s.margin = 2 * margin
		a.say("its usual load: it had run for %.0f s when the watch began", s.Age)
	}
	if s.Growth.N > 0 {
		s.margin = 2 * margin
		a.say("where its live heap ends: it grew by %s in the watch, and as much is added", mebibytes(s.Growth.N))
	}
	if s.Seconds < short || s.Days > 0 && s.Days < 1 {
		s.margin = 2 * margin
	}
	s.lives = s.LiveMost.N + s.margin*s.LiveMost.N + s.Growth.N
	added := "to all that was used and to the CPU request"
	if s.modelled() == "" {
		added = "to what lives, to what is not Go's and to the CPU request"
	}
	outside := fmt.Sprintf("outside of the %.0f s of the watch", s.Seconds)
	if s.Days > 0 {
		outside = fmt.Sprintf("between two scans, %.0f s apart, and outside of the %s in which it was seen", s.Every, units.Days(s.Days))
	}
	a.say("peaks %s: %.0f %% is added %s", outside, 100*s.margin, added)
	switch {
	case s.Collections == 0 && s.Allocated.Known():
		a.say("the live heap: no collection ended in the watch, in which it allocated %s; all memory in use counts as needed", mebibytes(s.Allocated.N*s.Seconds))
	case s.Collections == 0:
		a.say("the live heap: no collection ended in the watch; all memory in use counts as needed")
	case s.Collections < few:
		a.say("what a collection costs, and whether the live heap grows: %d ended in the watch; all memory in use counts as needed", s.Collections)
	}
	if s.Mates > 0 {
		a.say("the CPU that other processes need that share its limits, %d in all: add it; their memory counts", s.Mates)
	}
	if s.CPUMean.N > 0 && s.Waited.N > waited*s.CPUMean.N {
		a.say("what it needs where CPUs are free: threads waited %.1f times as long for a CPU as they ran, and collections that wait find more in use and take more CPU", s.Waited.N/s.CPUMean.N)
	}
	if s.Throttled.N > limited {
		a.say("the CPU that it would have used: %.1f %% of the periods were throttled", 100*s.Throttled.N)
	}
}

// modelled reports whether the curve can be drawn; if not, why.
func (s *Seen) modelled() (why string) {
	what := [...]string{"live heap", "bytes allocated", "CPU of collections", "memory of Go beside objects", "memory that is not Go's"}
	for i, f := range [...]*figure.Of[float64]{&s.Live, &s.Allocated, &s.GCCores, &s.Rest, &s.Other} {
		if !f.Known() {
			return because(what[i]+" unknown", f)
		}
	}
	if s.Collections < few {
		return fmt.Sprintf("fewer than %d collections in the watch: %d", few, s.Collections)
	}
	return ""
}

func because(what string, f *figure.Of[float64]) string {
	if f.Why != "" {
		what += ": " + f.Why
	}
	return what
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
		a.Memory.Why = because("memory in use is unknown", &s.Used)
		a.GOMEMLIMIT.Why = a.Memory.Why
		return
	}
	used += s.Earlier.N
	if s.gogc() < 0 && s.Minor != 0 && s.Minor < 19 { // Go has no GOMEMLIMIT
		_, why := s.goMemLimit(step(used))
		a.Memory.Why, a.GOMEMLIMIT.Why = Endless, why
		return
	}
	if why := s.modelled(); why != "" {
		if s.gogc() < 0 && s.MemLimit.State == limits.None {
			a.Memory.Why, a.GOMEMLIMIT.Why = Endless, "for a memory limit that you choose: nine tenths of it"
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
		a.choose(limit, "all that was used, because what of it is garbage is unknown: "+why)
		return
	}
	least := s.fitting(s.limitFor(s.need()))
	why := "what lives at most, memory that is not Go's, and room for collections"
	if more := used - s.explained(); more > max(8*mib, used/10) {
		a.say("what %s of memory in use were, more than its heap goal explains: they count as needed, garbage or not", mebibytes(more))
		if held := step(used); least < held {
			least, why = held, "what was used at most, more than its heap goal explains"
		}
	}
	most := step(max(least, s.limitFor(s.byGOGC()-s.Live.N)))
	if s.goal(least) >= s.byGOGC() {
		most = least // without a GOMEMLIMIT, limitFor leaves room for nothing
	}
	best := s.fitting(s.limitFor(s.cheapest(a.Price.Core, a.Price.GiB)))
	switch {
	case best < least:
		a.choose(least, why+": the least that fits")
	case best >= most:
		best = most
		a.choose(most, fmt.Sprintf("the heap goal of GOGC=%d fits; more would not be used", s.gogc()))
	default:
		a.choose(best, "the cheapest: more memory costs more than its collections do, less saves less")
	}
	a.Memory.Least = &least
	if most < math.MaxInt64 {
		a.Memory.Most = &most
	}
	a.Model = s.model()
	if m, ok := a.Model.Get(); ok && (m < minPart/1.1 || m > maxPart*1.1) {
		a.say("the curve is uncertain: %.2f of the way to the heap goal was allocated between collections, and 0.7 to 1 is usual", m)
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

func (a *answer) choose(limit float64, why string) {
	a.Memory.Value, a.Memory.Why = &limit, why
	var n float64
	if n, a.GOMEMLIMIT.Why = a.goMemLimit(limit); n > 0 {
		a.GOMEMLIMIT.Value = &n
	}
}

// goMemLimit returns the GOMEMLIMIT within a memory limit: by the rule of package plan, less if memory that is not
// Go's, or what the heap may pass its goal by, needs more than that leaves. 0 = leave it alone.
func (s *Seen) goMemLimit(limit float64) (n float64, why string) {
	in := plan.Input{Go: plan.Go{Minor: s.Minor}}
	in.Limits.Memory.Soft = limits.Of(int64(limit))
	in.Limits.Memory.Hard = in.Limits.Memory.Soft
	set := &plan.Decide(&in).GOMEMLIMIT
	if set.Leave {
		return 0, "left alone: " + set.Code
	}
	n, why = float64(set.Value), "the limit without the larger of 10 % and 8 MiB"
	heap := (limit - s.beside()) / s.over()
	if least := min(limit-s.other()-plan.MinHeadroom, max(heap/0.97, heap+mib)+s.Rest.N); least < n {
		n, why = least, "the limit without "+mebibytes(limit-least)+" for what is not Go's, and for a heap above its goal"
	}
	n = math.Floor(n/mib) * mib
	if n < plan.MinValue {
		return 0, "left alone: what is not Go's leaves too little for one"
	}
	return n, why
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

func mebibytes(bytes float64) string { return fmt.Sprintf("%.0f MiB", math.Ceil(bytes/mib)) }
