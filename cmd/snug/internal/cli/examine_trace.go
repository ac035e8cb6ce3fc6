// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"io"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/profile/exectrace"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// tracedFacts takes from an execution trace what rules go by: wall time, and for how long
// Ps were held, of which neither is CPU time. cut says why the trace was not read to its
// end, "" if it was.
func tracedFacts(ctx context.Context, f *rules.Facts, r io.Reader) (cut string, err error) {
	t, err := traceFacts(ctx, r, f.Target, func(exectrace.Progress) {})
	if err != nil {
		return "", traceFailure(err)
	}
	if t.Partial != nil {
		cut = *t.Partial
	}
	ofTrace(f, t)
	return cut, nil
}

func ofTrace(f *rules.Facts, t *finding.Traced) {
	const clock, held, told = "execution trace, wall time", "execution trace, P-occupancy", "execution trace"
	num := func(v float64, from string) *rules.Num { return &rules.Num{V: v, Source: from} }
	bytes := func(v *uint64) *rules.Num {
		if v == nil {
			return nil
		}
		return num(float64(*v), told)
	}
	w, o := &t.Wall, &t.Occupancy
	f.Seconds = &rules.Num{V: w.Run}
	f.HeapPeak, f.Goal = bytes(t.Heap.Peak), bytes(t.Heap.GoalLast)
	if n := len(t.Procs); n > 0 {
		f.Procs = num(float64(t.Procs[n-1].N), told)
	}
	if p := t.Goroutines.Latency.P99; p != nil {
		f.RunWait = num(*p, clock)
	}
	if o.GC != nil {
		f.GCHeld = num(*o.GC, held)
	}
	if w.Run > 0 {
		f.Cycles, f.Stopped = num(float64(w.GCs)/w.Run, told), num(w.Stopped, clock)
		if o.HeldAll != nil {
			f.Busy = num(*o.HeldAll**o.Available/w.Run, held)
		}
	}
}
