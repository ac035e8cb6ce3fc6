// SPDX-License-Identifier: Apache-2.0

// Package plan decides what Go should use in a container: GOMAXPROCS, GOMEMLIMIT, GOGC. It is
// pure: it maps facts, hints and policy to values with reasons. It reads nothing, sets nothing
// and has no clock.
package plan

import "github.com/snug-go/snug/limits"

// Plan holds the values Go should use, and why.
type Plan struct {
	GOMAXPROCS Setting // Value in Ps
	GOMEMLIMIT Setting // Value in bytes
	GOGC       Setting // Value in percent, Off for "off"
	// Runtime is the GOMAXPROCS that Go would choose by itself, 0 if unknown, Crash if the
	// runtime would crash first.
	Runtime  int
	Warnings []limits.Warning // those of the input, then of the limits, then the plan's own
}

// Off is the Value of GOGC=off. Crash is the Runtime for a quota that crashes plain Go
// programs before main.
const (
	Off   = -1
	Crash = -1
)

// Setting is the decision about one knob.
type Setting struct {
	Value int64 // the value to use; 0 if Leave
	Leave bool  // leave the knob alone
	Reason
	Ignored []Reason // inputs that could have decided and did not
}

// Reason explains why a value was chosen, or why another was not. Text makes its sentence on
// demand, so that programs which only fit themselves do not link the texts.
type Reason struct {
	Code   string        // stable, see the constants
	Number float64       // the number behind the code: cores, Ps or bytes; 0 if it has none
	Source limits.Source // the file that decided, or the variable with its value; empty if neither did
}

// Input is everything a decision depends on.
type Input struct {
	Limits limits.Limits
	Env    Env
	Hints  Hints
	Policy Policy
	Go     Go
	Now    Now
	Others int // other Go processes in the cgroup whose memory limit decides, 0 = none or unknown

	Warnings []limits.Warning // about the input itself, for instance from ReadEnv
}

// Env holds the variables that the operator set for Go itself. Go treats an empty variable as
// unset, and so does plan.
type Env struct {
	_                            [0]func() // not comparable: no code for it
	GOMAXPROCS, GOMEMLIMIT, GOGC string
}

// Go describes the Go program that the plan is for.
type Go struct {
	Minor int // 26 for Go 1.26.x; 0 = unknown, treated as the newest that RuntimeProcs knows
	// Blind: the runtime ignores cgroups, as before Go 1.25 or with
	// GODEBUG=containermaxprocs=0, which a go line below 1.25 implies.
	Blind bool
	// Space is the size of the address space of a 32-bit program in bytes, 0 for other programs.
	// It caps a memory limit, and is none by itself.
	Space int64
	// Automaxprocs: go.uber.org/automaxprocs is linked in. When called, it sets GOMAXPROCS to
	// the own cgroup's quota, rounded down and at least 1, unless the variable is set
	// (automaxprocs, maxprocs.Set).
	Automaxprocs bool
	// Automemlimit: github.com/KimMachineGun/automemlimit is linked in. It may set
	// GOMEMLIMIT unless the variable is set.
	Automemlimit bool
}

// Now holds a running process's current values. The zero Now is a program that has not
// started yet.
type Now struct {
	_        [0]func() // not comparable: no code for it
	Procs    int       // GOMAXPROCS; 0 = not running
	NumCPU   int       // runtime.NumCPU: the affinity at start
	MemLimit int64     // bytes; NoMemLimit if there is none
	Live     int64     // bytes of live heap, 0 = negligible

	// ByRuntime: Procs is known to be the runtime's own choice, perhaps by limits that have
	// changed since.
	ByRuntime bool

	// The values snug set last, 0 = none or given up.
	OwnProcs    int
	OwnMemLimit int64
}

// NoMemLimit is the Go runtime's value for GOMEMLIMIT=off.
const NoMemLimit = 1<<63 - 1

// Codes of reasons. They are part of the v1 promise: a code never changes its meaning.
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
	LxcfsMemory   = "lxcfs-memory"
	AddressSpace  = "address-space"
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
	ProcsAbove    = "procs-above-limit"
	ProcsBelow    = "procs-below-limit"
	NotMeasured   = "memory-not-measured"
	RequestUnused = "request-unused"
	HintUnused    = "hint-unused"
)

