// SPDX-License-Identifier: Apache-2.0

package finding

import (
	"path"
	"strconv"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
)

// Severity is the importance of a finding.
type Severity string

const (
	SeverityInfo    Severity = "info"    // worth knowing; no harm is shown
	SeverityWarning Severity = "warning" // costs CPU, latency or safety now
	SeverityError   Severity = "error"   // will kill or has killed the program
)

// Level orders severities: SeverityInfo is 1, SeverityError 3, any other value 0.
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

// Finding says what is wrong, by which evidence, and how to fix it.
type Finding struct {
	ID       string     `json:"id"` // stable; see `snug explain`
	Severity Severity   `json:"severity"`
	Title    string     `json:"title"`
	Target   string     `json:"target"` // "pid 4711 (server)", a file, an address
	Evidence []Evidence `json:"evidence"`
	Fix      string     `json:"fix"`    // the exact variable, code or manifest line
	Verify   string     `json:"verify"` // the command that shows whether the fix helps; "" = there is none
}

// Unit is the unit of Evidence.Value.
type Unit string

const (
	UnitCount      Unit = "count"
	UnitMean       Unit = "mean"        // mean of a count over the time watched
	UnitRatio      Unit = "ratio"       // 0 to 1
	UnitCores      Unit = "cores"       // CPU seconds per second
	UnitLimitCores Unit = "limit_cores" // cores; 0 = no limit
	UnitBytes      Unit = "bytes"
	UnitLimitBytes Unit = "limit_bytes" // bytes; 0 = no limit
	UnitGOGC       Unit = "gogc"        // percent; -1 = off
	UnitSeconds    Unit = "seconds"
	UnitPerSecond  Unit = "per_second"
	UnitBytesRate  Unit = "bytes_per_second"
)

// Evidence is one figure behind a finding.
type Evidence struct {
	What   string  `json:"what"` // the figure in words
	Value  float64 `json:"value"`
	Unit   Unit    `json:"unit"`
	Source string  `json:"source"` // where it was read: a file, "/proc/PID/mem, 11/11 votes"
	Raw    string  `json:"raw"`    // its text in the source; "" = none
}

// Gravest returns the first finding of the highest severity; nil without any.
func Gravest(found []Finding) *Finding {
	worst := Worst(found)
	for i := range found {
		if found[i].Severity == worst {
			return &found[i]
		}
	}
	return nil
}

// Worst returns the highest severity of the findings; "" without findings.
func Worst(found []Finding) Severity {
	return worst(found, func(f *Finding) Severity { return f.Severity })
}

func worst[T any](all []T, of func(*T) Severity) (most Severity) {
	for i := range all {
		if s := of(&all[i]); s.Level() > most.Level() {
			most = s
		}
	}
	return most
}

// Warned counts those whose severity is a warning or worse.
func Warned[T any](all []T, of func(*T) Severity) (n int) {
	for i := range all {
		if of(&all[i]).Level() >= SeverityWarning.Level() {
			n++
		}
	}
	return n
}

// PS lists the Go processes of a machine.
type PS struct {
	Head
	Processes []Process `json:"processes"`
	// Unsupported lists processes with Go in a library, and programs of gccgo.
	Unsupported []Unsupported `json:"unsupported"`
	// Others counts the processes that could not be inspected, by reason.
	Others []Skipped `json:"others"`
	Next   string    `json:"next"`
}

// Unsupported is a process with a Go runtime that snug does not read.
type Unsupported struct {
	PID       int     `json:"pid"`
	Exe       string  `json:"exe"`        // path of the executable
	Why       string  `json:"why"`        // in a few words: the file with the Go code, and what it is
	GoVersion *string `json:"go_version"` // "go1.26.8"; null = unknown
}

// String returns a line that may hold any characters.
func (u *Unsupported) String() string {
	return "unsupported: process " + strconv.Itoa(u.PID) + " (" + path.Base(u.Exe) + "): " + u.Why
}

