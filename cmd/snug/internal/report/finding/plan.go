// SPDX-License-Identifier: Apache-2.0

package finding

// Plan is what Go should use in a container, and why.
type Plan struct {
	Head
	Target     Target    `json:"target"`
	Mode       string    `json:"mode"` // on, observe or off: the SNUG variable
	GOMAXPROCS Procs     `json:"gomaxprocs"`
	GOMEMLIMIT Bytes     `json:"gomemlimit"`
	GOGC       Percent   `json:"gogc"`
	Runtime    Runtime   `json:"runtime"`
	Program    *Program  `json:"program"` // null when no program was named
	Unknown    []Gap     `json:"unknown"`
	Warnings   []Warning `json:"warnings"`
	Next       string    `json:"next"`
}

// Procs is the decision about GOMAXPROCS; a null value leaves it alone.
type Procs struct {
	Value *int64 `json:"value"`
	Reason
	Ignored []Reason `json:"ignored"`
}

// Bytes is the decision about GOMEMLIMIT.
type Bytes struct {
	Value *Amount `json:"value_bytes"`
	Reason
	Ignored []Reason `json:"ignored"`
}

// Percent is the decision about GOGC.
type Percent struct {
	Value *Amount `json:"value_percent"`
	Reason
	Ignored []Reason `json:"ignored"`
}

// Reason says why a number is what it is, or why another did not decide.
type Reason struct {
	Code string `json:"reason"` // stable; see `snug explain`
	Text string `json:"text"`
	// What was rounded, capped or divided to get there; at most one is set.
	Cores  *float64 `json:"basis_cores,omitempty"`
	Bytes  *int64   `json:"basis_bytes,omitempty"`
	Source *Source  `json:"source"` // null when no file and no variable said so
}

// Runtime is what the Go runtime would do if nobody set anything.
type Runtime struct {
	GOMAXPROCS *int    `json:"gomaxprocs"` // null when it cannot be told, or Crashes
	Crashes    bool    `json:"crashes"`    // the program would not reach main
	Agrees     bool    `json:"agrees"`     // it is what the plan wants
	Go         *string `json:"go"`         // version; null = recent
	Cgroups    bool    `json:"reads_cgroups"`
	// What automaxprocs, which is in the program, sets where it is called; null = it is not there, or sees no quota
	Automaxprocs *int `json:"automaxprocs"`
	// automemlimit is in the program: it may set GOMEMLIMIT by itself
	Automemlimit bool   `json:"automemlimit"`
	Text         string `json:"text"`
}

// Program is the executable that a plan is for.
type Program struct {
	File string `json:"file"`
	Main string `json:"main"` // "" when its build information does not say
	// Modules that set knobs themselves, as "path version".
	Setters []string `json:"setters"`
	// Functions of its own that set a knob where they are called, whatever to.
	ProcsSetBy  []string `json:"gomaxprocs_set_by"`
	MemorySetBy []string `json:"gomemlimit_set_by"`
}