// Decide returns the plan for an input: Choose's, with Review's warnings.
func Decide(in *Input) *Plan {
	p := Choose(in)
	Review(in, p)
	return p
}

// Choose is Decide without the warnings of Review: package auto does not link them.
func Choose(in *Input) *Plan {
	p := &Plan{
		Runtime:  RuntimeProcs(&in.Limits.CPU, in.Go),
		Warnings: append(in.Warnings[:len(in.Warnings):len(in.Warnings)], in.Limits.Warnings...),
	}
	in.procs(p)
	in.memory(p)
	// GOGC is set only if the policy names a value.
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
	return p
}

// These helpers store many words and are called from many places. Inlined they would add
// 10 KB to every program that imports snug.

// Warn adds a warning. number is what its subject does not fit, in cores or bytes, or 0.
//
//go:noinline
func Warn(to *[]limits.Warning, code string, from *limits.Source, number float64) {
	*to = append(*to, limits.Warning{Code: code, Source: *from, Number: number})
}

//go:noinline
func (p *Plan) warn(code string, from *limits.Source, number float64) {
	Warn(&p.Warnings, code, from, number)
}

// warnEnv warns about a variable that Go cannot parse.
//
//go:noinline
func (p *Plan) warnEnv(name, value string) {
	p.warn(EnvInvalid, &limits.Source{File: name, Raw: value}, 0)
}

// because sets the reason of a setting. from may be nil.
//
//go:noinline
func (s *Setting) because(code string, number float64, from *limits.Source) {
	if from == nil {
		from = &limits.Source{}
	}
	s.Reason = Reason{code, number, *from}
}

// ignore adds a reason that does not decide.
//
//go:noinline
func (s *Setting) ignore(r *Reason) { s.Ignored = append(s.Ignored, *r) }

// unused adds a hint that does not decide.
//
//go:noinline
func (s *Setting) unused(code string, number float64) {
	s.ignore(&Reason{Code: code, Number: number})
}

// leave leaves a knob alone, and lists any reason to set it as ignored.
//
//go:noinline
func (s *Setting) leave(code string, number float64) {
	if s.Value != 0 {
		s.ignore(&s.Reason)
	}
	s.Value, s.Leave = 0, true
	s.because(code, number, nil)
}

// Nothing returns the plan that leaves every knob alone.
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

// NewestKnown is the minor version of the newest Go release whose reader of the CPU quota
// RuntimeProcs is known to model.
const NewestKnown = 27

// RuntimeProcs returns the GOMAXPROCS that the runtime of a Go release chooses by itself
// (runtime/cgroup_linux.go): min(affinity, max(2, ceil(quota))), with the quota of the
// process's own cgroup only, where the release finds it. Up to Go 1.24 it is the affinity;
// Go 1.25, and 1.26 with 1.27, find the quota in different places (limits.CPU.RuntimeLevel). For a
// release that is unknown, or newer, the newest known one is assumed. It is 0 if affinity is
// unknown, and Crash if converting the quota to an int32 overflows.
//
//go:noinline
func RuntimeProcs(c *limits.CPU, g Go) int {
	return runtimeProcs(c, g, c.Affinity.N)
}

// RuntimeLevel returns the level whose quota the runtime of a Go release reads, nil if none.
func RuntimeLevel(c *limits.CPU, g Go) *limits.CPULevel {
	switch {
	case g.Blind || g.Minor != 0 && g.Minor < 25:
		return nil
	case g.Minor == 25:
		return c.RuntimeLevel125
	}
	return c.RuntimeLevel
}

func runtimeProcs(c *limits.CPU, g Go, cpus int) int {
	if cpus == 0 {
		return 0
	}
	own := RuntimeLevel(c, g)
	if own == nil {
		return cpus
	}
	if own.CrashesGo {
		return Crash
	}
	if cores, ok := own.GoQuota.Get(); ok && cores < float64(cpus) {
		return min(cpus, GoProcs(cores))
	}
	return cpus
}

// Automaxprocs returns the GOMAXPROCS that go.uber.org/automaxprocs sets when called; 0 if it is
// not linked in, or sees no quota and leaves the knob alone.
func Automaxprocs(c *limits.CPU, g Go) int {
	if g.Automaxprocs && len(c.Levels) > 0 {
		if cores, ok := c.Levels[0].Quota.Get(); ok && cores < maxProcs {
			return max(1, int(cores))
		}
	}
	return 0
}
