// SPDX-License-Identifier: Apache-2.0

package finding

import "slices"

// Plan holds the settings that Go should use in a container, and why.
type Plan struct {
	Head
	Target     Target  `json:"target"`
	Mode       string  `json:"mode"` // on, observe or off: from the SNUG variable
	GOMAXPROCS Procs   `json:"gomaxprocs"`
	GOMEMLIMIT Bytes   `json:"gomemlimit"`
	GOGC       Percent `json:"gogc"`
	// What snug run would set: less than the decisions where Go itself chooses the same.
	Set      []Variable `json:"set"`
	Runtime  Runtime    `json:"runtime"`
	Program  *Program   `json:"program"` // null = no program was named
	Unknown  []Gap      `json:"unknown"`
	Mounts   *Mounts    `json:"unread_mounts,omitempty"` // left out if there are none
	Warnings []Warning  `json:"warnings"`
	Next     string     `json:"next"`
}

// ChosenByGo reports whether the plan has a GOMAXPROCS and sets none, because Go itself chooses that number, and
// would not follow the limit with a variable.
func (p *Plan) ChosenByGo() bool {
	set := slices.ContainsFunc(p.Set, func(v Variable) bool { return v.Name == "GOMAXPROCS" })
	return p.GOMAXPROCS.Value != nil && !set
}

// Variable is an environment variable.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Procs is the decision about GOMAXPROCS; a null value leaves it unchanged.
type Procs struct {
	Value *int64 `json:"value"` // 1 or more
	Reason
	Ignored []Reason `json:"ignored"`
}

// Bytes is the decision about GOMEMLIMIT.
type Bytes struct {
	Value *Amount `json:"value_bytes"` // or "off"; null = leave unchanged
	Reason
	Ignored []Reason `json:"ignored"`
}

// Percent is the decision about GOGC.
type Percent struct {
	Value *Amount `json:"value_percent"` // or "off"; null = leave unchanged
	Reason
	Ignored []Reason `json:"ignored"`
}

// Reason says why a number was chosen, or why another one was not.
type Reason struct {
	Code string `json:"reason"` // stable; see `snug explain`
	Text string `json:"text"`
	// The figure that was rounded, capped or divided; at most one is set.
	Cores  *float64 `json:"basis_cores,omitempty"`
	Bytes  *int64   `json:"basis_bytes,omitempty"`
	Source *Source  `json:"source"` // null = neither a file nor a variable
}

// Runtime describes what the Go runtime does by default.
type Runtime struct {
	GOMAXPROCS *int    `json:"gomaxprocs"`    // null = unknown, or Crashes
	Crashes    bool    `json:"crashes"`       // the program would not reach main
	Agrees     bool    `json:"agrees"`        // it equals the plan's value
	Go         *string `json:"go"`            // version; null = recent
	Cgroups    bool    `json:"reads_cgroups"` // this Go follows the CPU quota
	// What automaxprocs sets if the program calls it; null = not linked, or it sees no quota
	Automaxprocs *int `json:"automaxprocs"`
	// automemlimit is linked and may set GOMEMLIMIT
	Automemlimit bool   `json:"automemlimit"`
	Text         string `json:"text"`
	// What Go 1.25 chooses, if no program is given and it differs; null = no difference
	Go125 *int `json:"gomaxprocs_go_1_25"`
	// The newest Go release that snug knows; this one is assumed to read the quota in the same way; null = it is known
	Assumed *string `json:"assumed_as"`
}

// Program is the executable of a plan.
type Program struct {
	File string `json:"file"`
	Main string `json:"main"` // main package; "" = not in the build information
	// Linked modules that set knobs, as "path version".
	Setters []string `json:"setters"`
	// The program's own functions that set a knob when called, to any value.
	ProcsSetBy  []string `json:"gomaxprocs_set_by"`
	MemorySetBy []string `json:"gomemlimit_set_by"`
}
