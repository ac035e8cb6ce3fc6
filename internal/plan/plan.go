// SPDX-License-Identifier: Apache-2.0

// Package plan decides what Go should use in a container: GOMAXPROCS,
// GOMEMLIMIT, GOGC. It is pure: facts, hints and policy in, values with their
// reasons out. It reads nothing, sets nothing and knows no clock.
package plan

import "github.com/snug-go/snug/limits"

// Plan is what Go should use, and why.
type Plan struct {
	GOMAXPROCS Setting // Value in Ps
	GOMEMLIMIT Setting // Value in bytes
	GOGC       Setting // Value in percent, Off for "off"
	// Runtime is the GOMAXPROCS that Go would choose by itself, 0 when that
	// cannot be told, Crash when it would not live to choose one.
	Runtime  int
	Warnings []limits.Warning // those of the input, of the limits, then the plan's own
}

// Off is the Value of GOGC=off. Crash is the Runtime of a quota that ends
// plain Go programs before main.
const (
	Off   = -1
	Crash = -1
)

// Setting is the decision about one knob.
type Setting struct {
	Value int64 // what to use; 0 when Leave
	Leave bool  // leave the knob alone
	Reason
	Ignored []Reason // what could have decided and did not
}

// Reason says why a number is what it is, or why another did not decide. Its
// sentence is made by Text, when somebody asks: programs that only want to be
// fitted do not carry the words.
type Reason struct {
	Code   string        // stable, see the constants
	Number float64       // what the code speaks of: cores, Ps or bytes; 0 when it speaks of none
	Source limits.Source // the file that decided, or the variable with its value; empty when neither did
}

// Input is everything a decision depends on.
type Input struct {
	Limits limits.Limits
	Env    Env
	Hints  Hints
	Policy Policy
	Go     Go
	Now    Now
	Others int // Go processes beside this one in the cgroup whose memory limit decides, 0 = none, or not known

	Warnings []limits.Warning // about the input itself, for instance from ReadEnv
}

// Env is what the operator put into the environment for Go itself. Go treats
// an empty variable like one that is not set, and so does plan.
type Env struct{ GOMAXPROCS, GOMEMLIMIT, GOGC string }

// Go is what is known about the Go program that the plan is for.
type Go struct {
	Minor int // 26 for Go 1.26.x; 0 = not known, taken as recent
	// Blind is true when the runtime does not look at cgroups: before Go
	// 1.25, or GODEBUG=containermaxprocs=0, which a go line below 1.25 implies.
	Blind bool
	// Automaxprocs: go.uber.org/automaxprocs is linked in. Where it is called, it sets
	// GOMAXPROCS to the quota of the own cgroup, rounded down and at least 1, unless the
	// variable is set (automaxprocs, maxprocs.Set).
	Automaxprocs bool
	// Automemlimit: github.com/KimMachineGun/automemlimit is linked in, which may set
	// GOMEMLIMIT unless the variable is set.
	Automemlimit bool
}

// Now is what a running process uses. The zero Now is a program that has not
// started yet.
type Now struct {
	Procs    int   // GOMAXPROCS; 0 = not running
	NumCPU   int   // runtime.NumCPU: the affinity at start
	MemLimit int64 // bytes; NoMemLimit when there is none
	Live     int64 // bytes of live heap, 0 = so little that it does not matter

	// ByRuntime is true when Procs is known to be the runtime's own choice,
	// perhaps by limits that have changed since.
	ByRuntime bool

	// What snug wrote last, 0 = nothing or given up.
	OwnProcs    int
	OwnMemLimit int64
}

// NoMemLimit is the Go runtime's way to say that GOMEMLIMIT is off.
const NoMemLimit = 1<<63 - 1

// Codes of reasons. They are part of the v1 promise: a code never changes its
// meaning.
const (
	QuotaCeil     = "quota-ceil"
	QuotaFloor    = "quota-floor"
	QuotaNearest  = "quota-nearest"
	QuotaMin      = "quota-min"
	Affinity      = "affinity"
	CPULimitHint  = "cpu-limit-hint"
	CPURequest    = "cpu-request"
	MaxProcs      = "max-procs"
	ReserveCPUs   = "reserve-cpus"
	MemoryMax     = "memory-max"
	MemoryHigh    = "memory-high"
	HostMemory    = "host-memory"
	Workers       = "workers"
	MemoryHint    = "memory-limit-hint"
	Explicit      = "explicit"
	NoLimit       = "no-limit"
	Unknown       = "unknown"
	TooSmall      = "limit-too-small"
	LiveHeap      = "live-heap"
	EnvSet        = "env-set"
	ProgramSet    = "program-set"
	NotManaged    = "not-managed"
	NotSupported  = "not-supported"
	Disabled      = "disabled"
	OptionInvalid = "option-invalid"
	EnvInvalid    = "env-invalid"
	EnvUnknown    = "env-unknown"
	MemoryShared  = "memory-shared"
	MemorySeveral = "memory-several"
	ExplicitAbove = "explicit-above-limit"
	NotMeasured   = "memory-not-measured"
	RequestUnused = "request-unused"
	HintUnused    = "hint-unused"
)

