// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"cmp"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/quantity"
	"github.com/snug-go/snug/limits"
)

// The variables that a pod is given.
const (
	Procs  = "GOMAXPROCS"
	Memory = "GOMEMLIMIT"
)

// Given is what holds for a container, wherever it comes from.
type Given struct {
	CPULimit, CPURequest limits.Value[int64] // thousandths of a core
	MemoryLimit          limits.Value[int64] // bytes
	OfPod                bool                // the memory limit is the pod's
}

// Given is what holds for a container of a pod that is as an API server stores it: it has no
// defaults that are not written in it.
func (p *Pod) Given(c *Container) Given {
	own, all := &c.Resources, &p.Spec.Resources.Limits
	return Given{
		CPULimit: amount(cmp.Or(own.Limits.CPU, all.CPU), Milli), CPURequest: amount(own.Requests.CPU, Milli),
		MemoryLimit: amount(cmp.Or(own.Limits.Memory, all.Memory), Bytes), OfPod: own.Limits.Memory == "",
	}
}

// Beside is how many containers of a pod run for as long as others do.
type Beside struct{ main, sidecars int }

// Beside counts containers.
func (p *Pod) Beside() Beside {
	b := Beside{main: len(p.Spec.Containers)}
	for i := range p.Spec.InitContainers {
		if p.Spec.InitContainers[i].AsInit() == Sidecar {
			b.sidecars++
		}
	}
	return b
}

// others is how many containers run beside one.
func (b Beside) others(as Role) int {
	switch as {
	case Init:
		return b.sidecars
	case Main, Sidecar:
		return b.main + b.sidecars - 1 // itself
	default:
		return b.main + b.sidecars
	}
}

// Facts are what decides on a container, the program left out: those of the webhook, of
// policies and of lint.
func (p *Pod) Facts(c *Container, as Role, beside Beside, given Given) podpatch.Container {
	f := podpatch.Container{
		CPULimit: given.CPULimit, CPURequest: given.CPURequest, MemoryLimit: given.MemoryLimit,
		MemoryShared: given.OfPod && beside.others(as) > 0,
		Opaque:       c.EnvFrom > 0, NoRestart: as == Init || p.Spec.RestartPolicy == "Never",
	}
	for _, v := range c.Env.Vars {
		if f.Set == nil {
			f.Set = map[string]bool{}
		}
		f.Set[v.Name] = true
	}
	for _, r := range c.Resize {
		if f.Resize == nil {
			f.Resize = map[string]string{}
		}
		f.Resize[r.Resource] = r.Policy
	}
	return f
}

// What no machine has is as good as no limit.
const (
	mostMemory = 1 << 60          // bytes
	mostCPU    = 1_000_000 * 1000 // thousandths of a core
)

// Milli is an amount of CPU in thousandths of a core.
func Milli(q quantity.Quantity) limits.Value[int64] { return upTo(q.Milli(), mostCPU) }

// Bytes is an amount of memory.
func Bytes(q quantity.Quantity) limits.Value[int64] { return upTo(q.Value(), mostMemory) }

// upTo takes 0 and what is above most for no limit.
func upTo(n, most int64) limits.Value[int64] {
	if n <= 0 || n > most {
		return limits.NoLimit[int64]()
	}
	return limits.Of(n)
}

// amount reads an amount. "" is none; what is no amount is unknown.
func amount(text string, in func(quantity.Quantity) limits.Value[int64]) limits.Value[int64] {
	if text == "" {
		return limits.NoLimit[int64]()
	}
	q, ok := quantity.Parse(text)
	if !ok {
		return limits.Value[int64]{}
	}
	return in(q)
}