// Skipped counts processes that could not be inspected, for one reason.
type Skipped struct {
	Why    string `json:"why"`    // what would help, or why a read failed
	Failed bool   `json:"failed"` // a read failed: no permission would help
	Count  int    `json:"count"`
	PIDs   []int  `json:"pids"` // up to ten of them
}

// Process is one Go process.
type Process struct {
	PID int `json:"pid"`
	// path of the executable in the process's own file system; the process name if it has no path
	Exe        string            `json:"exe"`
	GoVersion  figure.Of[string] `json:"go_version"` // "go1.26.8"
	GOMAXPROCS figure.Of[int]    `json:"gomaxprocs"` // 1 or more
	// Source of GOMAXPROCS: "environment", "code", "runtime" (from the quota) or
	// "host" (from the CPUs at start).
	GOMAXPROCSSource figure.Of[string] `json:"gomaxprocs_source"`
	GOMEMLIMIT       figure.Of[int64]  `json:"gomemlimit_bytes"`
	GOGC             figure.Of[Amount] `json:"gogc_percent"`    // or "off"
	Live             figure.Of[int64]  `json:"live_heap_bytes"` // marked by the last collection
	Goal             figure.Of[int64]  `json:"heap_goal_bytes"` // heap size at which the next collection should end
	Cycles           figure.Of[int64]  `json:"collections"`     // since it started
	Goroutines       figure.Of[int]    `json:"goroutines"`      // without the runtime's own
	// how long goroutines were runnable before they ran, since it started; Go measures one time in eight. None = none
	// was measured
	Latency figure.Of[Spread] `json:"sched_latency"`
	// how long each stop of all goroutines for a collection took, since it started; a collection has two. None = no
	// collection yet
	Stops       figure.Of[Spread]  `json:"gc_stops"`
	Quota       figure.Of[float64] `json:"quota_cores"`
	Throttled   figure.Of[float64] `json:"throttled_ratio"` // throttled periods over periods, 0 to 1
	Memory      figure.Of[int64]   `json:"memory_bytes"`    // resident
	MemoryLimit figure.Of[int64]   `json:"memory_limit_bytes"`
	Findings    []Finding          `json:"findings"` // worst first
	Unknown     []Gap              `json:"unknown"`
}

// Spread sums up durations that the runtime counts in buckets. The times are upper bounds of
// buckets: at most 25 % above the exact quantile, or 64 ns.
type Spread struct {
	Count int64   `json:"count"`
	P50   float64 `json:"p50_seconds"` // half of them are shorter
	P99   float64 `json:"p99_seconds"` // 99 of 100 are shorter
	Max   float64 `json:"max_seconds"` // all are shorter
	// Below holds, for the metrics of the agent, how many are shorter than each of its bounds.
	Below []uint64 `json:"-"`
}

// Doctor holds the findings of `snug doctor`, by target.
type Doctor struct {
	Head
	Targets []Examined `json:"targets"`
	Next    string     `json:"next"`
}

// Worst returns the highest severity among the findings of all targets; "" without any.
func (d *Doctor) Worst() Severity {
	return worst(d.Targets, func(t *Examined) Severity { return Worst(t.Findings) })
}

// Examined is one target with its facts and findings.
type Examined struct {
	Target  string   `json:"target"` // "pid 4711 (server)", a file, an address
	Kind    string   `json:"kind"`   // "process", "profile", "trace", "log" or "metrics"
	Go      *string  `json:"go_version"`
	Seconds *float64 `json:"seconds"` // time watched; null = a single look, or a file
	// As in json:ps.
	GOMAXPROCSSource *string `json:"gomaxprocs_source"`
	// linked module that may have set it if the source is "code"; null = none, or unknown
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
	Seconds  *float64  `json:"seconds"` // duration; null = the file does not say
	CPU      float64   `json:"cpu_seconds"`
	Samples  int64     `json:"samples"`
	Classes  []Class   `json:"classes"`   // largest first
	Top      []Top     `json:"functions"` // by their own CPU time, largest first
	Findings []Finding `json:"findings"`
	Saved    *string   `json:"file"`      // where the profile was written; null = not written
	PGO      bool      `json:"pgo"`       // go build -pgo can use it: it has the lines on which functions begin
	Page     *string   `json:"html_file"` // where the flame graph was written; null = not written
	Next     string    `json:"next"`
}

