// SPDX-License-Identifier: Apache-2.0

package review

import (
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/kube/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/kube/policy"
)

// resizing is an entry of resizePolicy.
type resizing struct{ Resource, Policy string }

// fit decides on a pod that is opted in. What it does, and in which order, is what the
// policy of fit.yaml.tmpl does.
func (r *Reviewer) fit(p *pod, about *policy.Pod) (patch, Outcome) {
	var all, restarts patch
	var given, left words
	sidecars := p.sidecars()
	workload := p.workload()
	each := func(containers []container, at string, as func(*container) role) {
		for i := range containers {
			c := &containers[i]
			facts := p.facts(c, as(c), sidecars)
			if r.Program != nil {
				facts.Program = r.Program(Subject{about.Namespace, workload, c.name, c.image})
			}
			d := r.Config.DecideKnowing(about, c.name, facts)
			number := strconv.Itoa(i)
			all.variables(c, at, number, d.Env)
			restarts.resizePolicy(c, at, number, d.Resize)
			given.add(c, &d, true)
			left.add(c, &d, false)
		}
	}
	each(p.plain, "/spec/containers/", func(*container) role { return plain })
	each(p.initContainers, "/spec/initContainers/", (*container).asInit)

	if len(restarts) > 0 {
		all = append(append(all, ','), restarts[1:]...) // there is one of a variable before
	}
	if len(all) > 0 {
		all.annotate(p, given.String(), "")
		return all, Patched
	}
	if p.annotations[policy.AddedAnnotation] == "" {
		all.annotate(p, "", left.String())
	}
	if len(all) > 0 {
		return all, Skipped
	}
	return nil, Unchanged
}

// variables adds to the env of a container.
func (p *patch) variables(c *container, at, number string, due []podpatch.Env) {
	if len(due) == 0 {
		return
	}
	if !c.hasEnv {
		p.add(at, number, "/env")
	}
	for i, e := range due {
		if c.hasEnv {
			p.add(at, number, "/env/-")
		} else {
			p.raw([]string{"[", ","}[min(i, 1)])
		}
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
		if c.hasEnv {
			p.done()
		}
	}
	if !c.hasEnv {
		p.raw("]")
		p.done()
	}
}

// resizePolicy adds restarts for more resources to a container's resizePolicy.
func (p *patch) resizePolicy(c *container, at, number string, resources []string) {
	if len(resources) == 0 {
		return
	}
	all := c.resize
	for _, r := range resources {
		all = append(all, resizing{r, "RestartContainer"})
	}
	p.add(at, number, "/resizePolicy")
	for i, r := range all {
		p.raw([]string{"[", ","}[min(i, 1)])
		p.raw(`{"resourceName":`)
		p.text(r.Resource)
		p.raw(`,"restartPolicy":`)
		p.text(r.Policy)
		p.raw("}")
	}
	p.raw("]")
	p.done()
}

// words say what was given, or not, and why: "a GOMEMLIMIT=460MiB (pod-memory-share);
// a GOMAXPROCS (pod-procs-reference)".
type words struct{ strings.Builder }

// add says what a container was given, or what not.
func (w *words) add(c *container, d *podpatch.Patch, given bool) {
	for i := range d.Reasons {
		r := &d.Reasons[i]
		if r.Code == podpatch.RestartOnResize {
			continue
		}
		value, has := "", false
		for _, e := range d.Env {
			if e.Name == r.Knob {
				value, has = e.Value, true
			}
		}
		if has != given {
			continue
		}
		if w.Len() > 0 {
			w.WriteString("; ")
		}
		w.WriteString(c.name)
		w.WriteByte(' ')
		w.WriteString(r.Knob)
		if value != "" {
			w.WriteByte('=')
			w.WriteString(value)
		}
		w.WriteString(" (")
		w.WriteString(r.Code)
		w.WriteByte(')')
	}
}

// mostAnnotations bounds the annotations of an object, keys and values, in bytes. One
// with more is refused.
// Source: k8s.io/apimachinery/pkg/api/validation, TotalAnnotationSizeLimitB.
const mostAnnotations = 256 << 10

const annotations = "/metadata/annotations"

// annotate says what was given, or why nothing was. What is too long to be stored is
// left out; annotations are counted as they are written, which may be more than it is.
func (p *patch) annotate(o *pod, given, left string) {
	put := func(key, text string) {
		if old, ok := o.annotations[key]; ok && old == text || o.size+len(key)+len(text) > mostAnnotations {
			return
		}
		if !o.annotated {
			p.add(annotations)
			p.raw("{}")
			p.done()
		}
		p.add(annotations, "/", pointer.Replace(key))
		p.text(text)
		p.done()
	}
	switch old, ok := o.annotations[policy.AddedAnnotation]; {
	case given == "":
	case ok:
		put(policy.AddedAnnotation, old+"; "+given)
	default:
		put(policy.AddedAnnotation, given)
	}
	if _, was := o.annotations[SkippedAnnotation]; was && given != "" {
		p.remove(annotations, "/", pointer.Replace(SkippedAnnotation))
	}
	if left != "" {
		put(SkippedAnnotation, left)
	}
}
