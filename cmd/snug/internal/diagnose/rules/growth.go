// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"math"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

const (
	// soon is the time to the memory limit in seconds below which growth is a warning.
	soon = 3600
	// startUp is the age in seconds below which a collection may have seen only the start.
	startUp = 180
	// young is the age in seconds below which growth is taken for a start.
	young = 60
)

// KeptMost reports whether the last collection kept so much of the heap that what grows after it is
// not taken for garbage. A heap that does not grow keeps 1/(1+GOGC/100), half with GOGC=100; the
// bound is halfway from there to all of it.
func (f *Facts) KeptMost() bool {
	still := 0.5
	if g := num(f.GOGC); g >= 0 {
		still = 1 / (1 + g/100)
	}
	return num(f.Kept) >= (1+still)/2
}

// keepLess is the fix for a heap that grows.
const keepLess = "keep less: a larger limit only delays the end. " +
	"Two heap profiles some minutes apart show what grows: go tool pprof -sample_index=inuse_space -base FIRST SECOND"

// heapProfile is the source of what holds the live heap.
const heapProfile = "the heap profile in its memory"

// growth is memory that grows, and the room it has.
type growth struct {
	*Trend
	what string
	room float64 // bytes to grow by until the limit; NaN = unknown or none
	fix  string
}

// fastest returns the growth that reaches the limit first; the first if there is no limit. It is
// nil if nothing grows.
func (f *Facts) fastest() *growth {
	left := num(f.MemHard) - num(f.MemUsed)
	inGo := keepLess
	if !f.KeptMost() {
		inGo = "look for goroutines that never end, whose stacks are in it: /debug/pprof/goroutine?debug=1 counts them"
	}
	all := []growth{
		{f.LiveGrowth, "the live heap grows by", f.liveRoom(), keepLess},
		{f.GoGrowth, "memory that Go holds grows by", left, inGo},
		{f.OtherGrowth, "memory that is not Go's grows by", left,
			"look at code in C and at mmap: neither the collector nor GOMEMLIMIT knows of this memory"},
	}
	var worst *growth
	for i := range all {
		g := &all[i]
		if g.Trend == nil || i == 1 && all[0].Trend != nil { // of which the live heap is a part
			continue
		}
		if worst == nil || g.room/g.Max < worst.room/worst.Max {
			worst = g
		}
	}
	return worst
}

// liveRoom returns by how many bytes the live heap may grow. At the limit of the container the heap
// peaks at its goal: twice the live heap with GOGC=100, and less where GOMEMLIMIT sets it.
func (f *Facts) liveRoom() float64 {
	ceiling := num(f.MemHard) - f.other()
	most := ceiling / (1 + max(0, num(f.GOGC))/100)
	if m := num(f.MemLimit); m > 0 {
		most = max(most, min(m, ceiling))
	}
	return most - num(f.Live)
}

func memoryGrowth(f *Facts) *result {
	g := f.fastest()
	if g == nil {
		return nil
	}
	res := &result{
		severity: finding.SeverityInfo,
		evidence: []finding.Evidence{{
			What: g.what, Value: g.PerSecond, Unit: finding.UnitBytesRate,
			Source: units.Bytes(int64(g.Min)) + "/s to " + units.Bytes(int64(g.Max)) + "/s, " + g.From,
		}},
		fix: g.fix,
	}
	if first, last := max(0, g.room/g.Max), max(0, g.room/g.Min); first >= 0 && !math.IsInf(last, 0) {
		res.evidence = append(res.evidence, finding.Evidence{
			What: "at the memory limit in", Value: max(0, g.room/g.PerSecond), Unit: finding.UnitSeconds,
			Source: units.Duration(first) + " to " + units.Duration(last) + " if it goes on like this",
		})
		sure := float64(young)
		if g.Trend == f.GoGrowth && f.KeptMost() {
			sure = startUp
		}
		if first < soon && !(num(f.Age) < sure) {
			res.severity = finding.SeverityWarning
		}
	}
	res.evidence = append(res.evidence, f.saw(live, kept, mapped, memUsed, memHard, age)...)
	if g.fix == keepLess {
		for _, h := range f.Holding {
			owner := ""
			if h.For != "" {
				owner = " for " + h.For
			}
			res.evidence = append(res.evidence, h.evidence("live, allocated in ", owner, finding.UnitBytes, heapProfile))
		}
		if len(f.Holding) > 0 {
			res.fix = "keep less: a larger limit only delays the end; most of what is live was allocated in " +
				f.Holding[0].in()
		}
	}
	f.youth(res)
	return res
}

// manyGoroutines is a number of goroutines whose growth is a warning.
const manyGoroutines = 10_000

func goroutineGrowth(f *Facts) *result {
	t := f.GoroutineGrowth
	if t == nil {
		return nil
	}
	res := &result{
		severity: finding.SeverityInfo,
		evidence: append(t.evidence("goroutines grow by"), f.saw(goroutines, age)...),
		fix:      "let each goroutine end: with its request (context), or when its channel is closed",
	}
	for _, h := range f.Creators {
		more := h.evidence("more of ", "", finding.UnitCount, "goroutines that it started")
		res.evidence = append(res.evidence, more)
	}
	if len(f.Creators) > 0 {
		res.fix += "; most of them are started by " + f.Creators[0].in()
	}
	if num(f.Goroutines) >= manyGoroutines {
		res.severity = finding.SeverityWarning
	}
	f.youth(res)
	return res
}

// evidence returns the growth of something that is counted.
func (t *Trend) evidence(what string) []finding.Evidence {
	return []finding.Evidence{{What: what, Value: t.PerSecond, Unit: finding.UnitPerSecond, Source: t.From}}
}

// in names a holder and its place.
func (h *Holder) in() string { return placed(h.Function, h.At) }

// evidence returns what a holder has, with words before and after its name.
func (h *Holder) evidence(before, after string, unit finding.Unit, source string) finding.Evidence {
	return finding.Evidence{What: before + h.Function + after, Value: h.N, Unit: unit, Source: source, Raw: h.At}
}

func threadGrowth(f *Facts) *result {
	t := f.ThreadGrowth
	if t == nil {
		return nil
	}
	res := &result{
		severity: finding.SeverityWarning,
		evidence: append(t.evidence("threads grow by"), f.saw(gomaxprocs, age)...),
		fix: "bound how many goroutines are in a blocking system call or in C at a time: " +
			"each keeps a thread, and Go does not end threads",
	}
	f.youth(res)
	return res
}

// youth takes growth at the start for what it mostly is.
func (f *Facts) youth(res *result) {
	if num(f.Age) < young {
		res.severity = finding.SeverityInfo
		res.fix = "look again when it has run for some minutes: a program that starts grows. If it still does, " + res.fix
	}
}
