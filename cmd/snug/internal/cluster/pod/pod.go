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
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podid"
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

// Restarts reports whether a resize of a resource restarts the container.
func (c *Container) Restarts(resource string) bool {
	for _, r := range c.Resize {
		if r == (Resizing{resource, "RestartContainer"}) {
			return true
		}
	}
	return false
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
	if m := p.Metadata; m != nil && !(Short(m.Name) && Short(m.GenerateName) && Short(m.Controller.Kind) && Short(m.Controller.Name)) {
		return false
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
