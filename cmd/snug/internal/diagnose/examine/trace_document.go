// SPDX-License-Identifier: Apache-2.0

package examine

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/profile/exectrace"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// maxWaits bounds the blocking reasons in a document.
const maxWaits = 16

// traced returns the document of a trace.
func traced(target string, s *exectrace.Summary) *finding.Traced {
	w, o, g := &s.Wall, &s.Occupancy, &s.Goroutines
	run := w.Run.Seconds()
	ratio := func(d time.Duration) float64 { return min(d.Seconds()/run, 1) }
	t := &finding.Traced{
		Target: target, Format: "go 1." + strconv.Itoa(s.Format), Bytes: s.Bytes, Events: s.Events, CPUSamples: s.CPUSamples,
		Wall: finding.TraceWall{
			Run: run, GCs: w.GCs, GCRun: ratio(w.Marking), GC: times(&w.Marks, true),
			Stops: times(&w.Stops, true), Stopped: ratio(w.Stops.Sum), GCStopped: w.GCStopped().Seconds(),
			StopsBy: []finding.TraceStop{},
		},
		Occupancy: finding.TraceOccupancy{
			Running: o.Running.Seconds(), Dedicated: o.Dedicated.Seconds(), Fractional: o.Fractional.Seconds(),
			Assist: o.Assist.Seconds(),
			Sweep:  o.Sweep.Seconds(), IdleMark: o.Idle.Seconds(), GC: o.GC, Held: []float64{}, MMU: []finding.TraceMMU{},
		},
		Goroutines: finding.TraceRoutines{
			Created: g.Created, Ended: g.Ended, Peak: g.Peak, Latency: times(&g.Latency, true),
			Runnable: g.Runnable.Seconds(), Blocked: g.Blocked.Seconds(), Syscall: g.Syscall.Seconds(),
			Reasons: []finding.TraceReason{},
		},
		Heap: finding.TraceHeap{Peak: s.Heap.Peak, Last: s.Heap.Last, GoalPeak: s.Heap.GoalPeak,
			GoalLast: s.Heap.GoalLast},
		Procs:    []finding.TraceProcs{},
		Timeline: course(&s.Timeline),
		Ps: finding.TracePs{Step: s.Ps.Step.Seconds(), Program: rounded(s.Ps.Program),
			Collector: rounded(s.Ps.Collector), Other: rounded(s.Ps.Other)},
		Unknown: []finding.Gap{},
	}
	if s.Partial != nil {
		t.Partial = new(whyPartial(s.Partial))
	}
	for i := range w.StopsBy {
		b := &w.StopsBy[i]
		t.Wall.StopsBy = append(t.Wall.StopsBy,
			finding.TraceStop{Reason: finding.UTF8(b.Reason), GC: b.GC, TraceTimes: times(&b.Distribution, false)})
	}
	all := 0.0
	for _, held := range o.Held {
		all += held.Seconds()
		t.Occupancy.Held = append(t.Occupancy.Held, ratio(held))
	}
	if o.Available > 0 {
		t.Occupancy.Available = new(o.Available.Seconds())
		t.Occupancy.HeldAll = new(min(all/o.Available.Seconds(), 1))
	}
	for i, u := range o.MMU {
		t.Occupancy.MMU = append(t.Occupancy.MMU, finding.TraceMMU{Window: exectrace.Windows[i].Seconds(), Ratio: u})
	}
	for _, r := range g.Reasons[:min(len(g.Reasons), maxWaits)] {
		t.Goroutines.Reasons = append(t.Goroutines.Reasons,
			finding.TraceReason{Reason: finding.UTF8(r.Reason), Count: r.Count, Total: r.Total.Seconds()})
	}
	for _, p := range s.Procs {
		t.Procs = append(t.Procs, finding.TraceProcs{At: p.At.Seconds(), N: p.N})
	}
	if len(s.Procs) == 0 {
		t.Unknown = append(t.Unknown, finding.Gap{Field: "gomaxprocs", File: target,
			Why: "it is not in the trace, and the shares of the Ps need it"})
	}
	if s.Heap.Peak == nil {
		t.Unknown = append(t.Unknown, finding.Gap{Field: "heap", File: target,
			Why: "the program did not allocate enough within the trace"})
	}
	return t
}

// whyPartial returns why a trace ended early.
func whyPartial(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "it was interrupted"
	case errors.Is(err, exectrace.ErrCutOff):
		return "it is cut off or damaged after that"
	}
	return finding.UTF8(err.Error())
}

// times returns durations for a document, with or without their histogram.
func times(d *exectrace.Distribution, histogram bool) finding.TraceTimes {
	t := finding.TraceTimes{Count: d.Count, Total: d.Sum.Seconds()}
	for i, to := range []**float64{&t.P50, &t.P90, &t.P99, &t.P999} {
		if q := d.Quantiles[i]; q != nil {
			*to = new(q.Seconds())
		}
	}
	if d.Count == 0 {
		return t
	}
	t.Mean, t.Max = new(d.Mean().Seconds()), new(d.Max.Seconds())
	if histogram {
		t.Histogram = &finding.Histogram{}
		for _, c := range d.Classes {
			t.Histogram.Seconds = append(t.Histogram.Seconds, (c.Below - 1).Seconds())
			t.Histogram.Counts = append(t.Histogram.Counts, c.Count)
		}
	}
	return t
}

func course(l *exectrace.Timeline) finding.TraceTimeline {
	t := finding.TraceTimeline{
		Step: l.Step.Seconds(), HeapLow: []uint64{}, HeapHigh: []uint64{}, Goal: []uint64{}, GC: []float64{},
		Stopped: []float64{}, Marking: []float64{},
	}
	short := func(x float64) float64 { return math.Round(x*1e4) / 1e4 }
	for _, p := range l.Points {
		if l.HasHeap {
			t.HeapLow, t.HeapHigh = append(t.HeapLow, p.HeapLow), append(t.HeapHigh, p.HeapHigh)
		}
		if l.HasGoal {
			t.Goal = append(t.Goal, p.Goal)
		}
		if l.HasProcs {
			t.GC = append(t.GC, short(p.GC))
		}
		t.Stopped, t.Marking = append(t.Stopped, short(p.Stopped)), append(t.Marking, short(p.Marking))
	}
	return t
}

// rounded rounds shares to a tenth of a percent, which no drawing shows.
func rounded(all [][]float64) [][]float64 {
	out := make([][]float64, len(all))
	for p, shares := range all {
		out[p] = make([]float64, len(shares))
		for i, x := range shares {
			out[p][i] = math.Round(x*1e3) / 1e3
		}
	}
	return out
}
