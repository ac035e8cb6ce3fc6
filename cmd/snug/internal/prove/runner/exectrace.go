// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"fmt"
	"os"

	"github.com/snug-go/snug/cmd/snug/internal/profile/exectrace"
)

// TraceMetrics are the names of the figures of an execution trace among those that a run
// reports, in the order in which they are shown. Shares of wall time and of the Ps' time
// are told apart by name.
var TraceMetrics = []string{
	"trace_wall_seconds", "trace_gcs", "trace_stopped_seconds", "trace_stop_max_seconds",
	"trace_gc_wall_share", "trace_gc_occupancy_share", "trace_heap_peak_bytes",
}

// ofTrace reads the figures off an execution trace. What the trace does not tell is not
// among them.
func ofTrace(ctx context.Context, file string) (map[string]float64, error) {
	f, err := os.Open(file)
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
