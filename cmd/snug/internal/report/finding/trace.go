// SPDX-License-Identifier: Apache-2.0

package finding

// Trace is what execution traces say: of one, or of two to be compared.
type Trace struct {
	Head
	Traces []Traced `json:"traces"`
	Page   *string  `json:"html_file"` // where the page was written; null = nowhere
	Next   string   `json:"next"`
}

// Traced is one execution trace. Its figures are in groups of one kind of time each,
// which must not be added or compared across: wall time; wall time added up over
// goroutines; P-occupancy, which is for how long something held a P, added up over Ps.
// A thread that holds a P may still wait for a CPU: none of them is CPU time, of which
// a trace knows nothing.
type Traced struct {
	Target string `json:"target"`       // a file, an address
	Format string `json:"trace_format"` // the Go release that brought it, "go 1.26"; later ones write it too
	// Partial is why the trace was not read to its end; null = it was.
	Partial    *string        `json:"partial"`
	Bytes      int64          `json:"read_bytes"` // unpacked
	Events     int64          `json:"events"`
	Wall       TraceWall      `json:"wall"`
	Occupancy  TraceOccupancy `json:"p_occupancy"`
	Goroutines TraceRoutines  `json:"goroutines"`
	Heap       TraceHeap      `json:"heap"`
	Procs      []TraceProcs   `json:"gomaxprocs"` // at the start, and its changes
	Timeline   TraceTimeline  `json:"timeline"`
	// CPUSamples are those of a CPU profile that ran at the same time.
	CPUSamples int64 `json:"cpu_samples"`
	Unknown    []Gap `json:"unknown"`
}

// TraceWall are wall times.
type TraceWall struct {
	Run float64 `json:"run_seconds"` // from the first event to the last
	GCs int64   `json:"gcs"`         // collections that began
	// GCRun is the part of the run time that collections were under way, from the stop at
	// their begin to that at the end of marking.
	GCRun     float64     `json:"gc_running_ratio"`
	GC        TraceTimes  `json:"gc_duration"` // of those that ended
	Stops     TraceTimes  `json:"stop_the_world"`
	Stopped   float64     `json:"stopped_ratio"` // of the run time
	GCStopped float64     `json:"stopped_for_gc_seconds"`
	StopsBy   []TraceStop `json:"stop_the_world_by_reason"` // the longest sum first
}

// TraceStop is a reason to stop the world.
type TraceStop struct {
	Reason string `json:"reason"`
	GC     bool   `json:"gc"`
	TraceTimes
}

// TraceTimes are durations. A percentile is null where fewer than ten samples lie above
// it, and exact to 1.6 %.
type TraceTimes struct {
	Count     int64      `json:"count"`
	Total     float64    `json:"total_seconds"`
	Mean      *float64   `json:"mean_seconds"` // null = there are none
	P50       *float64   `json:"p50_seconds"`
	P90       *float64   `json:"p90_seconds"`
	P99       *float64   `json:"p99_seconds"`
	P999      *float64   `json:"p999_seconds"`
	Max       *float64   `json:"max_seconds"`
	Histogram *Histogram `json:"histogram"` // null = not kept
}

// TraceOccupancy is how long Ps were held.
type TraceOccupancy struct {
	Available *float64 `json:"available_p_seconds"` // GOMAXPROCS times the run time
	// Held is by number of P: the share of the run time that a goroutine or the scheduler
	// had it, also while a system call lasted that did not give it back.
	Held       []float64  `json:"held_ratio_by_p"`
	HeldAll    *float64   `json:"held_ratio"` // of available_p_seconds
	Running    float64    `json:"running_p_seconds"`
	GC         *float64   `json:"gc_ratio"` // of available_p_seconds; without idle_mark
	Dedicated  float64    `json:"gc_dedicated_p_seconds"`
	Fractional float64    `json:"gc_fractional_p_seconds"`
	Assist     float64    `json:"gc_assist_p_seconds"`
	Sweep      float64    `json:"gc_sweep_p_seconds"`
	IdleMark   float64    `json:"gc_idle_mark_p_seconds"`
	MMU        []TraceMMU `json:"minimum_mutator_utilisation"`
}

// TraceMMU is the least share of P time that the collector left to the program in any
// window of a length; null = the trace is shorter than that, or it is not known.
type TraceMMU struct {
	Window float64  `json:"window_seconds"`
	Ratio  *float64 `json:"ratio"`
}

// TraceRoutines is wall time added up over goroutines, those of the runtime among them.
type TraceRoutines struct {
	Created  int64         `json:"created"`
	Ended    int64         `json:"ended"`
	Peak     int           `json:"peak"`
	Latency  TraceTimes    `json:"scheduler_latency"` // from runnable to running
	Runnable float64       `json:"runnable_goroutine_seconds"`
	Blocked  float64       `json:"blocked_goroutine_seconds"`
	Syscall  float64       `json:"syscall_goroutine_seconds"`
	Reasons  []TraceReason `json:"blocked_by_reason"` // of what began within the trace, the longest sum first
}

// TraceReason is why goroutines were blocked.
type TraceReason struct {
	Reason string  `json:"reason"`
	Count  int64   `json:"count"`
	Total  float64 `json:"total_goroutine_seconds"`
}

// TraceHeap are bytes of objects, those among them that are dead and not swept yet.
type TraceHeap struct {
	Peak     *uint64 `json:"peak_bytes"`
	Last     *uint64 `json:"last_bytes"`
	GoalPeak *uint64 `json:"goal_peak_bytes"`
	GoalLast *uint64 `json:"goal_last_bytes"`
}

// TraceProcs is GOMAXPROCS from a time on.
type TraceProcs struct {
	At float64 `json:"at_seconds"` // since the trace began
	N  int     `json:"gomaxprocs"`
}

// TraceTimeline is the course of some figures, in equal steps; a figure that the trace
// does not tell has no values.
type TraceTimeline struct {
	Step     float64   `json:"step_seconds"`
	HeapLow  []uint64  `json:"heap_low_bytes"`
	HeapHigh []uint64  `json:"heap_high_bytes"`
	Goal     []uint64  `json:"heap_goal_bytes"`
	GC       []float64 `json:"gc_p_occupancy_ratio"`
	Stopped  []float64 `json:"stopped_wall_ratio"`
	Marking  []float64 `json:"gc_running_wall_ratio"`
}