// Decide makes the plan.
func Decide(in *Input) *Plan {
	p := &Plan{
		Runtime:  RuntimeProcs(&in.Limits.CPU, in.Go),
		Warnings: append(in.Warnings[:len(in.Warnings):len(in.Warnings)], in.Limits.Warnings...),
	}
	in.procs(p)
	in.memory(p)
	in.gogc(p)
	return p
}

// The helpers below are called from many places and store many words each.
// Inlined they would add 10 KB to every program that is fitted.

// Warn adds a warning.
//
//go:noinline
func Warn(to *[]limits.Warning, code string, from *limits.Source) {
	*to = append(*to, limits.Warning{Code: code, Source: *from})
}

func (p *Plan) warn(code string, from *limits.Source) { Warn(&p.Warnings, code, from) }

// warnEnv reports a variable that Go does not understand.
//
//go:noinline
func (p *Plan) warnEnv(name, value string) {
	p.warn(EnvInvalid, &limits.Source{File: name, Raw: value})
}

// because gives a setting its reason. from may be nil.
//
//go:noinline
func (s *Setting) because(code string, number float64, from *limits.Source) {
	if from == nil {
		from = &limits.Source{}
	}
	s.Reason = Reason{code, number, *from}
}

// ignore notes a reason that does not decide.
//
//go:noinline
func (s *Setting) ignore(r *Reason) { s.Ignored = append(s.Ignored, *r) }

// unused notes a hint that does not decide.
func (s *Setting) unused(code string, number float64) {
	s.ignore(&Reason{Code: code, Number: number})
}

// leave leaves a knob alone, whatever would have decided.
//
//go:noinline
func (s *Setting) leave(code string, number float64) {
	if s.Value != 0 {
		s.ignore(&s.Reason)
	}
	s.Value, s.Leave = 0, true
	s.because(code, number, nil)
}

// Nothing is the plan that leaves every knob alone.
func Nothing(code string) *Plan {
	p := new(Plan)
	p.GOMAXPROCS.leave(code, 0)
	p.GOMEMLIMIT.leave(code, 0)
	p.GOGC.leave(code, 0)
	return p
}

// byEnv leaves a knob alone because the operator set it.
//
//go:noinline
func (s *Setting) byEnv(name, value string) {
	s.Leave = true
	s.because(EnvSet, 0, &limits.Source{File: name, Raw: value})
}

// RuntimeProcs is the GOMAXPROCS that the Go runtime chooses by itself
// (runtime/cgroup_linux.go): min(affinity, max(2, ceil(quota))) with the quota
// of the process's own cgroup alone. It is 0 when affinity is not known and
// Crash when converting the quota to an int32 overflows.
func RuntimeProcs(c *limits.CPU, g Go) int {
	return runtimeProcs(c, g, c.Affinity.N)
}

func runtimeProcs(c *limits.CPU, g Go, cpus int) int {
	if cpus == 0 {
		return 0
	}
	own := c.Runtime
	if g.Blind || g.Minor != 0 && g.Minor < 25 || own == nil {
		return cpus
	}
	if own.CrashesGo {
		return Crash
	}
	if cores, ok := own.Go.Get(); ok && cores < float64(cpus) {
		return min(cpus, max(2, ceil(cores)))
	}
	return cpus
}

// Automaxprocs is the GOMAXPROCS that go.uber.org/automaxprocs sets where it is called; 0
// where it is not linked in, or sees no quota and leaves the knob alone.
func Automaxprocs(c *limits.CPU, g Go) int {
	if g.Automaxprocs && len(c.Levels) > 0 {
		if cores, ok := c.Levels[0].Quota.Get(); ok && cores < maxProcs {
			return max(1, int(cores))
		}
	}
	return 0
}

// gogc decides GOGC: only what was asked for.
func (in *Input) gogc(p *Plan) {
	s, text := &p.GOGC, in.Env.GOGC
	valid := validGOGC(text)
	if text != "" && !valid {
		p.warnEnv("GOGC", text)
	}
	switch n := in.Policy.GOGC; {
	case n == 0:
		s.leave(NotManaged, 0)
	case valid:
		s.byEnv("GOGC", text)
	default:
		s.Value, s.Code = int64(n), Explicit
	}
}
