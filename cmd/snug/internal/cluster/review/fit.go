// SPDX-License-Identifier: Apache-2.0

package review

import (
	"slices"
	"strconv"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/pod"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
)

// fit decides on a pod that is opted in. It does the same as the policy of fit.yaml.tmpl, in the
// same order.
func (r *Reviewer) fit(p *pod.Pod, about *policy.Pod) (patch, Outcome) {
	var all, restarts, outdated patch
	var given, left pod.Reasons
	notes := &p.Metadata.Annotations
	before := p.Note()
	beside := p.Beside()
	workload := p.Metadata.Workload()
	each := func(containers []pod.Container, at string, as func(*pod.Container) pod.Role) {
		for i := range containers {
			c := &containers[i]
			facts := p.Facts(c, as(c), beside, p.Given(c))
			if r.Program != nil {
				facts.Program = r.Program(Subject{about.Namespace, workload, c.Name, c.Image})
			}
			d := r.Config.DecideKnowing(about, c.Name, facts)
			path := at + strconv.Itoa(i)
			extend(&all, c.Env.Given, path+"/env", variables(d.Env))
			extend(&restarts, len(c.Resize) > 0, path+"/resizePolicy", resizings(d.Resize))
			given.Add(c, &d, true)
			left.Add(c, &d, false)
			for _, v := range c.Env.Vars {
				if !before.Sized(c, v) {
					continue
				}
				facts.Set = nil
				again := r.Config.DecideKnowing(about, c.Name, facts)
				due := memlimit(&again)
				if due == "" || due == v.Value {
					continue
				}
				before.Correct(c, v.Value, due)
				outdated = append(outdated, operation{"replace", path + "/env/" + strconv.Itoa(v.At) + "/value", due})
			}
		}
	}
	each(p.Spec.Containers, "/spec/containers/", func(*pod.Container) pod.Role { return pod.Main })
	each(p.Spec.InitContainers, "/spec/initContainers/", (*pod.Container).AsInit)

	all = slices.Concat(all, restarts, outdated)
	done, key, text := Patched, policy.AddedAnnotation, before.With(given.String())
	if r.Config.Observe {
		done, key = Observed, policy.ObservedAnnotation
		if len(all) == 0 {
			text = ""
		}
	}
	if len(all) > 0 && notes.Of[key] != text && notes.Size+len(key)+len(text) > pod.MaxAnnotations {
		return nil, Unchanged // without the annotation, snug could not recognize its own values
	}
	switch {
	case len(all) > 0:
		left.Reset()
	case before.With("") != "": // variables were added before
		done = Unchanged
		left.Reset()
	default:
		done = Skipped
	}
	if r.Config.Observe {
		all = nil
	}
	all.annotate(notes, key, text, left.String())
	if len(all) == 0 {
		return nil, Unchanged
	}
	return all, done
}

// memlimit returns the GOMEMLIMIT of a patch; "" = none.
func memlimit(d *podpatch.Patch) string {
	for _, e := range d.Env {
		if e.Name == pod.Memory {
			return e.Value
		}
	}
	return ""
}

// variables returns variables as elements of env.
func variables(due []podpatch.Env) []variable {
	var all []variable
	for _, e := range due {
		v := variable{Name: e.Name, Value: e.Value}
		if e.Resource != "" {
			v.From = &from{reference{e.Resource, "1"}}
		}
		all = append(all, v)
	}
	return all
}

// resizings returns restarts for resources as elements of resizePolicy.
func resizings(resources []string) []resizing {
	var all []resizing
	for _, r := range resources {
		all = append(all, resizing{r, "RestartContainer"})
	}
	return all
}

const annotations = "/metadata/annotations"

// annotate writes given, what is or would be added, to the annotation of a key, or left, why
// nothing is, to SkippedAnnotation; one of the two is "". It removes an annotation that no longer
// holds, and omits a text that is too long. Annotations count by their JSON text, which may be
// longer than their value.
func (p *patch) annotate(notes *pod.Texts, key, given, left string) {
	p.note(notes, key, given)
	p.note(notes, policy.SkippedAnnotation, left)
}

// note writes an annotation, or removes it if the text is "".
func (p *patch) note(notes *pod.Texts, key, text string) {
	path := annotations + "/" + pointer.Replace(key)
	switch old, ok := notes.Of[key]; {
	case text == "" && old != "":
		*p = append(*p, operation{Op: "remove", Path: path})
	case text == "" || ok && old == text || notes.Size+len(key)+len(text) > pod.MaxAnnotations:
	default:
		if !notes.Given {
			p.add(annotations, struct{}{})
		}
		p.add(path, text)
	}
}
