// SPDX-License-Identifier: Apache-2.0

package finding

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
