// SPDX-License-Identifier: Apache-2.0

// Package snug makes a Go process fit the container it runs in: it finds what
// the container really gives, sets GOMAXPROCS and GOMEMLIMIT to match, and can
// say why every number is what it is.
//
// Most programs need one line and nothing else:
//
//	import _ "github.com/snug-go/snug/auto"
//
// It fits the process at start and follows limits that change. Watch does the
// same at a moment of the program's choosing, with options, and can adapt the
// knobs to what it measures; Fit does it once. Both tell the Plan and have a way
// back.
//
// snug never panics, never blocks start-up on anything but a few reads of
// procfs and cgroupfs, and prints nothing unless SNUG_LOG=1 asks for it. What
// cannot be read leaves the knobs as they are. On other systems than Linux it
// does nothing.
package snug

import (
	"time"

	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/internal/watch"
	"github.com/snug-go/snug/limits"
)

// Round is how a fraction of a core becomes Ps.
type Round uint8

const (
	Ceil    Round = iota // up: the default, and the Go runtime's own rule
	Floor                // down
	Nearest              // to the nearest, halves up
)

// Options change what Fit and Watch decide. The zero value is the default. Where an
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
	// OnPlan is called with every plan, from the goroutine that made it, which
	// waits for it; not with SNUG=off, under which no plan is made. Watch calls it
	// once before it returns, whenever a knob or the verdict on waiting has changed,
	// and for a GOMAXPROCS twice: when it is requested, and when it is in force.
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
	// Workers is how many Go processes share the container's memory: each gets its
	// part. 0 for 1. SNUG_WORKERS.
	Workers int

	// CPULimit, CPURequest and MemoryLimit are hints: what is known and cannot be
	// seen from inside, for instance from Kubernetes' downward API. They only tighten
	// what is visible. 0 is not given.
	CPULimit    float64 // cores. SNUG_CPU_LIMIT
	CPURequest  float64 // cores; counts only where there is no limit. SNUG_CPU_REQUEST
	MemoryLimit int64   // bytes. SNUG_MEMORY_LIMIT

	// Adapt lets knobs follow what is measured, beyond the limits alone. 0 for
	// none. SNUG_ADAPT=memory,gc,cpu, or none. Fit ignores it and all that follows.
	Adapt Adapt
	// Poll is how often to look, 10 ms to 1 h, 0 for 1 s. It is up to four times
	// as long while the process is idle, and as short as 20 ms while AdaptMemory needs
	// it. With AdaptMemory or AdaptCPU a longer one counts as 1 s. SNUG_POLL.
	Poll time.Duration
	// Reserve is the share of the memory limit that AdaptMemory keeps free for
	// sudden memory that is not Go's, 0.01 to 0.5, 0 for 0.15.
	// SNUG_MEMORY_RESERVE=15%.
	Reserve float64
	// AtLimit is what AdaptMemory does when the live heap meets the limit.
	// SNUG_AT_LIMIT=oom|thrash.
	AtLimit AtLimit
	// GC is what GOGC follows with AdaptGC. SNUG_GC=headroom|cost, or with a number: headroom:6, cost:5%.
	GC GCMode
	// GCHeadroom is the extra heap as a multiple of the live heap, 4 to 8, 0 for 4.
	GCHeadroom float64
	// GCShare is the share of the process's CPU time for collections that GCCost
	// aims at, 0.01 to 0.5, 0 for 0.05.
	GCShare float64
	// OnPressure is called when the pressure of the memory limit on the garbage
	// collector has changed its level, up or down, from the goroutine that watches,
	// which waits for it. Levels may be skipped: while it is Tight or more it is time
	// to shed load. It falls 10 s after the heap has room again, or a minute where
	// hardly anything is collected.
	OnPressure func(Pressure)
}

// Plan is what was decided, and what it was decided from.
type Plan struct {
	GOMAXPROCS Setting // Ps
	GOMEMLIMIT Setting // bytes
	GOGC       Setting // percent; left alone without AdaptGC
	Limits     limits.Limits
	// Warnings are what someone on call should know: limits that others
	// share, variables that Go does not understand, quotas that crash it.
	Warnings []limits.Warning
	// Runtime is the GOMAXPROCS that Go 1.25 and later would choose by
	// themselves here, 0 when that cannot be told, -1 when they would crash.
	Runtime int
	// Verdict says what the waiting of the process is due to, as Watch measured it;
	// empty before 10 s have passed.
	Verdict Verdict
}