// Class is a cause of CPU time.
type Class struct {
	ID    string  `json:"id"`
	Words string  `json:"words"`
	Ratio float64 `json:"ratio"` // share of the CPU time, 0 to 1
}

// Top is a function of the program or of a library, with its share of the CPU time.
type Top struct {
	Function string  `json:"function"`
	Ratio    float64 `json:"ratio"`        // its own code, 0 to 1
	Caused   float64 `json:"caused_ratio"` // its own code and the runtime's and kernel's work for it, 0 to 1
}

// Heap is a program's own memory profile, read from outside or from a file. All amounts are estimates from the
// allocations that the runtime has sampled.
type Heap struct {
	Head
	Target string `json:"target"`
	Source string `json:"source"` // where it was found
	// MemProfileRate: the mean number of bytes between two sampled allocations; 1 = all are sampled, 0 = unknown
	Rate int64 `json:"rate_bytes"`
	// SinceStart reports that no collection has completed yet, so that all allocations are shown
	// as live.
	SinceStart bool     `json:"since_start"`
	Live       int64    `json:"live_bytes"` // at the last completed collection
	Objects    int64    `json:"live_objects"`
	Samples    int64    `json:"samples"` // live objects that were sampled
	Stacks     int      `json:"stacks"`  // call stacks that hold live objects
	Top        []Holder `json:"holders"` // those that hold most, largest first
	Saved      *string  `json:"file"`    // where the profile was written; null = not written
	Page       *string  `json:"html_file"`
	Next       string   `json:"next"`
}

// Holder is a call stack that allocated live objects.
type Holder struct {
	Live      int64   `json:"live_bytes"`
	Ratio     float64 `json:"ratio"` // of all live bytes, 0 to 1
	Objects   int64   `json:"live_objects"`
	Samples   int64   `json:"samples"`         // the fewer, the more uncertain
	Allocated int64   `json:"allocated_bytes"` // since the start
	Stack     []Call  `json:"stack"`           // innermost first
}

// Call is a function on a stack.
type Call struct {
	Function string `json:"function"`
	File     string `json:"file"` // "" = unknown
	Line     int    `json:"line"` // 0 = unknown
}

// Goroutines are the goroutines of a program, read from outside one after the other, or from a file.
type Goroutines struct {
	Head
	Target  string `json:"target"`
	Source  string `json:"source"` // where the list was found
	Total   int    `json:"goroutines"`
	Runtime *int   `json:"runtime_goroutines"` // the runtime's own, not in goroutines; null = unknown
	Unread  int    `json:"unread"`             // changed with every read
	// not looked at, because they are too many; groups are those of the others
	Left   int              `json:"left"`
	States []GoroutineState `json:"states"` // most first; none = unknown
	Stacks int              `json:"groups_total"`
	Groups []GoroutineGroup `json:"groups"` // the largest, largest first
	Saved  *string          `json:"file"`   // where the profile was written; null = not written
	Page   *string          `json:"html_file"`
	Next   string           `json:"next"`
}

// GoroutineState counts goroutines by state.
type GoroutineState struct {
	State string `json:"state"` // the reason why they wait, or "running", "runnable", "syscall", "preempted"
	Count int    `json:"count"`
}

// GoroutineGroup is a number of goroutines in one state, with the same calls and creator.
type GoroutineGroup struct {
	Count   int      `json:"count"`
	State   string   `json:"state"`      // "" = unknown
	Stack   []Call   `json:"stack"`      // innermost first; empty for a running goroutine
	Cut     bool     `json:"cut"`        // outer calls are missing
	Start   string   `json:"start"`      // first function; "" = unknown
	Creator *Call    `json:"created_by"` // the go statement; null = none, or unknown
	IDs     []uint64 `json:"ids"`        // of the first few
}

