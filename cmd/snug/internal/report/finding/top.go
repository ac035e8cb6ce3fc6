// SPDX-License-Identifier: Apache-2.0

package finding

import "github.com/snug-go/snug/cmd/snug/internal/figure"

// Watch is one sample of the Go processes of a machine. `snug top --json` prints one per line.
type Watch struct {
	Head
	At        string       `json:"at"`               // RFC 3339
	Seconds   *float64     `json:"interval_seconds"` // since the previous sample; null = this is the first
	Machine   int          `json:"cpus"`             // CPUs of the machine; 0 = unknown
	Processes []TopProcess `json:"processes"`        // by pid
	Others    []Skipped    `json:"others"`           // processes that could not be inspected, as in json:ps
	// Unsupported lists processes with Go in a library, and programs of gccgo.
	Unsupported []Unsupported `json:"unsupported"`
	Selected    []string      `json:"selected"` // the pids and names you asked for; empty = all
	Ended       []int         `json:"ended"`    // selected pids whose processes have ended; empty if you selected names
}

// Over reports whether all processes selected by pid have ended.
func (w *Watch) Over() bool { return len(w.Ended) > 0 && len(w.Ended) == len(w.Selected) }

// TopProcess is one process of a sample. Figures over an interval are "none" in the first sample
// of a process. throttled_ratio covers the interval, and is "none" if the cgroup did not run in it.
type TopProcess struct {
	Process
	Name      string             `json:"name"`         // of the executable, or the kernel's name for the process
	Used      figure.Of[float64] `json:"used_cores"`   // CPU seconds per second, over the interval
	Waiting   figure.Of[float64] `json:"waiting"`      // runnable threads waiting for a CPU, mean over the interval
	Heap      figure.Of[int64]   `json:"heap_bytes"`   // allocated, or marked by the last collection
	Mapped    figure.Of[int64]   `json:"mapped_bytes"` // memory that Go holds from the kernel
	Threads   int                `json:"threads"`
	CPUs      figure.Of[int]     `json:"cpus"`                 // in its affinity mask
	Module    *string            `json:"gomaxprocs_module"`    // linked module that may have set GOMAXPROCS; null = none
	SetLimit  *string            `json:"gomemlimit_source"`    // same words as gomaxprocs_source; null = the default, or unknown
	Window    figure.Of[float64] `json:"window_seconds"`       // length that the fields below cover, at most 30
	PerMinute figure.Of[float64] `json:"gc_per_minute"`        // collections
	GC        figure.Of[float64] `json:"gc_cpu_ratio"`         // share of its CPU time spent in them, 0 to 1; none = no collection ended in the window
	Paused    figure.Of[float64] `json:"pause_ratio"`          // share of time that collections stopped all goroutines, 0 to 1
	MeanPause figure.Of[float64] `json:"pause_seconds"`        // stopped per collection, mean
	Lately    figure.Of[Spread]  `json:"window_sched_latency"` // sched_latency over the window; none = none was measured, or sched_latency is unknown
	Stopped   figure.Of[Spread]  `json:"window_gc_stops"`      // gc_stops over the window; none = no collection ended, or gc_stops is unknown
	Busy      figure.Of[float64] `json:"busy_ps"`              // Ps not idle, including spinning ones, mean over samples
	Spinning  figure.Of[float64] `json:"spinning_ps"`          // Ps looking for work
	Idle      figure.Of[float64] `json:"idle_ps"`              // idle Ps, mean over samples
}
