// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"strings"

	"golang.org/x/exp/trace"
)

// The names of ranges, labels and metrics in package trace of x/exp. The name of a stop
// of the world ends with its reason in parentheses.
const (
	rangeMark   = "GC concurrent mark phase"
	rangeAssist = "GC mark assist"
	rangeSweep  = "GC incremental sweep"
	rangeStop   = "stop-the-world ("

	labelDedicated  = "GC (dedicated)"
	labelFractional = "GC (fractional)"
	labelIdle       = "GC (idle)"

	metricProcs = "/sched/gomaxprocs:threads"
	metricHeap  = "/memory/classes/heap/objects:bytes"
	metricGoal  = "/gc/heap/goal:bytes"
)

// event passes one event to the fold.
func (f *fold) event(e *trace.Event) {
	kind := e.Kind()
	f.at(int64(e.Time()), kind == trace.EventSync)
	switch kind {
	case trace.EventStateTransition:
		t := e.StateTransition()
		switch t.Resource.Kind {
		case trace.ResourceGoroutine:
			from, to := t.Goroutine()
			f.goroutine(t.Resource.Goroutine(), e.Proc(), from, to, t.Reason)
		case trace.ResourceProc:
			from, to := t.Proc()
			f.proc(t.Resource.Proc(), from, to)
		}
	case trace.EventRangeBegin, trace.EventRangeActive:
		r := e.Range()
		active := kind == trace.EventRangeActive
		switch r.Name {
		case rangeAssist:
			f.assist(r.Scope.Goroutine(), true)
		case rangeSweep:
			f.sweep(r.Scope.Proc(), true)
		case rangeMark:
			f.mark(true, active)
		default:
			if reason, ok := strings.CutPrefix(r.Name, rangeStop); ok && !active {
				f.stop(strings.TrimSuffix(reason, ")"))
			}
		}
	case trace.EventRangeEnd:
		switch r := e.Range(); r.Name {
		case rangeAssist:
			f.assist(r.Scope.Goroutine(), false)
		case rangeSweep:
			f.sweep(r.Scope.Proc(), false)
		case rangeMark:
			f.mark(false, false)
		default:
			if strings.HasPrefix(r.Name, rangeStop) {
				f.restart()
			}
		}
	case trace.EventMetric:
		if m := e.Metric(); m.Value.Kind() == trace.ValueUint64 {
			f.metric(m.Name, m.Value.Uint64())
		}
	case trace.EventLabel:
		if l := e.Label(); l.Resource.Kind == trace.ResourceGoroutine {
			f.label(l.Resource.Goroutine(), l.Label)
		}
	case trace.EventStackSample:
		f.samples++
	}
}
