// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"fmt"

	"github.com/snug-go/snug/cmd/snug/internal/profile/exectrace"
	"github.com/snug-go/snug/cmd/snug/internal/source/bounded"
)

// TraceMetrics are the names of an execution trace's figures in a run's Reported, in the
// order of display. The names distinguish shares of wall time from shares of the Ps'
// time.
var TraceMetrics = []string{
	"trace_wall_seconds", "trace_gcs", "trace_stopped_seconds", "trace_stop_max_seconds",
	"trace_gc_wall_share", "trace_gc_occupancy_share", "trace_heap_peak_bytes",
}

// maxTrace bounds a trace in bytes; it is read as a stream.
const maxTrace = 1 << 40

// readTrace returns the figures of an execution trace, without those that it does not
// have.
func readTrace(ctx context.Context, file string) (map[string]float64, error) {
	f, err := bounded.Open(ctx, file, bounded.Limits{Bytes: maxTrace, Unpacked: maxTrace})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := exectrace.Read(ctx, f, exectrace.Options{})
	if err == nil {
		err = s.Partial
	}
	if err != nil {
		return nil, fmt.Errorf("trace of a run: %w", err)
	}
	w := &s.Wall
	figures := map[string]float64{
		"trace_wall_seconds": w.Run.Seconds(), "trace_gcs": float64(w.GCs),
		"trace_stopped_seconds": w.Stops.Sum.Seconds(), "trace_stop_max_seconds": w.Stops.Max.Seconds(),
	}
	if w.Run > 0 {
		figures["trace_gc_wall_share"] = w.Marking.Seconds() / w.Run.Seconds()
	}
	if s.Occupancy.GC != nil {
		figures["trace_gc_occupancy_share"] = *s.Occupancy.GC
	}
	if s.Heap.Peak != nil {
		figures["trace_heap_peak_bytes"] = float64(*s.Heap.Peak)
	}
	return figures, nil
}
