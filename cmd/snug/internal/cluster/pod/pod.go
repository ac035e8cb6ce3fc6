// SPDX-License-Identifier: Apache-2.0

// Package pod has the fields of a pod that snug uses. The webhook gets a pod in a review, the
// agent reads it from the API server, and a manifest describes it. All use the same struct, and
// the same function derives the facts of a container from it.
//
// # Hostile text
//
// A user who may create a pod controls most of its text. Package json of
// github.com/go-json-experiment matches names byte for byte and refuses duplicate names, so
// that snug reads the same members as the API server stores. Lists and maps keep only elements
// that are used, up to a bound, because elements take more memory than text.
package pod

import (
	"cmp"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podid"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/quantity"
	"github.com/snug-go/snug/limits"
)

// An API server sends objects as it stores them: with defaults, with quantities as strings, and
// without empty lists and maps.
// Source: k8s.io/api/core/v1.
type (
	// Pod is a pod. Metadata may be nil.
	Pod struct {
		Metadata *Metadata `json:"metadata"`
		Spec     Spec      `json:"spec"`
	}
	Metadata struct {
		Namespace       string `json:"namespace"`
		Name            string `json:"name"`
		GenerateName    string `json:"generateName"`
		UID             string `json:"uid"`
		ResourceVersion string `json:"resourceVersion"`
		Labels          Texts  `json:"labels"`
		Annotations     Texts  `json:"annotations"`
		Controller      Owner  `json:"ownerReferences"`
		Managed         whole  `json:"managedFields"`
	}
	Spec struct {
		RestartPolicy       string     `json:"restartPolicy"`
		OS                  OS         `json:"os"`
		NodeSelector        Texts      `json:"nodeSelector"`
		Resources           Resources  `json:"resources"` // of the pod as a whole
		InitContainers      Containers `json:"initContainers"`
		Containers          Containers `json:"containers"`
		EphemeralContainers Containers `json:"ephemeralContainers"`
	}
	// OS is the operating system of the nodes that can run a pod; "" = the nodes say it.
	OS struct {
		Name string `json:"name"`
	}
	Container struct {
		Name          string    `json:"name"`
		Image         string    `json:"image"`
		RestartPolicy string    `json:"restartPolicy"` // of an init container; Always makes it a sidecar
		Env           Env       `json:"env"`
		EnvFrom       Count     `json:"envFrom"`
		Resources     Resources `json:"resources"`
		Resize        Resizings `json:"resizePolicy"`
	}
	Resources struct {
		Limits   Amounts `json:"limits"`
		Requests Amounts `json:"requests"`
	}
	Amounts struct {
		CPU    string `json:"cpu"`
		Memory string `json:"memory"`
	}
	// Resizing is an entry of resizePolicy.
	Resizing struct {
		Resource string `json:"resourceName"`
		Policy   string `json:"restartPolicy"`
	}
)

// Role is the role of a container in its pod.
type Role uint8

const (
	Main      Role = iota
	Init           // runs to its end before the main containers
	Sidecar        // an init container that keeps running
	Ephemeral      // added to a running pod
)

func (r Role) String() string { return [...]string{"main", "init", "sidecar", "ephemeral"}[r] }

// AsInit returns the role of an init container.
func (c *Container) AsInit() Role {
	if c.RestartPolicy == "Always" {
		return Sidecar
	}
	return Init
}

// Workload returns the workload of a pod, as podid names it.
func (m *Metadata) Workload() string {
	if c := m.Controller; c.Kind != "" {
		return podid.Workload(c.Kind, c.Name, m.Labels.Of[podid.HashLabel], m.Labels.Of[podid.RolloutHashLabel])
	}
	return podid.Alone(m.Name, m.GenerateName)
}

// maxNameLen bounds a name, in bytes. The API server refuses longer names, but only after it has
// asked webhooks. UIDs, kinds and amounts have the same bound here; none is as long.
// Source: k8s.io/apimachinery/pkg/util/validation, DNS1123SubdomainMaxLength.
const maxNameLen = 253

// Short reports whether a name is within maxNameLen.
func Short(name string) bool { return len(name) <= maxNameLen }

// Sound reports whether all names and lists of a pod are within bounds. Other pods must not be
// examined further, because some of their lists would be searched once per container.
func (p *Pod) Sound() bool {
	if m := p.Metadata; m != nil {
		for _, name := range [...]string{m.Name, m.GenerateName, m.Controller.Kind, m.Controller.Name} {
			if !Short(name) {
				return false
			}
		}
	}
	vars := 0
	for _, all := range [...]Containers{p.Spec.InitContainers, p.Spec.Containers} {
		if len(all) > maxContainers {
			return false
		}
		for i := range all {
			c := &all[i]
			if !Short(c.Name) || !c.Resources.short() || len(c.Env.Vars) > maxVars || len(c.Resize) > maxResizings {
				return false
			}
			vars += len(c.Env.Vars)
		}
	}
	return p.Spec.Resources.short() && vars <= maxPodVars
}

func (r *Resources) short() bool {
	return Short(r.Limits.CPU) && Short(r.Limits.Memory) && Short(r.Requests.CPU) && Short(r.Requests.Memory)
}

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