// Setting is the decision about one knob.
type Setting struct {
	Value   int64    // what to use; 0 when the knob is left alone
	Leave   bool     // the knob is left alone, for the Reason given
	Action  Action   // what was done
	Reason  Reason   // why this number, or why none
	Ignored []Reason // what else could have decided
}

// Action is what Fit or Watch did about one knob.
type Action string

const (
	Left    Action = "left"    // left alone
	Already Action = "already" // it had the value; nothing was called
	Set     Action = "set"     // it was set
	Would   Action = "would"   // a dry run: it would have been set
	Lost    Action = "lost"    // somebody else changed it; it is not touched any more

	// Requested: GOMAXPROCS was asked for, and is in force after a garbage
	// collection that runs.
	Requested Action = "requested"
)

// Reason says why a number is what it is.
type Reason struct {
	Code   string        // stable: "quota-ceil", "memory-max", "env-set", ...
	Number float64       // what the code speaks of: cores, Ps or bytes; 0 when it speaks of none
	Source limits.Source // the file that decided, or the variable with its value; empty when neither did
}

// Text is the setting's reason in one sentence.
func (s Setting) Text() string { return watch.Text(plan.Reason(s.Reason), s.Value) }

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
	in, decided, did := o.fit(&p)
	if decided == nil {
		return p, func() {}
	}
	p.fill(decided, &in.Limits, did.GOMAXPROCS, did.GOMEMLIMIT, apply.Left)
	if o.OnPlan != nil {
		o.OnPlan(p)
	}
	return p, did.Undo
}

// fit decides and applies. Without a decision, because everything is switched
// off, p says so.
func (o *Options) fit(p *Plan) (in plan.Input, decided *plan.Plan, did apply.Result) {
	in = plan.Input{
		Policy: plan.Policy{
			Round:         plan.Round(o.Round),
			MinProcs:      o.MinProcs,
			MaxProcs:      o.MaxProcs,
			ReserveCPUs:   o.ReserveCPUs,
			RequestFactor: o.RequestFactor,
			Workers:       o.Workers,
			Override:      o.Override,
		},
		Hints: plan.Hints{CPULimit: o.CPULimit, CPURequest: o.CPURequest, MemoryLimit: o.MemoryLimit},
	}
	var bad []limits.Warning
	if o.GOMEMLIMIT != "" {
		var ok bool
		if in.Policy.Memory, ok = plan.ParseMemory(o.GOMEMLIMIT); !ok {
			bad = append(bad, limits.Warning{Code: plan.EnvInvalid, Source: limits.Source{File: "Options.GOMEMLIMIT", Raw: o.GOMEMLIMIT}})
		}
	}
	decided, mode := fit.Decide(&in, apply.Now)
	if mode == plan.Disable {
		off := Setting{Leave: true, Action: Left, Reason: Reason{Code: plan.Disabled}}
		p.GOMAXPROCS, p.GOMEMLIMIT, p.GOGC, p.Warnings = off, off, off, bad
		return in, nil, did
	}
	in.Warnings = append(bad, in.Warnings...)
	decided.Warnings = append(bad, decided.Warnings...)
	o.DryRun = o.DryRun || mode == plan.Observe
	did = apply.Take(decided, o.DryRun)
	fit.Log(&in, decided, did)
	return in, decided, did
}

// fill makes the public plan.
func (p *Plan) fill(from *plan.Plan, l *limits.Limits, procs, memory, gc apply.Did) {
	p.GOMAXPROCS = setting(&from.GOMAXPROCS, procs)
	p.GOMEMLIMIT = setting(&from.GOMEMLIMIT, memory)
	p.GOGC = setting(&from.GOGC, gc)
	p.Limits = *l
	p.Warnings = from.Warnings
	p.Runtime = from.Runtime
}

func setting(s *plan.Setting, did apply.Did) Setting {
	out := Setting{Value: s.Value, Leave: s.Leave, Action: Action(did.String()), Reason: Reason(s.Reason)}
	for _, r := range s.Ignored {
		out.Ignored = append(out.Ignored, Reason(r))
	}
	return out
}
