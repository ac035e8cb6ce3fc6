// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
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
// where its namespace's labels would tell, and are not known. A word that is neither
// Enabled nor Disabled opts nobody in.
func (c *Config) OptedIn(p *Pod) (yes, known bool) {
	if slices.Contains(c.Namespaces, p.Namespace) {
		return false, true
	}
	word, said := p.Labels[InjectLabel]
	known = said || p.NamespaceLabels != nil
	if !said {
		word, said = p.NamespaceLabels[InjectLabel]
	}
	if !said {
		return c.All, known
	}
	return word == Enabled, known
}

// WrongLabel is which of the labels that decide about a pod have a word that is neither
// Enabled nor Disabled: "snug.dev/inject=true on the pod"; "" = none. inject is
// InjectLabel, which then opts the pod out, of its own or its namespace's, where that is
// known; others are the others, which then say nothing.
func WrongLabel(p *Pod) (inject, others string) {
	wrong := func(labels map[string]string, key, at string) string {
		if word, said := labels[key]; said && word != Enabled && word != Disabled {
			return key + "=" + word + " on the " + at
		}
		return ""
	}
	of, at := p.Labels, "pod"
	if _, own := of[InjectLabel]; !own {
		of, at = p.NamespaceLabels, "namespace"
	}
	others = wrong(p.Labels, ProcsLabel, "pod")
	if restart := wrong(p.Labels, RestartLabel, "pod"); restart != "" && others != "" {
		others += ", " + restart
	} else {
		others += restart
	}
	return wrong(of, InjectLabel, at), others
}

// Decide says what a container of a pod that is opted in should be given: the
// same that the policies do. The facts' Program is not looked at: who is opted in
// is taken for a program of Go, and without ProcsLabel for one that follows its
// CPU limit.
func (c *Config) Decide(p *Pod, name string, facts podpatch.Container) podpatch.Patch {
	facts.Program = podpatch.Program{}
	return c.DecideKnowing(p, name, facts)
}

// DecideKnowing is Decide for who may know the program. ProcsLabel still says of all the
// pod's containers, Enabled, that they run programs of Go which do not follow their CPU
// limit, or, Disabled, that those of Go do: who wrote it knows better than who has seen the
// last pod. Without it what is known decides, and a Program of the state Unknown is taken
// for what Decide takes every one for.
func (c *Config) DecideKnowing(p *Pod, name string, facts podpatch.Container) podpatch.Patch {
	if slices.Contains(c.Containers, name) {
		return podpatch.Nothing(podpatch.Excluded)
	}
	labelled, follows := p.Labels[ProcsLabel] == Enabled, p.Labels[ProcsLabel] == Disabled
	if state := facts.Program.State; state == podpatch.Unknown || state == podpatch.NotGo && labelled {
		facts.Program = podpatch.Program{State: podpatch.IsGo, Go: plan.Go{Minor: 25}}
	}
	facts.Program.Go.Blind = facts.Program.Go.Blind || labelled
	facts.Opaque = facts.Opaque && !c.OverEnvFrom
	how := &podpatch.Policy{
		Round: c.Round, MinProcs: c.MinProcs, Memory: c.Memory, RequestFactor: c.RequestFactor, Restart: p.Labels[RestartLabel] == Enabled,
	}
	patch := podpatch.Decide(&facts, how)
	if !follows || facts.Program.State != podpatch.IsGo {
		return patch
	}
	// An old Go follows its limit where a library sees to it; what it can do with GOMEMLIMIT
	// is as it was.
	facts.Program.Go = plan.Go{Minor: 25}
	procs, memory := only(podpatch.Decide(&facts, how), "GOMAXPROCS"), only(patch, "GOMEMLIMIT")
	return podpatch.Patch{Env: slices.Concat(procs.Env, memory.Env), Resize: procs.Resize, Reasons: slices.Concat(procs.Reasons, memory.Reasons)}
}

// only is what a patch says of one variable.
func only(p podpatch.Patch, knob string) podpatch.Patch {
	p.Env = slices.DeleteFunc(p.Env, func(e podpatch.Env) bool { return e.Name != knob })
	p.Reasons = slices.DeleteFunc(p.Reasons, func(r podpatch.Reason) bool { return r.Knob != knob })
	return p
}
