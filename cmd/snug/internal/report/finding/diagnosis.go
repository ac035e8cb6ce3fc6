// SPDX-License-Identifier: Apache-2.0

package finding

// Severity says how much a finding matters.
type Severity string

const (
	SeverityInfo    Severity = "info"    // true, and worth knowing; no harm is shown
	SeverityWarning Severity = "warning" // costs CPU, latency or safety now
	SeverityError   Severity = "error"   // will kill or has killed the program
)

// Level orders severities: 0 for what is none of them, then SeverityInfo to SeverityError.
func (s Severity) Level() int {
	switch s {
	case SeverityInfo:
		return 1
	case SeverityWarning:
		return 2
	case SeverityError:
		return 3
	}
	return 0
}

// Finding is what is wrong, how it is known, and what to do about it.
type Finding struct {
	ID       string     `json:"id"` // stable; see `snug explain`
	Severity Severity   `json:"severity"`
	Title    string     `json:"title"`
	Target   string     `json:"target"` // "pid 4711 (server)", a file, an address
	Evidence []Evidence `json:"evidence"`
	Fix      string     `json:"fix"`    // the exact variable, code or manifest line
	Verify   string     `json:"verify"` // the command that would show whether it helps; "" = none would
}

// Unit is what the Value of an Evidence counts.
type Unit string

const (
	UnitCount      Unit = "count"
	UnitMean       Unit = "mean"        // of a count over the time that was watched
	UnitRatio      Unit = "ratio"       // 0 to 1
	UnitCores      Unit = "cores"       // CPU seconds a second
	UnitLimitCores Unit = "limit_cores" // cores; 0 = no limit
	UnitBytes      Unit = "bytes"
	UnitLimitBytes Unit = "limit_bytes" // bytes; 0 = no limit
	UnitGOGC       Unit = "gogc"        // percent; -1 = off
	UnitSeconds    Unit = "seconds"
	UnitPerSecond  Unit = "per_second"
)

// Evidence is one figure that a finding rests on.
type Evidence struct {
	What   string  `json:"what"` // the figure in words
	Value  float64 `json:"value"`
	Unit   Unit    `json:"unit"`
	Source string  `json:"source"` // where it was read: a file, "/proc/PID/mem, 11/11 votes"
	Raw    string  `json:"raw"`    // its text there; "" where it has none
}

// Worst is the severity of the worst finding; "" when there is none.
func Worst(found []Finding) Severity {
	var worst Severity
	for _, f := range found {
		if f.Severity.Level() > worst.Level() {
			worst = f.Severity
		}
	}
	return worst
}

// PS is the Go processes of a machine.
type PS struct {
	Head
	Processes []Process `json:"processes"`
	// Others counts processes that could not be looked at, by reason: what snug
	// may not read it does not pretend away.
	Others []Skipped `json:"others"`
	Next   string    `json:"next"`
}

// Skipped are processes that could not be looked at.
type Skipped struct {
	Why   string `json:"why"` // what would help
	Count int    `json:"count"`
	PIDs  []int  `json:"pids"` // up to ten of them
}

// Process is one Go process. null is none, or, where Unknown lists the field,
// unknown.
type Process struct {
	PID        int     `json:"pid"`
	Exe        string  `json:"exe"`        // path of the executable as its own file system names it; the process's name where it has none
	GoVersion  *string `json:"go_version"` // "go1.26.8"
	GOMAXPROCS *int    `json:"gomaxprocs"`
	// Source of GOMAXPROCS: "environment", "code", "runtime" (from the quota) or
	// "host" (from the CPUs there were at start).
	GOMAXPROCSSource *string   `json:"gomaxprocs_source"`
	GOMEMLIMIT       *int64    `json:"gomemlimit_bytes"` // null = none
	GOGC             *Amount   `json:"gogc_percent"`
	Live             *int64    `json:"live_heap_bytes"` // by the last collection
	Goal             *int64    `json:"heap_goal_bytes"` // at which the next one is to end; null = none
	Cycles           *int64    `json:"collections"`     // since it started
	Quota            *float64  `json:"quota_cores"`     // null = none
	Throttled        *float64  `json:"throttled_ratio"`
	Memory           *int64    `json:"memory_bytes"`       // resident
	MemoryLimit      *int64    `json:"memory_limit_bytes"` // null = none
	Findings         []Finding `json:"findings"`           // the worst first
	Unknown          []Gap     `json:"unknown"`
}

// Doctor is what is wrong with what was looked at.
type Doctor struct {
	Head
	Targets []Examined `json:"targets"`
	Next    string     `json:"next"`
}

// Worst is the severity of the worst finding of all targets.
func (d *Doctor) Worst() Severity {
	var worst Severity
	for i := range d.Targets {
		if s := Worst(d.Targets[i].Findings); s.Level() > worst.Level() {
			worst = s
		}
	}
	return worst
}

// Examined is one target, what is known of it, and what is wrong.
type Examined struct {
	Target  string   `json:"target"` // "pid 4711 (server)", a file, an address
	Kind    string   `json:"kind"`   // "process", "profile", "trace", "log" or "metrics"
	Go      *string  `json:"go_version"`
	Seconds *float64 `json:"seconds"` // watched for; null = a look, or what a file tells
	// GOMAXPROCSSource is as a Process has it, and GOMAXPROCSModule the linked module
	// that may have been the code; null = none, or unknown.
	GOMAXPROCSSource *string    `json:"gomaxprocs_source"`
	GOMAXPROCSModule *string    `json:"gomaxprocs_module"`
	Facts            []Evidence `json:"facts"`
	Findings         []Finding  `json:"findings"`
	Unknown          []Gap      `json:"unknown"`
}

// Profile is a CPU profile, sorted into causes.
type Profile struct {
	Head
	Target   string    `json:"target"`
	Source   string    `json:"source"`  // "perf" or "runtime/pprof"
	Seconds  *float64  `json:"seconds"` // it was taken for; null = the file does not say
	CPU      float64   `json:"cpu_seconds"`
	Samples  int64     `json:"samples"`
	Classes  []Class   `json:"classes"`   // the largest first
	Top      []Top     `json:"functions"` // by CPU time of their own, the largest first
	Findings []Finding `json:"findings"`
	Saved    *string   `json:"file"`      // where it was written; null = nowhere
	Page     *string   `json:"html_file"` // where the flame graph was
	Next     string    `json:"next"`
}

// Class is a cause that CPU time goes to.
type Class struct {
	ID    string  `json:"id"`
	Words string  `json:"words"`
	Ratio float64 `json:"ratio"` // of the CPU time
}

// Top is a function of the program, or of a library, and its share of the CPU time.
type Top struct {
	Function string  `json:"function"`
	Ratio    float64 `json:"ratio"`        // its own code
	Caused   float64 `json:"caused_ratio"` // and what the runtime and the kernel did for it
}
