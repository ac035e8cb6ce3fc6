// SPDX-License-Identifier: Apache-2.0

// Package pod is a pod as far as snug goes by it: what the webhook is asked about, what
// the agent reads from the API server, and what a manifest describes. One struct for all
// of them, and one place where it becomes the facts that a container is decided on by.
//
// # Hostile text
//
// Whoever may create a pod writes most of its text. Reading by package json of
// github.com/go-json-experiment takes a name for another's only where it is the same to the
// byte, and refuses an object that has a name twice, so that nobody is given by one member
// what the API server does not store. Lists and maps keep what is of interest, up to a bound:
// elements take more room here than in a text.
package pod

import (
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podid"
)

// An API server sends objects as it stores them: defaulted, quantities as text, absent lists
// and maps left out.
// Source: k8s.io/api/core/v1.
type (
	// Pod is a pod. Metadata is nil where there is none.
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
		Resources           Resources  `json:"resources"` // of the pod as a whole
		InitContainers      Containers `json:"initContainers"`
		Containers          Containers `json:"containers"`
		EphemeralContainers Containers `json:"ephemeralContainers"`
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

// Role is what a container is for.
type Role uint8

const (
	Main      Role = iota
	Init           // runs before, to its end
	Sidecar        // an init container that keeps running
	Ephemeral      // put into a running pod
)

func (r Role) String() string { return [...]string{"main", "init", "sidecar", "ephemeral"}[r] }

// AsInit is the role of an init container.
func (c *Container) AsInit() Role {
	if c.RestartPolicy == "Always" {
		return Sidecar
	}
	return Init
}

// Restarts tells whether the container is restarted by a resize of a resource.
func (c *Container) Restarts(resource string) bool {
	for _, r := range c.Resize {
		if r == (Resizing{resource, "RestartContainer"}) {
			return true
		}
	}
	return false
}

// Workload is what a pod belongs to, as podid names it.
func (m *Metadata) Workload() string {
	if c := m.Controller; c.Kind != "" {
		return podid.Workload(c.Kind, c.Name, m.Labels.Of[podid.HashLabel], m.Labels.Of[podid.RolloutHashLabel])
	}
	return podid.Alone(m.Name, m.GenerateName)
}

// mostName bounds a name, in bytes: longer ones are refused, but only after a webhook was
// asked. What is looked at again for each container is bounded as a name is, though no
// validation does that for all of it: no UID, kind or amount is as long.
// Source: k8s.io/apimachinery/pkg/util/validation, DNS1123SubdomainMaxLength.
const mostName = 253

// Short tells whether a name is no longer than one can be.
func Short(name string) bool { return len(name) <= mostName }

// Sound tells whether a pod has no name that is longer, and no list that has more, than a
// pod can have. One that has is not looked into: what its containers have in common would be
// gone through for each of them.
func (p *Pod) Sound() bool {
	if m := p.Metadata; m != nil && !(Short(m.Name) && Short(m.GenerateName) && Short(m.Controller.Kind) && Short(m.Controller.Name)) {
		return false
	}
	vars := 0
	for _, all := range [...]Containers{p.Spec.InitContainers, p.Spec.Containers} {
		if len(all) > mostContainers {
			return false
		}
		for i := range all {
			c := &all[i]
			if !Short(c.Name) || !c.Resources.short() || len(c.Env.Vars) > mostVars || len(c.Resize) > mostResizings {
				return false
			}
			vars += len(c.Env.Vars)
		}
	}
	return p.Spec.Resources.short() && vars <= mostInAll
}

func (r *Resources) short() bool {
	return Short(r.Limits.CPU) && Short(r.Limits.Memory) && Short(r.Requests.CPU) && Short(r.Requests.Memory)
}
