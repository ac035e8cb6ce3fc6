// SPDX-License-Identifier: Apache-2.0

// Package podpatch decides what a container of a pod should be given, so that a
// Go program in it fits: GOMAXPROCS, GOMEMLIMIT, and a restart where a resize
// would leave them stale. It is one pure function: facts and policy in, entries
// with their reasons out. How much memory and how many Ps is package plan's
// decision, the same that the library and `snug run` take.
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

// Words are what the codes of reasons mean, in sections as explain.md has them.
//
//go:embed reasons.md
var Words string

// Container is what is known of a container before it runs.
type Container struct {
	Program Program

	// Limits and requests, the pod's own or a LimitRange's where they are what
	// counts. Unknown = a template fills them in, or somebody else.
	CPULimit, CPURequest limits.Value[int64] // thousandths of a core
	MemoryLimit          limits.Value[int64] // bytes
	// MemoryShared says that the memory limit is the pod's, and that other
	// containers use of it.
	MemoryShared bool

	// Set are the variables that env has, or an envFrom whose keys are known.
	Set map[string]bool
	// Opaque says that an envFrom may set any variable.
	Opaque bool
	// Resize is the container's resizePolicy: "cpu", "memory" -> NotRequired or
	// RestartContainer. An empty one is NotRequired.
	Resize map[string]string
	// NoRestart says that the container cannot be restarted by a resize: an init
	// container that ends, or one of a pod with the restartPolicy Never.
	// Source: k8s.io/kubernetes/pkg/apis/core/validation, validateResizePolicy.
	NoRestart bool
}

// Program is what is known of the program in a container.
type Program struct {
	State State
	Go    plan.Go // where State is IsGo
}

// State says whether a program is one of Go.
type State uint8

const (
	Unknown State = iota
	IsGo
	NotGo
)

// Policy is how to decide. The zero Policy is the default.
type Policy struct {
	// OptIn takes programs of which it is not known whether, or by which Go,
	// they were built for ones of a Go that does not read the quota. It is
	// harmless to others, but they hand the variables on to their children.
	OptIn bool
	Round plan.Round
	// MinProcs is the least GOMAXPROCS, 0 = 1: what a reference to a limit
	// gives, rounded up.
	MinProcs int
	Memory   plan.Memory // what of the memory limit Go may use; the zero Memory is a tenth less, and 16 MiB
	// RequestFactor is the Ps per requested core of containers without a CPU
	// limit; 0 = leave them alone.
	RequestFactor float64
	// Restart adds a resizePolicy that restarts the container when the CPU limit
	// changes to which GOMAXPROCS was made to refer: a resize changes no variable,
	// and a restart only those that are references.
	Restart bool
}

// Patch is what a container should be given. The zero Patch is nothing.
type Patch struct {
	Env     []Env
	Resize  []string // resources to be given RestartContainer
	Reasons []Reason // at least one for each of GOMAXPROCS and GOMEMLIMIT
}

// Env is a variable to be added: a value, or a reference to a resource with the
// divisor 1.
type Env struct{ Name, Value, Resource string }

// Reason says why a variable is what it is, or is left alone.
type Reason struct {
	Code   string
	Knob   string // GOMAXPROCS or GOMEMLIMIT
	Number int64  // what the code speaks of: Ps, bytes; 0 = nothing
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
)

// Nothing is the patch of a container that nothing is decided for, and why.
func Nothing(code string) Patch {
	return Patch{Reasons: []Reason{{Code: code, Knob: "GOMAXPROCS"}, {Code: code, Knob: "GOMEMLIMIT"}}}
}

// Decide says what a container should be given. It never touches a variable
// that is there already.
func Decide(c *Container, policy *Policy) Patch {
	var p Patch
	p.procs(c, policy)
	p.memory(c, policy)
	return p
}

func (p *Patch) because(code, knob string, number int64) {
	p.Reasons = append(p.Reasons, Reason{code, knob, number})
}

// excluded gives the reason for which a knob is left alone, whatever the limits
// are.
func (p *Patch) excluded(c *Container, policy *Policy, knob string) bool {
	switch {
	case c.Program.State == NotGo && !policy.OptIn:
		p.because(NotAGoProgram, knob, 0)
	case c.Program.State == Unknown && !policy.OptIn:
		p.because(UnknownProgram, knob, 0)
	case c.Set[knob]:
		if knob == "GOMAXPROCS" && c.follows() && c.CPULimit.State == limits.Known {
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

// follows tells whether the program is known to follow its CPU quota by itself.
func (c *Container) follows() bool {
	g := c.Program.Go
	return c.Program.State == IsGo && !g.Blind && g.Minor >= 25
}

// MaxMilli and MaxBytes are more than a machine has: an amount of that much is as
// good as none.
const (
	MaxMilli = 8192 * 1000
	MaxBytes = 1_000_000_000_000_000_000
)

func (p *Patch) procs(c *Container, policy *Policy) {
	const knob = "GOMAXPROCS"
	if p.excluded(c, policy, knob) {
		return
	}
	limit, limited := c.CPULimit.Get()
	limited = limited && limit < MaxMilli
	switch {
	case c.CPULimit.State == limits.Unknown:
		p.because(UnknownLimit, knob, 0)
	case !limited:
		request, ok := c.CPURequest.Get()
		if !(policy.RequestFactor > 0) || !ok || request <= 0 || request >= MaxMilli {
			p.because(NoCPULimit, knob, 0)
			return
		}
		p.number(c, policy, plan.Hints{CPURequest: cores(request)}, ProcsRequest)
	case c.follows():
		p.because(ProcsFollow, knob, 0)
	case policy.Round == plan.Ceil && (policy.MinProcs <= 1 || limit > int64(policy.MinProcs-1)*1000):
		p.set(Env{Name: knob, Resource: "limits.cpu"}, ProcsReference, (limit+999)/1000)
		p.restart(c, policy, "cpu", knob)
	default:
		p.number(c, policy, plan.Hints{CPULimit: cores(limit)}, ProcsValue)
	}
}

func cores(milli int64) float64 { return float64(milli) / 1000 }

// number writes package plan's GOMAXPROCS out. It has none for more cores than
// a machine can have.
func (p *Patch) number(c *Container, policy *Policy, h plan.Hints, code string) {
	in := plan.Input{Hints: h, Policy: plan.Policy{Round: policy.Round, MinProcs: max(1, policy.MinProcs), RequestFactor: policy.RequestFactor}}
	n := plan.Decide(&in).GOMAXPROCS.Value
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

// restart asks for a restart when a resource is resized to which a variable refers,
// unless the container says something of it already. What is written out a restart
// would read again as it is.
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
	in := plan.Input{Hints: plan.Hints{MemoryLimit: limit}, Policy: plan.Policy{Memory: policy.Memory}}
	n := plan.Decide(&in).GOMEMLIMIT.Value
	if n <= 0 {
		p.because(MemorySmall, knob, limit)
		return
	}
	p.set(Env{Name: knob, Value: units.GoMebibytes(n)}, MemoryShare, n)
}
