// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/internal/plan"
)

// Pod holds what decides whether a pod is opted in.
type Pod struct {
	Namespace string
	Labels    map[string]string
	// NamespaceLabels are the labels of its namespace; nil = unknown.
	NamespaceLabels map[string]string
}

// OptedIn reports whether a pod is opted in. known is false if that depends on unknown labels
// of its namespace. A value other than Enabled or Disabled does not opt in.
func (c *Config) OptedIn(p *Pod) (yes, known bool) {
	if slices.Contains(c.Namespaces, p.Namespace) {
		return false, true
	}
	value, ok := p.Labels[InjectLabel]
	known = ok || p.NamespaceLabels != nil
	if !ok {
		value, ok = p.NamespaceLabels[InjectLabel]
	}
	if !ok {
		return c.All, known
	}
	return value == Enabled, known
}

// WrongLabel returns the labels of a pod that are neither Enabled nor Disabled, such as
// "snug.dev/inject=true on the pod"; "" = none. inject is InjectLabel, of the pod or else of
// its namespace, if known; it then opts the pod out. others are the other labels, which are
// then ignored.
func WrongLabel(p *Pod) (inject, others string) {
	wrong := func(labels map[string]string, key, at string) string {
		if value, ok := labels[key]; ok && value != Enabled && value != Disabled {
			return key + "=" + value + " on the " + at
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

// MaxNoted bounds the annotations of a pod, with that of what it is given, in bytes: a pod with more is
// given nothing, as by fit.yaml.tmpl.
const MaxNoted = 262_000

// Decide returns what a container of a pod that is opted in should be given, like the policies.
// It ignores facts.Program: it assumes a Go program, which without ProcsLabel follows its CPU
// limit.
func (c *Config) Decide(p *Pod, name string, facts podpatch.Container) podpatch.Patch {
	facts.Program = podpatch.Program{}
	return c.DecideKnowing(p, name, facts)
}

// DecideKnowing is Decide for a caller that may know the program. ProcsLabel wins over
// facts.Program for all containers of the pod: Enabled says that they run Go programs that do
// not follow their CPU limit, Disabled that their Go programs do. An Unknown program is treated
// as in Decide.
func (c *Config) DecideKnowing(p *Pod, name string, facts podpatch.Container) podpatch.Patch {
	if slices.Contains(c.Containers, name) {
		return podpatch.Nothing(podpatch.Excluded)
	}
	labelled, follows := p.Labels[ProcsLabel] == Enabled, p.Labels[ProcsLabel] == Disabled
	if state := facts.Program.State; state == podpatch.Unknown || state == podpatch.NotGo && labelled {
		facts.Program = podpatch.Program{State: podpatch.IsGo, Go: plan.Go{Minor: plan.NewestKnown}}
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
	// With Disabled, an old Go follows its limit by a library, but whether it supports
	// GOMEMLIMIT still depends on its version.
	facts.Program.Go = plan.Go{Minor: plan.NewestKnown}
	procs, memory := only(podpatch.Decide(&facts, how), "GOMAXPROCS"), only(patch, "GOMEMLIMIT")
	return podpatch.Patch{Env: slices.Concat(procs.Env, memory.Env), Resize: procs.Resize, Reasons: slices.Concat(procs.Reasons, memory.Reasons)}
}

// only returns the part of a patch about one variable.
func only(p podpatch.Patch, knob string) podpatch.Patch {
	p.Env = slices.DeleteFunc(p.Env, func(e podpatch.Env) bool { return e.Name != knob })
	p.Reasons = slices.DeleteFunc(p.Reasons, func(r podpatch.Reason) bool { return r.Knob != knob })
	return p
}
