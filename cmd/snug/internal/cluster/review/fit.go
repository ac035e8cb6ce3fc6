// SPDX-License-Identifier: Apache-2.0

package review

import (
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
			number := strconv.Itoa(i)
			all.variables(c, at, number, d.Env)
			restarts.resizePolicy(c, at, number, d.Resize)
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
				outdated.replace(at, number, "/env/", strconv.Itoa(v.At), "/value")
				outdated.text(due)
				outdated.done()
			}
		}
	}
	each(p.Spec.Containers, "/spec/containers/", func(*pod.Container) pod.Role { return pod.Main })
	each(p.Spec.InitContainers, "/spec/initContainers/", (*pod.Container).AsInit)

	all.join(restarts)
	all.join(outdated)
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

// variables adds variables to the env of a container.
func (p *patch) variables(c *pod.Container, at, number string, due []podpatch.Env) {
	p.extend(c.Env.Given, at, number, "/env", len(due), func(i int) {
		e := due[i]
		p.raw(`{"name":`)
		p.text(e.Name)
		if e.Resource != "" {
			p.raw(`,"valueFrom":{"resourceFieldRef":{"resource":`)
			p.text(e.Resource)
			p.raw(`,"divisor":"1"}}}`)
		} else {
			p.raw(`,"value":`)
			p.text(e.Value)
			p.raw("}")
		}
	})
}

// resizePolicy adds restarts for resources to a container's resizePolicy.
func (p *patch) resizePolicy(c *pod.Container, at, number string, resources []string) {
	p.extend(len(c.Resize) > 0, at, number, "/resizePolicy", len(resources), func(i int) {
		p.raw(`{"resourceName":`)
		p.text(resources[i])
		p.raw(`,"restartPolicy":"RestartContainer"}`)
	})
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
	switch old, ok := notes.Of[key]; {
	case text == "" && old != "":
		p.remove(annotations, "/", pointer.Replace(key))
	case text == "" || ok && old == text || notes.Size+len(key)+len(text) > pod.MaxAnnotations:
	default:
		if !notes.Given {
			p.add(annotations)
			p.raw("{}")
			p.done()
			notes.Given = true
		}
		p.add(annotations, "/", pointer.Replace(key))
		p.text(text)
		p.done()
		notes.Size += len(key) + len(text) // and what it replaces, at worst
	}
}
