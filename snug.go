// SPDX-License-Identifier: Apache-2.0

// Package snug makes a Go process fit the container it runs in. It finds the CPU and memory
// limits that really hold, sets GOMAXPROCS and GOMEMLIMIT to match, and says why every
// number is what it is.
//
// Most programs need one line and nothing else:
//
//	import _ "github.com/snug-go/snug/auto"
//
// That fits the process at start and follows limits that change. Watch does the same when
// the program calls it, with options. Fit does it once. Both return an error only for
// options that make no sense; what they did, and why, is in a Plan. Current finds the
// Watcher of the process, whichever package started it. Package
// github.com/snug-go/snug/adapt lets the knobs follow measurements as well.
//
// snug never panics, and reads only a few files of procfs and cgroupfs. It prints nothing
// unless SNUG_LOG=1 asks for it, except one line when SNUG_ADAPT asks for what needs package
// adapt. What cannot be read leaves the knobs as they are. On systems other than Linux snug
// does nothing.
package snug

import (
	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/follow"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// Round is how a fraction of a core becomes Ps.
type Round uint8

const (
	RoundUp      Round = iota // as the Go runtime does
	RoundDown                 // but never below MinProcs
	RoundNearest              // halves up
)

// Options change what Fit and Watch decide. The zero value is the default. A variable named
// below wins over its field where the variable is valid: whoever runs a program knows more
// than whoever wrote it. A variable that is not valid is ignored, and is one of
// Plan.Warnings.
type Options struct {
	// DryRun decides and reports, and sets nothing. SNUG=observe does the same; SNUG=off does
	// nothing at all.
	DryRun bool
	// Override takes knobs that the program itself has set. It never takes those that the
	// operator has set in the environment (GOMAXPROCS, GOMEMLIMIT).
	Override bool

	// Round turns fractions of a core into Ps. SNUG_ROUND=ceil|floor|nearest.
	Round Round
	// MinProcs is the smallest GOMAXPROCS to choose: 1 to 8192, or 0 for 2, as in the Go
	// runtime. It never exceeds the CPUs that the process may run on. SNUG_MIN_PROCS.
	MinProcs int
	// MaxProcs is the largest GOMAXPROCS to choose: 1 to 8192 and at least MinProcs, or 0 for
	// no maximum. SNUG_MAX_PROCS.
	MaxProcs int
	// ReserveCPUs is how many cores to leave to other processes of the container: 0 to
	// 1000000. SNUG_RESERVE_CPUS.
	ReserveCPUs float64
	// RequestFactor is how many Ps a requested core is worth, where there is no limit and
	// CPURequest is known: up to 1000, or 0 for 2. SNUG_REQUEST_FACTOR.
	RequestFactor float64
	// GOMEMLIMIT is how much of the memory limit Go may use: "90%", "99%-100MiB", "400MiB",
	// "off", or "" for all but the larger of a tenth and 16 MiB. A memory limit below 64 MiB
	// sets nothing. A size is set as it is, above the limit too, with a warning in the Plan.
	// SNUG_GOMEMLIMIT.
	GOMEMLIMIT string
	// Workers is how many Go processes share the memory limit, each with an equal part: 1 to
	// 8192, or 0 for 1. SNUG_WORKERS.
	Workers int

	// CPULimit, CPURequest and MemoryLimit say what is known about the container and cannot be
	// seen from inside, for instance from Kubernetes' downward API. They only tighten what can
	// be seen. 0 means not given.
	CPULimit    float64 // cores, up to 1000000. SNUG_CPU_LIMIT
	CPURequest  float64 // cores, up to 1000000; counts only where there is no limit. SNUG_CPU_REQUEST
	MemoryLimit int64   // bytes. SNUG_MEMORY_LIMIT
}

// Plan is what was decided, and what it was decided from.
type Plan struct {
	GOMAXPROCS Setting // Ps
	GOMEMLIMIT Setting // bytes
	Limits     limits.Limits
	// Warnings are what someone on call should know: limits that other processes share,
	// variables that make no sense, quotas that crash Go.
	Warnings []limits.Warning
	// Runtime is the GOMAXPROCS that the runtime would choose by itself here. It is unknown
	// where that cannot be told, and where the runtime would crash, which the warning
	// limits.WarnQuotaCrashesGo says.
	Runtime limits.Value[int]

	undo apply.Result // what Fit did; the zero Result for all other plans
}

// Setting is the decision about one knob.
type Setting struct {
	Value   int64    // what to use; 0 where Leave is true
	Leave   bool     // the knob is left alone
	Action  Action   // what was done
	Reason  Reason   // why this value, or why none
	Ignored []Reason // what else could have decided; empty when nothing could
}

// Action is what Fit or Watch did about one knob.
type Action string

const (
	ActionLeft    Action = "left"    // it was left alone, or given back
	ActionAlready Action = "already" // it had the value; nothing was called
	ActionSet     Action = "set"     // it was set
	ActionWould   Action = "would"   // a dry run: it would have been set
	ActionLost    Action = "lost"    // another part of the program changed it; it is not touched any more

	// ActionRequested: GOMAXPROCS was asked for, and is in force once a garbage collection
	// that runs has ended.
	ActionRequested Action = "requested"
)

// Reason says why a number is what it is.
type Reason struct {
	Code   string        // never changes its meaning: "quota-ceil", "memory-max", "env-set", ...
	Number float64       // what the code is about, in cores, Ps or bytes; 0 when it is about no number
	Source limits.Source // the file, variable or option that decided; empty when none did
}

// Text is the setting's reason in one sentence without a full stop.
func (s Setting) Text() string { return follow.Text(plan.Reason(s.Reason), s.Value) }

// Fit reads the container's limits, decides, and sets the knobs that neither the operator
// nor the program has set. The Plan says what was done, and its Undo restores what was
// there before.
//
// An option that makes no sense is an error, which names the field, the value and what is
// allowed. Then no knob was touched, and the Plan says so. A variable that makes no sense is
// no error, but one of Plan.Warnings.
//
// Call Fit early. It makes a few system calls, but a changed GOMAXPROCS stops the world and
// may wait for a running garbage collection, and so does measuring the live heap of a process
// that uses 48 MiB or more.
func Fit(o Options) (Plan, error) {
	in, bad := (*fit.Options[Round])(&o).Input()
	if bad != nil {
		p := plan.Nothing(plan.OptionInvalid)
		from := limits.Source{File: bad.Field, Raw: bad.Value}
		p.GOMAXPROCS.Source, p.GOMEMLIMIT.Source = from, from
		return public(&follow.Update{Plan: *p}), bad
	}
	decided, mode := fit.Decide(&in, apply.Now)
	if mode == plan.Disable {
		return disabled(), nil
	}
	did := apply.Take(decided, o.DryRun || mode == plan.Observe)
	fit.Log(&in, decided, did)
	follow.Unadapted()
	p := public(&follow.Update{Plan: *decided, Limits: in.Limits, GOMAXPROCS: did.GOMAXPROCS, GOMEMLIMIT: did.GOMEMLIMIT})
	p.undo = did
	return p, nil
}

// Undo restores every knob that still holds the value that Fit set. It does nothing the
// second time, also on a copy of the Plan, nor after a later Fit or Watch, nor on a Plan that
// Fit did not return.
func (p Plan) Undo() { p.undo.Undo() }

// disabled is the plan of SNUG=off.
func disabled() Plan { return public(&follow.Update{Plan: *plan.Nothing(plan.Disabled)}) }

// public makes the public plan.
func public(u *follow.Update) Plan {
	p := Plan{
		GOMAXPROCS: setting(&u.Plan.GOMAXPROCS, u.GOMAXPROCS),
		GOMEMLIMIT: setting(&u.Plan.GOMEMLIMIT, u.GOMEMLIMIT),
		Limits:     u.Limits,
		Warnings:   u.Plan.Warnings[:len(u.Plan.Warnings):len(u.Plan.Warnings)],
	}
	if n := u.Plan.Runtime; n > 0 {
		p.Runtime = limits.Of(n)
	}
	if u.Requested {
		p.GOMAXPROCS.Action = ActionRequested
	}
	return p
}

func setting(s *plan.Setting, did apply.Did) Setting {
	out := Setting{Value: s.Value, Leave: s.Leave, Action: Action(did.String()), Reason: Reason(s.Reason)}
	for _, r := range s.Ignored {
		out.Ignored = append(out.Ignored, Reason(r))
	}
	return out
}
