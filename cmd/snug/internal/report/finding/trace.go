// SPDX-License-Identifier: Apache-2.0

package finding

// Trace holds the figures of one execution trace, or of two to compare.
type Trace struct {
	Head
	Traces []Traced `json:"traces"`
	Page   *string  `json:"html_file"` // where the page was written; null = not written
	Next   string   `json:"next"`
}

// Traced is one execution trace. Each group of figures has its own kind of time: wall
// time; wall time summed over goroutines; or P occupancy, the time that something held
// a P, summed over Ps. Do not add or compare across groups. None is CPU time, which a
// trace does not record: a thread that holds a P may still wait for a CPU.
type Traced struct {
	Target string `json:"target"`       // a file, an address
	Format string `json:"trace_format"` // Go release that introduced it, "go 1.26"; later ones may use it too
	// Partial says why the trace was not read to its end; null = it was.
	Partial    *string        `json:"partial"`
	Bytes      int64          `json:"read_bytes"` // unpacked
	Events     int64          `json:"events"`
	Wall       TraceWall      `json:"wall"`
	Occupancy  TraceOccupancy `json:"p_occupancy"`
	Goroutines TraceRoutines  `json:"goroutines"`
	Heap       TraceHeap      `json:"heap"`
	Procs      []TraceProcs   `json:"gomaxprocs"` // the value at the start, and each change
	Timeline   TraceTimeline  `json:"timeline"`
	Ps         TracePs        `json:"ps"`
	// CPUSamples counts samples of a CPU profile taken at the same time.
	CPUSamples int64 `json:"cpu_samples"`
	Unknown    []Gap `json:"unknown"`
}

// TraceWall are wall times.
type TraceWall struct {
	Run float64 `json:"run_seconds"` // from the first event to the last
	GCs int64   `json:"gcs"`         // collections started
	// GCRun is the share of the run time spent in collections, from the first stop of each
	// to its stop at the end of marking.
	GCRun     float64     `json:"gc_running_ratio"`
	GC        TraceTimes  `json:"gc_duration"` // of collections that ended
	Stops     TraceTimes  `json:"stop_the_world"`
	Stopped   float64     `json:"stopped_ratio"`            // share of the run time, 0 to 1
	GCStopped float64     `json:"stopped_for_gc_seconds"`   // part of stop_the_world that was for collections
	StopsBy   []TraceStop `json:"stop_the_world_by_reason"` // largest total first
}

// TraceStop is a reason to stop the world.
type TraceStop struct {
	Reason string `json:"reason"`
	GC     bool   `json:"gc"` // it is a phase of a collection
	TraceTimes
}

// TraceTimes are durations. Percentiles are exact to 1.6%; null = fewer than ten samples
// lie above.
type TraceTimes struct {
	Count     int64      `json:"count"`
	Total     float64    `json:"total_seconds"`
	Mean      *float64   `json:"mean_seconds"` // null = no samples
	P50       *float64   `json:"p50_seconds"`
	P90       *float64   `json:"p90_seconds"`
	P99       *float64   `json:"p99_seconds"`
	P999      *float64   `json:"p999_seconds"`
	Max       *float64   `json:"max_seconds"`
	Histogram *Histogram `json:"histogram"` // null = not kept
}

// TraceOccupancy is the time that Ps were held.
type TraceOccupancy struct {
	Available *float64 `json:"available_p_seconds"` // GOMAXPROCS times the run time
	// Held is, by number of P, the share of the run time that a goroutine or the scheduler
	// held it, including system calls that kept it.
	Held       []float64  `json:"held_ratio_by_p"`
	HeldAll    *float64   `json:"held_ratio"`        // of available_p_seconds
	Running    float64    `json:"running_p_seconds"` // by running goroutines, including the collector's
	GC         *float64   `json:"gc_ratio"`          // of available_p_seconds; without idle_mark
	Dedicated  float64    `json:"gc_dedicated_p_seconds"`
	Fractional float64    `json:"gc_fractional_p_seconds"`
	Assist     float64    `json:"gc_assist_p_seconds"`
	Sweep      float64    `json:"gc_sweep_p_seconds"`
	IdleMark   float64    `json:"gc_idle_mark_p_seconds"` // not in gc_ratio: it yields to the program
	MMU        []TraceMMU `json:"minimum_mutator_utilisation"`
}

// TraceMMU is the smallest share of P time that the collector left to the program in any
// window of the given length; null = the trace is shorter, or it is unknown.
type TraceMMU struct {
	Window float64  `json:"window_seconds"`
	Ratio  *float64 `json:"ratio"` // 0 to 1
}

// TraceRoutines is wall time summed over goroutines, including the runtime's.
type TraceRoutines struct {
	Created  int64         `json:"created"`
	Ended    int64         `json:"ended"`
	Peak     int           `json:"peak"`              // maximum at once
	Latency  TraceTimes    `json:"scheduler_latency"` // from runnable to running
	Runnable float64       `json:"runnable_goroutine_seconds"`
	Blocked  float64       `json:"blocked_goroutine_seconds"`
	Syscall  float64       `json:"syscall_goroutine_seconds"`
	Reasons  []TraceReason `json:"blocked_by_reason"` // only blocks that began within the trace, largest total first
}

// TraceReason is a reason for blocked goroutines: total over count blocks that ended or lasted to the end.
type TraceReason struct {
	Reason string  `json:"reason"`
	Count  int64   `json:"count"`
	Total  float64 `json:"total_goroutine_seconds"`
}

// TraceHeap is the size of objects, including dead ones not swept yet; null = not in the trace.
type TraceHeap struct {
	Peak     *uint64 `json:"peak_bytes"`
	Last     *uint64 `json:"last_bytes"`
	GoalPeak *uint64 `json:"goal_peak_bytes"`
	GoalLast *uint64 `json:"goal_last_bytes"`
}

// TraceProcs is the value of GOMAXPROCS from a time on.
type TraceProcs struct {
	At float64 `json:"at_seconds"` // since the trace began
	N  int     `json:"gomaxprocs"`
}

// TraceTimeline holds figures over time, in equal steps; a figure missing from the
// trace has no values.
type TraceTimeline struct {
	Step     float64   `json:"step_seconds"`
	HeapLow  []uint64  `json:"heap_low_bytes"`        // minimum in the step
	HeapHigh []uint64  `json:"heap_high_bytes"`       // maximum in the step
	Goal     []uint64  `json:"heap_goal_bytes"`       // at the end of the step
	GC       []float64 `json:"gc_p_occupancy_ratio"`  // share of P time, 0 to 1
	Stopped  []float64 `json:"stopped_wall_ratio"`    // share of the step, 0 to 1
	Marking  []float64 `json:"gc_running_wall_ratio"` // share of the step, 0 to 1
}

// TracePs holds what held each P over time, in equal steps: one list for each P, by number,
// of shares of the step, 0 to 1. The rest of a step the P was idle. It has at most the first
// 32 Ps.
type TracePs struct {
	Step      float64     `json:"step_seconds"`
	Program   [][]float64 `json:"program_ratio_by_p"`   // running goroutines, except those of the collector
	Collector [][]float64 `json:"collector_ratio_by_p"` // mark workers, idle ones too, assists and sweeping
	Other     [][]float64 `json:"other_ratio_by_p"`     // the scheduler, and system calls that kept the P
}
