// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/lint"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/pod"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// hasNoRoom reports whether the annotations of a pod leave no room for that of what its containers, the
// first of all, would be given if it is opted in.
func hasNoRoom(c *policy.Config, all []lint.Described) bool {
	p := all[0].Pod.Value()
	about := policy.Pod{Namespace: all[0].Object.Namespace, Labels: all[0].Pod.Labels()}
	before, given := p.Note(), pod.Reasons{}
	for i := range all {
		if all[i].Pod != all[0].Pod {
			break
		}
		container := all[i].Container.Value()
		patch := c.Decide(&about, container.Name, all[i].Facts)
		given.Add(container, &patch, true)
		correct(c, &about, &all[i], &patch, &before)
	}
	key := policy.AddedAnnotation
	if c.Observe {
		key = policy.ObservedAnnotation
	}
	notes := p.Metadata.Annotations
	size := notes.Size
	for _, key := range []string{key, policy.SkippedAnnotation} {
		if old, ok := notes.Of[key]; ok {
			size -= len(key) + len(old)
		}
	}
	return size+utf8.RuneCountInString(before.With(given.String())) >= policy.MaxNoted
}

func givenTo(c *policy.Config, found *lint.Described, namespace, titles map[string]string,
	full bool) finding.GivenContainer {
	about := policy.Pod{Namespace: found.Object.Namespace, Labels: found.Pod.Labels(), NamespaceLabels: namespace}
	in, known := c.OptedIn(&about)
	patch := podpatch.Nothing(podpatch.OptedOut)
	texts := map[string]string{podpatch.ProcsFollow: "Taken for Go 1.26 or later, which follows its CPU limit; an older " +
		"one needs the label " + policy.ProcsLabel + "=" + policy.Enabled}
	wrong, others := policy.WrongLabel(&about)
	switch {
	case in || !known:
		patch = c.Decide(&about, found.Container.Name, found.Facts)
		note := found.Pod.Value().Note()
		from := correct(c, &about, found, &patch, &note)
		if full {
			withhold(&patch)
		} else if from != "" {
			texts[podpatch.MemoryShare] = "Replaces " + finding.UTF8(from) + ", which the annotation " + policy.AddedAnnotation +
				" lists as added by snug"
		}
	case wrong != "" && !slices.Contains(c.Namespaces, about.Namespace):
		patch = podpatch.Nothing(podpatch.LabelWrong)
		texts[podpatch.LabelWrong] = wrongLabel(wrong)
	}
	if others != "" && (in || !known) {
		const knob = "GOMAXPROCS" // both other labels are about it
		i := slices.IndexFunc(patch.Reasons, func(r podpatch.Reason) bool { return r.Knob != knob })
		patch.Reasons = slices.Insert(patch.Reasons, i, podpatch.Reason{Code: podpatch.LabelWrong, Knob: knob})
		texts[podpatch.LabelWrong] = wrongLabel(others)
	}
	g := finding.GivenContainer{
		File: finding.UTF8(found.Object.File().Name), Line: found.Container.At().Line, Object: found.Object.Title(),
		Container: found.Container.Name, Role: found.Container.Role.String(), Env: []finding.GivenEnv{},
		RestartOn: append([]string{}, patch.Resize...),
	}
	if known {
		g.OptedIn = &in
	}
	for _, e := range patch.Env {
		v := finding.GivenEnv{Name: e.Name}
		if e.Resource != "" {
			v.Resource = &e.Resource
		} else {
			v.Value = &e.Value
		}
		g.Env = append(g.Env, v)
	}
	for _, r := range patch.Reasons {
		g.Reasons = append(g.Reasons,
			finding.GivenWhy{Knob: r.Knob, Reason: r.Code, Text: cmp.Or(texts[r.Code], titles[r.Code])})
	}
	return g
}

// withhold takes back what a patch gives: there is no room for the annotation.
func withhold(patch *podpatch.Patch) {
	patch.Reasons = slices.DeleteFunc(patch.Reasons,
		func(r podpatch.Reason) bool { return r.Code == podpatch.RestartOnResize })
	for i := range patch.Reasons {
		r := &patch.Reasons[i]
		if slices.ContainsFunc(patch.Env, func(e podpatch.Env) bool { return e.Name == r.Knob }) {
			r.Code = podpatch.NoRoom
		}
	}
	patch.Env, patch.Resize = nil, nil
}

// correct adds to a patch the GOMEMLIMIT that replaces one which snug has added to the container, corrects the
// note of its pod, and returns the old value; "" = it needs none. A copy of a pod has the variable and the annotation.
func correct(c *policy.Config, about *policy.Pod, found *lint.Described, patch *podpatch.Patch,
	note *pod.Note) (from string) {
	container := found.Container.Value()
	for _, v := range container.Env.Vars {
		if !note.Sized(container, v) {
			continue
		}
		facts := found.Facts
		facts.Set = nil
		due := c.Decide(about, container.Name, facts)
		for _, e := range due.Env {
			if e.Name != v.Name || e.Value == v.Value {
				continue
			}
			of := func(r podpatch.Reason) bool { return r.Knob == v.Name }
			why := due.Reasons[slices.IndexFunc(due.Reasons, of)]
			note.Correct(container, v.Value, e.Value)
			patch.Env = append(patch.Env, e)
			patch.Reasons = slices.DeleteFunc(patch.Reasons, of)
			patch.Reasons = append(patch.Reasons, why)
			return v.Value
		}
	}
	return ""
}

// wrongLabel returns the text of the policies' warning of labels.
func wrongLabel(labels string) string {
	return "Invalid label, " + finding.UTF8(labels) + "; write " + policy.Enabled + " or " + policy.Disabled
}