// ProfileDiff says where the second of two CPU profiles spends more or less CPU time than the first.
type ProfileDiff struct {
	Head
	A Profiled `json:"a"`
	B Profiled `json:"b"`
	// Unit of all amounts: "cores", CPU seconds for each second of a profile, or "ratio", a share of the
	// CPU time of a profile, 0 to 1. Neither depends on the length of a profile.
	Unit Unit `json:"unit"`
	// Confidence that the intervals of classes hold all together, and those of functions, of own, and
	// of over_size with gc. They are of chance in sampling: not of load, or of the machine.
	Confidence float64     `json:"confidence"`
	Total      Change      `json:"total"`   // all CPU time; without an interval, because it is counted
	Classes    []ClassDiff `json:"classes"` // differences that are shown first, then the larger ones
	// what grows with GOMAXPROCS: sched, sched.timers, gc.idle-mark, gc.stw, sysmon
	OverSize  Change     `json:"over_size"`
	GC        Change     `json:"gc"`        // collections in total: classes that begin with "gc."
	Functions []FuncDiff `json:"functions"` // in the order of classes
	Caveats   []string   `json:"caveats"`   // what the comparison does not show
	Page      *string    `json:"html_file"` // where the flame graph was written; null = not written
	Next      string     `json:"next"`
}

// Profiled is one profile of a comparison.
type Profiled struct {
	Target  string   `json:"target"`
	Source  string   `json:"source"`  // "perf" or "runtime/pprof"
	Seconds *float64 `json:"seconds"` // duration; null = the file does not say
	CPU     float64  `json:"cpu_seconds"`
	Samples int64    `json:"samples"` // 0 = the file does not say, or none
}

// Change is an amount in both profiles.
type Change struct {
	A          float64  `json:"a"`
	B          float64  `json:"b"`
	Difference float64  `json:"difference"` // b less a
	Low        *float64 `json:"low"`        // bounds of the difference; null = samples were not counted
	High       *float64 `json:"high"`
	Shown      bool     `json:"shown"` // 0 is not between the bounds
}

// ClassDiff is a change of a cause of CPU time.
type ClassDiff struct {
	ID    string `json:"id"`
	Words string `json:"words"`
	Change
}

// FuncDiff is a change of a function of the program: with the runtime's and the kernel's work for it.
type FuncDiff struct {
	Function string `json:"function"`
	Change
	Own Change `json:"own"` // of its own code
}

// DoctorDiff compares two documents of `snug doctor`.
type DoctorDiff struct {
	Head
	Before  string         `json:"before"` // file
	After   string         `json:"after"`
	Targets []ExaminedDiff `json:"targets"`
	Next    string         `json:"next"`
}

// ExaminedDiff is one target in both documents.
type ExaminedDiff struct {
	Before   *string       `json:"before"` // name of the target; null = the document has no such target
	After    *string       `json:"after"`
	Findings []FindingDiff `json:"findings"` // worst first
	Figures  []FigureDiff  `json:"figures"`  // that are known in both and differ
	Unknown  []Gap         `json:"unknown"`  // of the document after
}

// What became of a finding.
const (
	FindingCame   = "came"
	FindingStayed = "stayed"
	FindingWent   = "went"
	FindingLost   = "not-judged"
)

// FindingDiff is a finding of one document or of both.
type FindingDiff struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// Change is "came", "stayed", "went", or "not-judged": the document after does not have it, but some of
	// its figures are unknown there.
	Change  string       `json:"change"`
	Before  *Severity    `json:"before"` // null = it was not found
	After   *Severity    `json:"after"`
	Figures []FigureDiff `json:"figures"` // its evidence
	Fix     string       `json:"fix"`     // "" if it is not found after
}

// FigureDiff is a figure in both documents.
type FigureDiff struct {
	What   string   `json:"what"`
	Unit   Unit     `json:"unit"`
	Before *float64 `json:"before"` // null = unknown
	After  *float64 `json:"after"`
}
