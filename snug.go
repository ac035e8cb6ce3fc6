// SPDX-License-Identifier: Apache-2.0

// Package snug makes a Go process fit the container it runs in. It finds the CPU and memory
// limits in force, sets GOMAXPROCS and GOMEMLIMIT to match, and explains each number.
//
// Most programs need one line and nothing else:
//
//	import _ "github.com/snug-go/snug/auto"
//
// This fits the process at start and follows limits that change. Call Watch to do the same
// with options, or Fit to do it once. Both return an error only for invalid options; a Plan
// reports what they did, and why. Current returns the Watcher of the process, whichever
// package started it. With package github.com/snug-go/snug/adapt the knobs, GOMAXPROCS
// and GOMEMLIMIT, follow measurements as well.
//
// snug never panics, and reads only a few files of procfs and cgroupfs. It prints nothing
// unless SNUG_LOG=1 or SNUG_LOG=json is set, except one line when SNUG_ADAPT is set and package
// adapt is not imported, and one when following ends by a panic. A limit that cannot be read
// changes no knob. On systems other than Linux snug does nothing.
package snug

import (
	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/follow"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// Round selects how a fraction of a core is rounded to Ps.
type Round uint8

const (
	RoundUp      Round = iota // as the Go runtime does
	RoundDown                 // but never below MinProcs
	RoundNearest              // halves up
)

// Options change what Fit and Watch decide. The zero value is the default. A valid environment
// variable, named below, overrides its field: the operator knows more than the author of the
// program. An invalid variable is ignored and reported in Plan.Warnings.
type Options struct {
	// DryRun decides and reports, but sets nothing. SNUG=observe does the same; SNUG=off does
	// nothing at all.
	DryRun bool
	// Override also sets a knob that the program itself has set, but never one that the
	// environment sets (GOMAXPROCS, GOMEMLIMIT).
	Override bool

	// Round rounds fractions of a core to Ps. SNUG_ROUND=ceil|floor|nearest.
	Round Round
	// MinProcs is the smallest GOMAXPROCS to choose: 1 to 8192, or 0 for 2, as in the Go
	// runtime, but 1 for a CPU limit below one core. The number of CPUs the process may run
	// on still caps it. SNUG_MIN_PROCS.
	MinProcs int
	// MaxProcs is the largest GOMAXPROCS to choose: 1 to 8192 and at least MinProcs, or 0 for
	// no maximum. SNUG_MAX_PROCS.
	MaxProcs int
	// ReserveCPUs is the number of cores to leave to other processes of the container: 0 to
	// 1000000. SNUG_RESERVE_CPUS.
	ReserveCPUs float64
	// RequestFactor is the number of Ps per requested core, used where there is no limit and
	// CPURequest is known: up to 1000, or 0 for 2. SNUG_REQUEST_FACTOR.
	RequestFactor float64
	// GOMEMLIMIT is the part of the memory limit that Go may use: "90%", "99%-100MiB",
	// "400MiB", "off", or "" for all but the larger of 10% and 8 MiB. A memory limit below
	// 64 MiB sets nothing. A plain size is used as it is; one above the limit gives a warning
	// in the Plan. SNUG_GOMEMLIMIT.
	GOMEMLIMIT string
	// Workers is the number of Go processes that share the memory limit in equal parts: 1 to
	// 8192, or 0 for 1. SNUG_WORKERS.
	Workers int

	// CPULimit, CPURequest and MemoryLimit are hints: facts about the container that cannot be
	// seen from inside, for instance from Kubernetes' downward API. They can only tighten the
	// limits that are read. 0 means not given.
	CPULimit    float64 // cores, up to 1000000. SNUG_CPU_LIMIT
	CPURequest  float64 // cores, up to 1000000; used only where there is no limit. SNUG_CPU_REQUEST
	MemoryLimit int64   // bytes. SNUG_MEMORY_LIMIT

	// Log, if not nil, is the program's own logger, such as slog.Default(). It gets decisions and
	// warnings as SNUG_LOG=json prints them, at the start and when they change: Info with "snug:
	// decision", Warn with "snug: warning" or "snug: unknown", and pairs of a name and a string, or
	// the int64 that is a knob's value. Following waits for each call to return. After a panic it is
	// called no more, and one line on standard error says so. With SNUG=off it gets nothing.
	Log interface {
		Info(msg string, args ...any)
		Warn(msg string, args ...any)
	}
}

// Plan is a decision, with the limits it is based on.
type Plan struct {
	GOMAXPROCS Setting // Ps
	GOMEMLIMIT Setting // bytes
	Limits     limits.Limits
	// Warnings are for the operator: limits shared with other processes, invalid variables,
	// values that were left alone and do not fit, quotas that crash Go.
	Warnings []limits.Warning
	// RuntimeProcs is the GOMAXPROCS that the Go runtime would choose by itself. It is unknown
	// where snug cannot determine it, and where the runtime would crash; the latter has the
	// warning limits.WarnQuotaCrashesGo.
	RuntimeProcs limits.Value[int]

	undo apply.Result // what Fit did; the zero Result for all other plans
}

// Setting is the decision about one knob.
type Setting struct {
	Value   int64    // the value to use; 0 if Leave is true
	Leave   bool     // the knob is left alone
	Action  Action   // what was done
	Reason  Reason   // why this value, or why none
	Ignored []Reason // other inputs that could have decided; empty if there were none
}

// Action is what Fit or Watch did about a knob.
type Action string

const (
	ActionLeft    Action = "left"    // left alone, or restored
	ActionAlready Action = "already" // it already had the value; nothing was called
	ActionSet     Action = "set"     // set
	ActionWould   Action = "would"   // a dry run: it would have been set
	ActionLost    Action = "lost"    // another part of the program changed it; snug no longer touches it

	// ActionRequested: GOMAXPROCS was requested, and takes effect once the running garbage
	// collection has ended.
	ActionRequested Action = "requested"
)

// Reason explains a decision.
type Reason struct {
	Code   string        // its meaning never changes: "quota-ceil", "memory-max", "env-set", ...
	Number float64       // the number behind the code, in cores, Ps or bytes; 0 if it has none
	Source limits.Source // the file, variable or option that decided; empty if none did
}

// Text returns the reason as one sentence without a full stop.
func (s Setting) Text() string { return follow.Text(plan.Reason(s.Reason), s.Value) }

// Fit reads the container's limits, decides, and sets each knob that neither the operator
// nor the program has set. The Plan reports what was done; its Undo restores the
// previous values.
//
// For an invalid option Fit changes nothing and returns an error that names the field, the
// value and the allowed range; the Plan says so too. An invalid environment variable is not
// an error but a warning in the Plan.
//
// What Fit sets stays when the container is resized; [Watch] follows.
//
// Call Fit early. It makes a few system calls, but changing GOMAXPROCS stops the world and
// may wait for a running garbage collection. So does measuring the live heap of a process
// that uses 48 MiB or more.
func Fit(o Options) (Plan, error) {
	in, bad := (*fit.Options[Round])(&o).Input()
	if bad != nil {
		p := plan.Nothing(plan.OptionInvalid)
		from := limits.Source{File: bad.Field, Raw: bad.Value}
		p.GOMAXPROCS.Source, p.GOMEMLIMIT.Source = from, from
		return public(&follow.Update{Plan: *p}), bad
	}
	decided, f, mode := fit.Decide(&in, apply.Now)
	f.Close()
	if mode == plan.Disable {
		return disabled(), nil
	}
	plan.Review(&in, decided)
	did := apply.Take(decided, o.DryRun || mode == plan.Observe)
	fit.Log(&in, decided, did)
	follow.Unadapted()
	u := follow.Update{Plan: *decided, Limits: in.Limits, GOMAXPROCS: did.GOMAXPROCS, GOMEMLIMIT: did.GOMEMLIMIT}
	follow.LogTo(o.Log)(&u)
	p := public(&u)
	p.undo = did
	return p, nil
}

// Undo restores each knob that still holds the value Fit gave it. It does nothing the second
// time, even on a copy of the Plan, after a later Fit or Watch, and on a Plan that Fit did not
// return.
func (p Plan) Undo() { p.undo.Undo() }

// disabled returns the plan of SNUG=off.
func disabled() Plan { return public(&follow.Update{Plan: *plan.Nothing(plan.Disabled)}) }

// public converts an update to the public Plan.
func public(u *follow.Update) Plan {
	p := Plan{
		GOMAXPROCS: setting(&u.Plan.GOMAXPROCS, u.GOMAXPROCS),
		GOMEMLIMIT: setting(&u.Plan.GOMEMLIMIT, u.GOMEMLIMIT),
		Limits:     u.Limits,
		Warnings:   u.Plan.Warnings[:len(u.Plan.Warnings):len(u.Plan.Warnings)],
	}
	if n := u.Plan.Runtime; n > 0 {
		p.RuntimeProcs = limits.Of(n)
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
