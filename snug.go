// SPDX-License-Identifier: Apache-2.0

// Package snug makes a Go process fit the container it runs in: it finds what
// the container really gives, sets GOMAXPROCS and GOMEMLIMIT to match, and can
// say why every number is what it is.
//
// Most programs need one line and nothing else:
//
//	import _ "github.com/snug-go/snug/auto"
//
// Fit does the same at a moment of the program's choosing, with options, and
// returns the Plan and a way back.
//
// snug never panics, never blocks start-up on anything but a few reads of
// procfs and cgroupfs, and prints nothing unless SNUG_LOG=1 asks for it. What
// cannot be read leaves the knobs as they are. On other systems than Linux it
// does nothing.
package snug

import (
	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// Round is how a fraction of a core becomes Ps.
type Round uint8

const (
	Ceil    Round = iota // up: the default, and the Go runtime's own rule
	Floor                // down
	Nearest              // to the nearest, halves up
)

// Options change what Fit decides. The zero value is the default. Where an
// environment variable named below is set to something valid, it wins over the
// field: whoever runs the program knows more than whoever wrote it. One that
// is not valid is reported among the warnings and ignored.
type Options struct {
	// DryRun decides and reports and touches nothing. SNUG=observe.
	// (SNUG=off does nothing at all.)
	DryRun bool
	// Override takes knobs that the program itself has set already. Those the
	// operator set in the environment are never taken.
	Override bool
	// OnPlan is called with every plan, from the goroutine that made it; not
	// with SNUG=off, under which no plan is made.
	OnPlan func(Plan)

	// Round turns fractions of a core into Ps. SNUG_ROUND=ceil|floor|nearest.
	Round Round
	// MinProcs is the smallest GOMAXPROCS to decide on, 0 for 2 as in the Go
	// runtime; never more than the CPUs there are. SNUG_MIN_PROCS.
	MinProcs int
	// MaxProcs is the largest, 0 for no such limit. SNUG_MAX_PROCS.
	MaxProcs int
	// ReserveCPUs is how many cores to leave to other processes of the same
	// container. SNUG_RESERVE_CPUS.
	ReserveCPUs float64
	// RequestFactor is how many Ps a requested core is worth where there is no
	// limit and CPURequest is known, 0 for 2. SNUG_REQUEST_FACTOR.
	RequestFactor float64
	// GOMEMLIMIT is what of the memory limit Go may use: "90%",
	// "99%-100MiB", "400MiB", "off". Empty for all but a tenth and at least 16
	// MiB; a limit below 64 MiB sets nothing. SNUG_GOMEMLIMIT.
	GOMEMLIMIT string

	// Hints: what is known and cannot be seen from inside, for instance from
	// Kubernetes' downward API. They only tighten what is visible. 0 is not
	// given.

	CPULimit    float64 // cores. SNUG_CPU_LIMIT
	CPURequest  float64 // cores; counts only where there is no limit. SNUG_CPU_REQUEST
	MemoryLimit int64   // bytes. SNUG_MEMORY_LIMIT
}

// Plan is what was decided, and what it was decided from.
type Plan struct {
	GOMAXPROCS Setting // Ps
	GOMEMLIMIT Setting // bytes
	GOGC       Setting // percent; snug leaves it alone
	Limits     limits.Limits
	// Warnings are what someone on call should know: limits that others
	// share, variables that Go does not understand, quotas that crash it.
	Warnings []limits.Warning
	// Runtime is the GOMAXPROCS that Go 1.25 and later would choose by
	// themselves here, 0 when that cannot be told, -1 when they would crash.
	Runtime int
}

// Setting is the decision about one knob.
type Setting struct {
	Value   int64    // what to use; 0 when the knob is left alone
	Leave   bool     // the knob is left alone, for the Reason given
	Action  Action   // what was done
	Reason  Reason   // why this number, or why none
	Ignored []Reason // what else could have decided
}

// Action is what Fit did about one knob.
type Action string

const (
	Left    Action = "left"    // left alone
	Already Action = "already" // it had the value; nothing was called
	Set     Action = "set"     // it was set
	Would   Action = "would"   // a dry run: it would have been set
)

// Reason says why a number is what it is.
type Reason struct {
	Code   string        // stable: "quota-ceil", "memory-max", "env-set", ...
	Number float64       // what the code speaks of: cores, Ps or bytes; 0 when it speaks of none
	Source limits.Source // the file that decided, or the variable with its value; empty when neither did
}

// Text is the setting's reason in one sentence.
func (s Setting) Text() string { return plan.Text(plan.Reason(s.Reason), s.Value) }

// Fit reads the container's limits, decides, and sets the knobs that nobody
// else has set. It returns what it decided and a function that restores every
// knob which still holds snug's value; that function is never nil, and does
// nothing the second time or after a later Fit.
//
// Fit takes a few system calls and no lock that a running program holds, but a
// changed GOMAXPROCS stops the world once and may wait for a running garbage
// collection, and so does looking at the live heap of a process that uses 48 MiB
// or more: call it early.
func Fit(o Options) (p Plan, undo func()) {
	in := plan.Input{
		Policy: plan.Policy{
			Round:         plan.Round(o.Round),
			MinProcs:      o.MinProcs,
			MaxProcs:      o.MaxProcs,
			ReserveCPUs:   o.ReserveCPUs,
			RequestFactor: o.RequestFactor,
			Override:      o.Override,
		},
		Hints: plan.Hints{CPULimit: o.CPULimit, CPURequest: o.CPURequest, MemoryLimit: o.MemoryLimit},
	}
	if o.GOMEMLIMIT != "" {
		var ok bool
		if in.Policy.Memory, ok = plan.ParseMemory(o.GOMEMLIMIT); !ok {
			p.Warnings = append(p.Warnings, limits.Warning{Code: plan.EnvInvalid, Source: limits.Source{File: "Options.GOMEMLIMIT", Raw: o.GOMEMLIMIT}})
		}
	}
	decided, mode := fit.Decide(&in, apply.Now)
	if mode == plan.Disable {
		off := Setting{Leave: true, Action: Left, Reason: Reason{Code: plan.Disabled}}
		p.GOMAXPROCS, p.GOMEMLIMIT, p.GOGC = off, off, off
		return p, func() {}
	}
	did := apply.Take(decided, o.DryRun || mode == plan.Observe)
	fit.Log(&in, decided, did)
	p.GOMAXPROCS = setting(&decided.GOMAXPROCS, did.GOMAXPROCS)
	p.GOMEMLIMIT = setting(&decided.GOMEMLIMIT, did.GOMEMLIMIT)
	p.GOGC = setting(&decided.GOGC, apply.Left)
	p.Limits = in.Limits
	p.Warnings = append(p.Warnings, decided.Warnings...)
	p.Runtime = decided.Runtime
	if o.OnPlan != nil {
		o.OnPlan(p)
	}
	return p, did.Undo
}

func setting(s *plan.Setting, did apply.Did) Setting {
	out := Setting{Value: s.Value, Leave: s.Leave, Action: Action(did.String()), Reason: Reason(s.Reason)}
	for _, r := range s.Ignored {
		out.Ignored = append(out.Ignored, Reason(r))
	}
	return out
}
