// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"cmp"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/quantity"
	"github.com/snug-go/snug/limits"
)

// OSLabel is the label of nodes with their operating system.
// Source: k8s.io/api/core/v1, LabelOSStable.
const OSLabel = "kubernetes.io/os"

// Windows reports whether the pod asks for nodes with Windows, by its os or its nodeSelector.
func (s *Spec) Windows() bool {
	return s.OS.Name == "windows" || s.NodeSelector.Of[OSLabel] == "windows"
}

// The variables that snug sets.
const (
	Procs  = "GOMAXPROCS"
	Memory = "GOMEMLIMIT"
)

// Given holds the effective amounts of a container, whatever their source.
type Given struct {
	CPULimit, CPURequest limits.Value[int64] // thousandths of a core
	MemoryLimit          limits.Value[int64] // bytes
	OfPod                bool                // the memory limit is the pod's
}

// Given returns the amounts of a container in a pod as an API server stores it, with all
// defaults written in it.
func (p *Pod) Given(c *Container) Given {
	own, all := &c.Resources, &p.Spec.Resources.Limits
	return Given{
		CPULimit: amount(cmp.Or(own.Limits.CPU, all.CPU), Milli), CPURequest: amount(own.Requests.CPU, Milli),
		MemoryLimit: amount(cmp.Or(own.Limits.Memory, all.Memory), Bytes), OfPod: own.Limits.Memory == "",
	}
}

// Beside counts the containers that run side by side in a pod.
type Beside struct{ main, sidecars int }

// Beside counts the containers of the pod.
func (p *Pod) Beside() Beside {
	b := Beside{main: len(p.Spec.Containers)}
	for i := range p.Spec.InitContainers {
		if p.Spec.InitContainers[i].AsInit() == Sidecar {
			b.sidecars++
		}
	}
	return b
}

// others returns the number of containers that run beside one.
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

// Facts returns the facts for podpatch, except for the program. The webhook, policies and lint
// use it.
func (p *Pod) Facts(c *Container, as Role, beside Beside, given Given) podpatch.Container {
	f := podpatch.Container{
		CPULimit: given.CPULimit, CPURequest: given.CPURequest, MemoryLimit: given.MemoryLimit,
		MemoryShared: given.OfPod && beside.others(as) > 0,
		Opaque:       c.EnvFrom > 0, NoRestart: as == Init || p.Spec.RestartPolicy == "Never", Windows: p.Spec.Windows(),
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

// An amount above that of any machine counts as no limit.
const (
	maxMemory = 1 << 60          // bytes
	maxCPU    = 1_000_000 * 1000 // thousandths of a core
)

// Milli returns an amount of CPU in thousandths of a core.
func Milli(q quantity.Quantity) limits.Value[int64] { return upTo(q.Milli(), maxCPU) }

// Bytes returns an amount of memory in bytes.
func Bytes(q quantity.Quantity) limits.Value[int64] { return upTo(q.Value(), maxMemory) }

// upTo returns n, or no limit if n is 0 or above bound.
func upTo(n, bound int64) limits.Value[int64] {
	if n <= 0 || n > bound {
		return limits.NoLimit[int64]()
	}
	return limits.Of(n)
}

// amount parses an amount. "" is no limit; an invalid amount is unknown.
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
