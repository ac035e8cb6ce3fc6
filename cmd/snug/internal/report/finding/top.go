// SPDX-License-Identifier: Apache-2.0

package finding

// KindTop is the kind of a Watch.
const KindTop = "top"

// Watch is one look at the Go processes of a machine while they are watched. With
// `snug top --json` there is one of them a line.
type Watch struct {
	Head
	At        string       `json:"at"`               // RFC 3339
	Seconds   *float64     `json:"interval_seconds"` // since the look before; null = this is the first
	Machine   int          `json:"cpus"`             // CPUs of the machine; 0 = unknown
	Processes []TopProcess `json:"processes"`        // by pid
	Others    []Skipped    `json:"others"`           // what may not be looked at, as in a PS
	Selected  []string     `json:"selected"`         // the pids and names that were asked for; empty = all
	Ended     []int        `json:"ended"`            // pids that were asked for whose processes have ended; empty where names were
}

// Over reports whether all that were asked for by pid have ended: nothing more can come.
func (w *Watch) Over() bool { return len(w.Ended) > 0 && len(w.Ended) == len(w.Selected) }

// TopProcess is one process in a Watch. What is of an interval is null in the first
// look at a process. Throttled is here of the interval, and null in one in which the
// group did not run.
type TopProcess struct {
	Process
	Name      string   `json:"name"`       // of the executable, or else what the kernel calls it
	Used      *float64 `json:"used_cores"` // CPU seconds a second, over the interval
	Waiting   *float64 `json:"waiting"`    // threads that could have run and waited for a CPU, mean of the interval
	Heap      *int64   `json:"heap_bytes"` // allocated, or marked by the last collection
	Mapped    *int64   `json:"mapped_bytes"`
	Threads   int      `json:"threads"`
	CPUs      *int     `json:"cpus"`              // that it may run on
	Module    *string  `json:"gomaxprocs_module"` // linked, and may be the code that set GOMAXPROCS
	SetLimit  *string  `json:"gomemlimit_source"` // as GOMAXPROCSSource; null = the default, or unknown
	Window    *float64 `json:"window_seconds"`    // what follows is of so long, at most 30
	PerMinute *float64 `json:"gc_per_minute"`     // collections
	GC        *float64 `json:"gc_cpu_ratio"`      // share of its CPU time that they took; null = none ended in the window
	Paused    *float64 `json:"pause_ratio"`       // share of the time that all goroutines were stopped by collections
	MeanPause *float64 `json:"pause_seconds"`     // stopped for each collection, mean
	Busy      *float64 `json:"busy_ps"`           // Ps that were not idle, mean of the looks; spinning ones too
	Spinning  *float64 `json:"spinning_ps"`       // Ps that looked for work
	Idle      *float64 `json:"idle_ps"`
}
