// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/kube/podpatch"
	"github.com/snug-go/snug/internal/plan"
)

// Pod is what of a pod decides who is given anything.
type Pod struct {
	Namespace string
	Labels    map[string]string
	// NamespaceLabels are those of its namespace; nil = they are not known.
	NamespaceLabels map[string]string
}

// OptedIn tells whether a pod is to be given anything at all. known is false
// where its namespace's labels would tell, and are not known.
func (c *Config) OptedIn(p *Pod) (yes, known bool) {
	if slices.Contains(c.Namespaces, p.Namespace) {
		return false, true
	}
	word, own := p.Labels[InjectLabel]
	if !own {
		word = p.NamespaceLabels[InjectLabel]
		known = p.NamespaceLabels != nil
	}
	if c.All {
		return word != Disabled, own || known
	}
	return word == Enabled, own || known
}

// Decide says what a container of a pod that is opted in should be given: the
// same that the policies do. The facts' Program is not looked at: who is opted in
// is taken for a program of Go, and without ProcsLabel for one that follows its
// CPU limit.
func (c *Config) Decide(p *Pod, name string, facts podpatch.Container) podpatch.Patch {
	facts.Program = podpatch.Program{}
	return c.DecideKnowing(p, name, facts)
}

// DecideKnowing is Decide for who may know the program: what is known of it decides,
// whatever ProcsLabel says. A Program of the state Unknown is taken for what Decide
// takes every program for.
func (c *Config) DecideKnowing(p *Pod, name string, facts podpatch.Container) podpatch.Patch {
	if slices.Contains(c.Containers, name) {
		return podpatch.Nothing(podpatch.Excluded)
	}
	if facts.Program.State == podpatch.Unknown {
		facts.Program = podpatch.Program{State: podpatch.IsGo, Go: plan.Go{Minor: 25, Blind: p.Labels[ProcsLabel] == Enabled}}
	}
	facts.Opaque = facts.Opaque && !c.OverEnvFrom
	return podpatch.Decide(&facts, &podpatch.Policy{
		Round: c.Round, MinProcs: c.MinProcs, Memory: c.Memory, RequestFactor: c.RequestFactor, Restart: p.Labels[RestartLabel] == Enabled,
	})
}
