// SPDX-License-Identifier: Apache-2.0

// Package podpatch decides what a container of a pod should be given so that a Go program in
// it fits: GOMAXPROCS, GOMEMLIMIT, and a restart if a resize would leave them stale. It is one
// pure function from facts and policy to entries with their reasons. Package plan decides how
// much memory and how many Ps, as for the library and `snug run`.
package podpatch

import (
	_ "embed"
	"strconv"

	"github.com/snug-go/snug/cmd/snug/internal/report/units"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// Prefix begins every annotation and label of snug.
const Prefix = "snug.dev/"

// Words explains the codes of reasons, in the format of package explain.
//
//go:embed reasons.md
var Words string

// Container holds what is known about a container before it runs.
type Container struct {
	Program Program

	// The effective limits and requests, which may be the pod's or a LimitRange's. Unknown =
	// they are filled in later, for example by a template.
	CPULimit, CPURequest limits.Value[int64] // thousandths of a core
	MemoryLimit          limits.Value[int64] // bytes
	// MemoryShared says that the memory limit is the pod's and that other containers share
	// it.
	MemoryShared bool

	// Set are the variables in env, or in an envFrom with known keys.
	Set map[string]bool
	// Opaque says that an envFrom may set any variable.
	Opaque bool
	// Resize is the container's resizePolicy: "cpu", "memory" -> NotRequired or
	// RestartContainer; "" = NotRequired.
	Resize map[string]string
	// NoRestart says that a resize cannot restart the container: it is an init container
	// that ends, or its pod has the restartPolicy Never.
	// Source: k8s.io/kubernetes/pkg/apis/core/validation, validateResizePolicy.
	NoRestart bool
	// Windows says that the pod runs on Windows.
	Windows bool
}

// Program holds what is known about the program in a container.
type Program struct {
	State State
	Go    plan.Go // if State is IsGo
}

// State says whether a program is a Go program.
type State uint8

const (
	Unknown State = iota
	IsGo
	NotGo
)

// Policy configures Decide. The zero Policy is the default.
type Policy struct {
	// OptIn treats every program as a Go program, and one of an unknown Go as a program that
	// does not read the quota. The variables do not affect other programs, but these pass
	// them on to their children.
	OptIn bool
	Round plan.Round
	// MinProcs is the minimum of GOMAXPROCS, 0 = package plan's.
	MinProcs int
	Memory   plan.Memory // the share of the memory limit; the zero Memory leaves a tenth, and at least 8 MiB
	// RequestFactor is the number of Ps per requested core in containers without a CPU
	// limit; 0 = no GOMAXPROCS.
	RequestFactor float64
	// Restart adds a resizePolicy that restarts the container when the CPU limit changes, if
	// GOMAXPROCS becomes a reference to it. A resize changes no variable, and a restart only
	// references.
	Restart bool
}

// Patch holds what a container should be given. The zero Patch is nothing.
type Patch struct {
	Env     []Env
	Resize  []string // resources that get RestartContainer
	Reasons []Reason // at least one for each of GOMAXPROCS and GOMEMLIMIT
}

// Env is a variable to add: a value, or a reference to a resource with the divisor 1.
type Env struct{ Name, Value, Resource string }

// Reason says why a variable is set, or is left alone.
type Reason struct {
	Code   string
	Knob   string // GOMAXPROCS or GOMEMLIMIT
	Number int64  // the number that the code is about: Ps, bytes; 0 = none
}

// Codes of reasons. A code never changes its meaning.
const (
	MemoryShare     = "pod-memory-share"
	MemorySmall     = "pod-memory-small"
	MemoryShared    = "pod-memory-shared"
	NoMemoryLimit   = "pod-no-memory-limit"
	UnknownLimit    = "pod-unknown-limit"
	ProcsReference  = "pod-procs-reference"
	ProcsValue      = "pod-procs-value"
	ProcsRequest    = "pod-procs-request"
	ProcsFollow     = "pod-procs-follow"
	ProcsPinned     = "pod-procs-pinned"
	NoCPULimit      = "pod-no-cpu-limit"
	EnvSet          = "pod-env-set"
	EnvOpaque       = "pod-env-opaque"
	NotAGoProgram   = "pod-not-go"
	UnknownProgram  = "pod-unknown-program"
	TooOld          = "pod-go-too-old"
	RestartOnResize = "pod-restart-on-resize"
	OptedOut        = "pod-opted-out"
	LabelWrong      = "pod-label-wrong"
	Excluded        = "pod-excluded"
	OnWindows       = "pod-windows"
	NoRoom          = "pod-no-room"
)

// Nothing returns an empty patch with a reason.
func Nothing(code string) Patch {
	return Patch{Reasons: []Reason{{Code: code, Knob: "GOMAXPROCS"}, {Code: code, Knob: "GOMEMLIMIT"}}}
}

// Decide returns what a container should be given. It never changes a variable that is set.
func Decide(c *Container, policy *Policy) Patch {
	if c.Windows {
		return Nothing(OnWindows)
	}
	var p Patch
	p.procs(c, policy)
	p.memory(c, policy)
	return p
}

func (p *Patch) because(code, knob string, number int64) {
	p.Reasons = append(p.Reasons, Reason{code, knob, number})
}

// excluded reports whether a knob is left alone, whatever the limits are, and adds the reason.
func (p *Patch) excluded(c *Container, policy *Policy, knob string) bool {
	switch {
	case c.Program.State == NotGo && !policy.OptIn:
		p.because(NotAGoProgram, knob, 0)
	case c.Program.State == Unknown && !policy.OptIn:
		p.because(UnknownProgram, knob, 0)
	case c.Set[knob]:
		if _, limited := c.cpuLimit(); knob == "GOMAXPROCS" && c.follows() && limited {
			p.because(ProcsPinned, knob, 0)
			return true
		}
		p.because(EnvSet, knob, 0)
	case c.Opaque:
		p.because(EnvOpaque, knob, 0)
	default:
		return false
	}
	return true
}

// follows reports whether the program is known to follow its CPU quota by itself.
func (c *Container) follows() bool {
	g := c.Program.Go
	return c.Program.State == IsGo && !g.Blind && g.Minor >= 25
}

// cpuLimit returns the CPU limit in thousandths of a core; false = none, or unknown.
func (c *Container) cpuLimit() (int64, bool) {
	limit, ok := c.CPULimit.Get()
	return limit, ok && limit < MaxMilli
}

// MaxMilli and MaxBytes are above those of any machine: an amount of MaxMilli or more, or
// above MaxBytes, counts as no limit.
const (
	MaxMilli = 8192 * 1000
	MaxBytes = 1_000_000_000_000_000_000
)

func (p *Patch) procs(c *Container, policy *Policy) {
	const knob = "GOMAXPROCS"
	if p.excluded(c, policy, knob) {
		return
	}
	limit, limited := c.cpuLimit()
	by := plan.Policy{Round: policy.Round, MinProcs: policy.MinProcs, RequestFactor: policy.RequestFactor}
	switch {
	case c.CPULimit.State == limits.Unknown:
		p.because(UnknownLimit, knob, 0)
	case !limited:
		request, ok := c.CPURequest.Get()
		if !(policy.RequestFactor > 0) || !ok || request <= 0 {
			p.because(NoCPULimit, knob, 0)
			return
		}
		p.number(plan.ProcsForRequest(cores(request), &by), ProcsRequest)
	case c.follows():
		p.because(ProcsFollow, knob, 0)
	default:
		n := plan.ProcsForLimit(cores(limit), &by)
		if policy.Round != plan.Ceil || n != ByReference(limit) {
			p.number(n, ProcsValue)
			return
		}
		p.set(Env{Name: knob, Resource: "limits.cpu"}, ProcsReference, n)
		p.restart(c, policy, "cpu", knob)
	}
}

func cores(milli int64) float64 { return float64(milli) / 1000 }

// ByReference returns the number that a reference to a CPU limit with the divisor 1 gives: rounded up.
// Source: k8s.io/kubernetes/pkg/api/v1/resource, convertResourceCPUToString.
func ByReference(milli int64) int64 { return (milli + 999) / 1000 }

// number sets GOMAXPROCS as a literal, unless package plan gives none: the cores are more than a machine can have.
func (p *Patch) number(n int64, code string) {
	if n <= 0 {
		p.because(NoCPULimit, "GOMAXPROCS", 0)
		return
	}
	p.set(Env{Name: "GOMAXPROCS", Value: strconv.FormatInt(n, 10)}, code, n)
}

func (p *Patch) set(e Env, code string, number int64) {
	p.Env = append(p.Env, e)
	p.because(code, e.Name, number)
}

// restart requests a restart for a resize of a resource that a variable refers to, unless the
// container's resizePolicy has the resource. A restart does not change a literal.
func (p *Patch) restart(c *Container, policy *Policy, resource, knob string) {
	if policy.Restart && !c.NoRestart && c.Resize[resource] == "" {
		p.Resize = append(p.Resize, resource)
		p.because(RestartOnResize, knob, 0)
	}
}

func (p *Patch) memory(c *Container, policy *Policy) {
	const knob = "GOMEMLIMIT"
	if g := c.Program.Go; c.Program.State == IsGo && g.Minor != 0 && g.Minor < 19 {
		p.because(TooOld, knob, int64(g.Minor))
		return
	}
	if p.excluded(c, policy, knob) {
		return
	}
	limit, limited := c.MemoryLimit.Get()
	if !limited || limit > MaxBytes {
		code := NoMemoryLimit
		if c.MemoryLimit.State == limits.Unknown {
			code = UnknownLimit
		}
		p.because(code, knob, 0)
		return
	}
	if c.MemoryShared {
		p.because(MemoryShared, knob, limit)
		return
	}
	n := plan.MemoryForLimit(limit, &plan.Policy{Memory: policy.Memory})
	if n <= 0 {
		p.because(MemorySmall, knob, limit)
		return
	}
	p.set(Env{Name: knob, Value: units.GoMebibytes(n)}, MemoryShare, n)
}
