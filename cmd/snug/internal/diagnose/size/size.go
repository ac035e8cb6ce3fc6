// SPDX-License-Identifier: Apache-2.0

// Package size decides which container a Go program needs, from what was seen of it. It is pure: facts
// in, values with reasons out.
package size

import (
	"fmt"
	"math"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// Seen is what was seen of a program. What is unknown is an unknown figure, and says why.
type Seen struct {
	Seconds     float64 // of the watch
	Collections int     // that ended meanwhile

	// Live is the mean heap in bytes that collections found in use; LiveMost is the largest.
	Live, LiveMost figure.Of[float64]
	Allocated      figure.Of[float64] // bytes a second
	GCCores        figure.Of[float64] // CPU of collections, in cores, marking by idle Ps included
	Rest           figure.Of[float64] // bytes that Go held beside objects: the least seen
	Other          figure.Of[float64] // bytes that are not Go's: the most seen
	Used           figure.Of[float64] // bytes that cannot be reclaimed: the most seen
	GOGC           int                // percent; -1 = off
	Goal           figure.Of[float64] // mean heap goal in bytes, as it was; unknown also if there was none

	// CPU used, in cores: mean, 95th percentile of windows of a second, and 99th of windows of 100 ms, the period of
	// quotas.
	CPUMean, CPUHigh, CPUMost figure.Of[float64]
	Throttled                 figure.Of[float64] // share of the periods
	Quota                     figure.Of[float64] // cores

	CPUs  int // that it may run on; 0 = unknown
	Minor int // 26 for Go 1.26; 0 = unknown
	// Aware: the runtime follows the CPU quota.
	Aware bool
}

// Price is what a core and a GiB cost for the same time, in any unit.
type Price struct{ Core, GiB float64 }

// Fargate is the price of an hour on AWS Fargate in dollars: Linux on x86 in us-east-1
// (https://aws.amazon.com/fargate/pricing/).
var Fargate = Price{Core: 0.04048, GiB: 0.004445}

// Answer is the container that a program needs.
type Answer struct {
	Memory     Value // limit in bytes, also the request: a heap fills what it may
	GOMEMLIMIT Value // bytes
	CPURequest Value // cores
	CPULimit   Value // cores
	GOMAXPROCS Value

	// Curve has the memory limit of the answer and others around it, rising; nil = it is unknown.
	Curve []Point
	// Model is the part of the way from the live heap to the heap goal that was allocated from one collection to
	// the next: what fits the curve to the program. Unknown without a heap goal.
	Model figure.Of[float64]
	// Unseen says what the watch could not show, a sentence each.
	Unseen []string
}

// Value is a decided number. With an unknown one Why says why.
type Value struct {
	N     float64
	Known bool
	Why   string
}

// Point is a memory limit, and what it is expected to cost.
type Point struct {
	Memory     float64 // bytes
	GOMEMLIMIT float64 // bytes
	Goal       float64 // heap goal in bytes
	Cycles     float64 // collections a second
	GCCores    float64 // CPU of collections, in cores
	Price      float64 // of this memory and this CPU
	Chosen     bool    // the answer
	Cheapest   bool
	Below      bool // less than was used
}

const (
	mib = 1 << 20
	gib = 1 << 30
	// forced is how often the runtime collects without need (runtime/proc.go, forcegcperiod).
	forced = 1.0 / 120
	// few collections tell too little of what one costs.
	few = 4
	// rows of the curve on each side of the answer.
	rows = 2
	// short is a watch in seconds that shows no peaks.
	short = 120
)

// Decide returns the container for a program.
func Decide(s *Seen, price Price) *Answer {
	a := &Answer{}
	a.unseen(s)
	a.memory(s, price)
	a.cpu(s)
	return a
}

// unseen says what the watch does not show.
func (a *Answer) unseen(s *Seen) {
	say := func(format string, args ...any) { a.Unseen = append(a.Unseen, fmt.Sprintf(format, args...)) }
	if s.Seconds < short {
		say("peaks: it was watched for %.0f s; a peak outside of them needs more", s.Seconds)
	} else {
		say("peaks outside of the %.0f s of the watch", s.Seconds)
	}
	switch {
	case s.Collections == 0:
		say("the live heap: no collection ended in the watch")
	case s.Collections < few:
		say("what a collection costs: only %d ended in the watch", s.Collections)
	}
	if s.Throttled.N > 0 {
		say("the CPU that it would have used: %.1f %% of the periods were throttled", 100*s.Throttled.N)
	}
}

// modelled reports whether the curve can be drawn; if not, why.
func (s *Seen) modelled() (why string) {
	for _, f := range []struct {
		what string
		is   figure.Of[float64]
	}{{"live heap", s.Live}, {"bytes allocated", s.Allocated}, {"CPU of collections", s.GCCores}, {"memory of Go beside objects", s.Rest}, {"memory that is not Go's", s.Other}} {
		if !f.is.Known() {
			if f.is.Why == "" {
				return f.what + " unknown"
			}
			return f.what + " unknown: " + f.is.Why
		}
	}
	if s.Collections < few {
		return fmt.Sprintf("%d collections in the watch, and %d are needed", s.Collections, few)
	}
	return ""
}

// memory decides the memory limit and GOMEMLIMIT. With GC(M) the CPU of collections in the limit M, the price
//
//	price.GiB M + price.Core GC(M),   GC(M) = cost allocated / (part (goal(M) - live))
//
// is least where (goal - live)^2 = allocated cost price.Core / (part price.GiB), cost being the CPU time of one
// collection: the square-root rule of Kirisame, Shenoy, Panchekha, "Optimal heap limits for reducing browser
// memory use", OOPSLA 2022. The answer is not below what was used, nor above what GOGC lets the heap use.
func (a *Answer) memory(s *Seen, price Price) {
	used, ok := s.Used.Get()
	if !ok {
		why := "memory in use is unknown"
		if s.Used.Why != "" {
			why += ": " + s.Used.Why
		}
		a.Memory.Why, a.GOMEMLIMIT.Why = why, why
		return
	}
	floor := step(used)
	if n, _ := s.goMemLimit(floor); n == 0 {
		floor = step(used / 0.9) // nothing holds the heap back
	}
	if why := s.modelled(); why != "" {
		a.choose(s, floor, "what was used; what more or less would cost is unknown: "+why)
		return
	}
	best := step(s.limitFor(s.cheapest(price)))
	most := step(max(floor, s.limitFor(s.byGOGC()-s.Live.N)))
	for i := 0; i < 200 && best < most && !s.fits(best); i++ { // without a GOMEMLIMIT the heap goal is GOGC's
		best = step(best * 1.02)
	}
	switch {
	case best < floor:
		a.choose(s, floor, "what was used; the model expects "+mebibytes(best)+" to be cheaper")
	case best >= most:
		best = most
		a.choose(s, most, fmt.Sprintf("the heap goal of GOGC=%d fits; more would not be used", s.GOGC))
	default:
		a.choose(s, best, "the cheapest: more memory costs more than its collections do, less saves less")
	}
	a.Model = s.model()
	if m, ok := a.Model.Get(); ok && (m < minPart/1.1 || m > maxPart*1.1) {
		a.Unseen = append(a.Unseen, fmt.Sprintf("the curve is uncertain: %.2f of the way to the heap goal was allocated between collections, and 0.7 to 1 is usual", m))
	}
	a.curve(s, price, min(best, most))
}

func (a *Answer) choose(s *Seen, limit float64, why string) {
	a.Memory = Value{limit, true, why}
	n, why := s.goMemLimit(limit)
	a.GOMEMLIMIT = Value{n, n > 0, why}
}

// goMemLimit returns the GOMEMLIMIT within a memory limit: by the rule of package plan, less if memory that is not
// Go's needs more than that leaves. 0 = leave it alone.
func (s *Seen) goMemLimit(limit float64) (n float64, why string) {
	in := plan.Input{Go: plan.Go{Minor: s.Minor}}
	in.Limits.Memory.Soft = limits.Of(int64(limit))
	in.Limits.Memory.Hard = in.Limits.Memory.Soft
	set := &plan.Decide(&in).GOMEMLIMIT
	if set.Leave {
		return 0, "left alone: " + set.Code
	}
	n, why = float64(set.Value), "the limit without the larger of 10 % and 8 MiB"
	if other, ok := s.Other.Get(); ok && limit-other-plan.MinHeadroom < n {
		n, why = limit-other-plan.MinHeadroom, "the limit without "+mebibytes(other)+" that is not Go's, and 8 MiB"
	}
	n = math.Floor(n/mib) * mib
	if n < plan.MinValue {
		return 0, "left alone: too little for a GOMEMLIMIT"
	}
	return n, why
}

// byGOGC returns the heap goal of GOGC in bytes, +Inf if it is off. Stacks and globals, which are not seen, raise it
// (runtime/mgcpacer.go, commit); the goal that was is never above it.
func (s *Seen) byGOGC() float64 {
	if s.GOGC < 0 {
		return math.Inf(1)
	}
	part := float64(s.GOGC) / 100
	return max(s.Live.N*(1+part), 4*mib*part, s.Goal.N)
}

// goal returns the heap goal in a memory limit: the smaller one of GOGC and of GOMEMLIMIT, whose headroom is 3 % or
// 1 MiB (runtime/mgcpacer.go, memoryLimitHeapGoal).
func (s *Seen) goal(limit float64) float64 {
	g := s.byGOGC()
	if n, _ := s.goMemLimit(limit); n > 0 {
		heap := n - s.Rest.N
		g = min(g, heap-max(0.03*heap, mib))
	}
	return max(g, s.Live.N)
}

// limitFor returns the smallest memory limit whose GOMEMLIMIT lets the heap grow by extra bytes over the live heap.
func (s *Seen) limitFor(extra float64) float64 {
	heap := s.Live.N + extra
	n := max(heap/0.97, heap+mib) + s.Rest.N
	return max(n/0.9, n+s.Other.N+plan.MinHeadroom, s.least())
}

// least returns the memory limit in bytes that only what lived would fill.
func (s *Seen) least() float64 { return s.LiveMost.N + s.Rest.N + s.Other.N + plan.MinHeadroom }

// cost returns the CPU seconds of one collection.
func (s *Seen) cost() float64 { return s.GCCores.N * s.Seconds / float64(s.Collections) }

// cheapest returns the bytes over the live heap at which memory and collections cost least.
func (s *Seen) cheapest(price Price) float64 {
	return math.Sqrt(s.Allocated.N / s.part() * s.cost() * price.Core / (price.GiB / gib) * 0.97 * 0.9)
}

// cycles returns the collections a second with a heap goal; +Inf if it leaves nothing to allocate.
func (s *Seen) cycles(goal float64) float64 {
	if goal <= s.Live.N {
		return math.Inf(1)
	}
	return max(s.Allocated.N/s.part()/(goal-s.Live.N), forced)
}

// model returns the part of the way from the live heap to the goal that was allocated in a collection's cycle.
func (s *Seen) model() figure.Of[float64] {
	goal, ok := s.Goal.Get()
	if !ok || goal <= s.Live.N || s.Collections == 0 || !s.Allocated.Known() {
		return figure.Of[float64]{}
	}
	return figure.New(s.Allocated.N*s.Seconds/float64(s.Collections)/(goal-s.Live.N), "")
}

// A collection starts at 0.7 to 0.95 of the way to the goal (runtime/mgcpacer.go, minTriggerRatioNum, maxTriggerRatioNum), and the
// program allocates on while it runs.
const minPart, maxPart = 0.7, 1

// part is model within what the runtime does. It is taken to be the same in other limits.
func (s *Seen) part() float64 {
	m, ok := s.model().Get()
	if !ok {
		return maxPart
	}
	return min(max(m, minPart), maxPart)
}

// fits reports whether a heap that reaches its goal fits in a memory limit.
func (s *Seen) fits(limit float64) bool {
	return max(s.goal(limit), s.LiveMost.N)-s.LiveMost.N+s.least() <= limit
}

// curve draws the points around the answer, the cheapest one among them.
func (a *Answer) curve(s *Seen, price Price, best float64) {
	const apart = 1.19 // four rows double the limit
	all := map[float64]bool{a.Memory.N: true, best: true}
	for i := 1; i <= rows; i++ {
		all[step(a.Memory.N*math.Pow(apart, float64(i)))] = true
		all[step(a.Memory.N/math.Pow(apart, float64(i)))] = true
	}
	for m := range all {
		p := Point{Memory: m, Goal: s.goal(m), Chosen: m == a.Memory.N, Below: m < s.Used.N}
		if !p.Chosen && !s.fits(m) {
			continue // it might be killed
		}
		p.GOMEMLIMIT, _ = s.goMemLimit(m)
		p.Cycles = s.cycles(p.Goal)
		p.GCCores = p.Cycles * s.cost()
		p.Price = price.GiB*m/gib + price.Core*p.GCCores
		at := 0
		for at < len(a.Curve) && a.Curve[at].Memory < m {
			at++
		}
		a.Curve = append(a.Curve[:at], append([]Point{p}, a.Curve[at:]...)...)
	}
	least := 0
	for i := range a.Curve {
		if a.Curve[i].Price < a.Curve[least].Price {
			least = i
		}
	}
	a.Curve[least].Cheapest = true
}

// cpu decides the CPU request and limit, and GOMAXPROCS for the limit.
func (a *Answer) cpu(s *Seen) {
	high, ok1 := s.CPUHigh.Get()
	most, ok2 := s.CPUMost.Get()
	if !ok1 || !ok2 {
		why := "the CPU time used is unknown"
		a.CPURequest.Why, a.CPULimit.Why, a.GOMAXPROCS.Why = why, why, why
		return
	}
	a.CPURequest = Value{cores(high), true, "95 % of the seconds used at most this"}
	a.CPULimit = Value{cores(max(most, high)), true, "99 % of the periods of 100 ms used at most this"}
	if q, ok := s.Quota.Get(); ok && s.Throttled.N > 0 && q >= a.CPULimit.N {
		a.CPULimit = Value{q, true, fmt.Sprintf("as it is: %.1f %% of the periods were throttled, so it may want more", 100*s.Throttled.N)}
	}
	in := plan.Input{Go: plan.Go{Minor: s.Minor, Blind: !s.Aware}}
	in.Limits.CPU.Quota = limits.Of(a.CPULimit.N)
	in.Limits.CPU.Affinity = limits.Of(max(s.CPUs, int(math.Ceil(a.CPULimit.N))))
	set := &plan.Decide(&in).GOMAXPROCS
	a.GOMAXPROCS = Value{float64(set.Value), !set.Leave, "by the CPU limit: " + set.Code}
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

// cores rounds up to 0.01, from 1 core on to 0.1.
func cores(n float64) float64 {
	to := 100.0
	if n > 1 {
		to = 10
	}
	return max(0.01, math.Ceil(n*to-1e-9)/to)
}

func mebibytes(bytes float64) string { return fmt.Sprintf("%.0f MiB", math.Ceil(bytes/mib)) }
