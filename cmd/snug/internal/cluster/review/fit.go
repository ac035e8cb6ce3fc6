// SPDX-License-Identifier: Apache-2.0

package review

import (
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
)

// resizing is an entry of resizePolicy.
type resizing struct{ Resource, Policy string }

// fit decides on a pod that is opted in. What it does, and in which order, is what the
// policy of fit.yaml.tmpl does.
func (r *Reviewer) fit(p *pod, about *policy.Pod) (patch, Outcome) {
	var all, restarts, outdated patch
	var given, left words
	before := noted(p.annotations[policy.AddedAnnotation])
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
			if len(c.written) == 0 || len(before.parts) == 0 {
				continue
			}
			facts.Set = nil
			due := memlimit(r.Config.DecideKnowing(about, c.name, facts).Env)
			for _, w := range c.written {
				if due == "" || due == w.value || !before.correct(entry(c, w.value), entry(c, due)) {
					continue // by others, or as it should be
				}
				outdated.replace(at, number, "/env/", strconv.Itoa(w.at), "/value")
				outdated.text(due)
				outdated.done()
			}
		}
	}
	each(p.plain, "/spec/containers/", func(*container) role { return plain })
	each(p.initContainers, "/spec/initContainers/", (*container).asInit)

	all.join(restarts)
	all.join(outdated)
	done, key, text := Patched, policy.AddedAnnotation, ""
	if len(all) > 0 {
		if text = given.String(); before.text != "" {
			text = strings.TrimSuffix(before.corrected()+separator+text, separator)
		}
	}
	if text != "" && p.annotations[key] != text && p.size+len(key)+len(text) > mostAnnotations {
		return nil, Unchanged // nobody could tell what was given from what somebody wrote
	}
	if r.Config.Observe {
		done, key, all = Observed, policy.ObservedAnnotation, nil
	}
	switch {
	case text != "":
		left.Reset()
	case before.text != "": // something was given before
		done = Unchanged
		left.Reset()
	default:
		done = Skipped
	}
	all.annotate(p, key, text, left.String())
	if len(all) == 0 {
		return nil, Unchanged
	}
	return all, done
}

// memlimit is the GOMEMLIMIT among variables that are due, "" where there is none.
func memlimit(due []podpatch.Env) string {
	for _, e := range due {
		if e.Name == knobNames[memory] {
			return e.Value
		}
	}
	return ""
}

// entry is how the annotation says that a container was given a GOMEMLIMIT.
func entry(c *container, value string) string {
	return c.name + " " + knobNames[memory] + "=" + value + " (" + podpatch.MemoryShare + ")"
}

// separator is between the parts of an annotation.
const separator = "; "

// note is an annotation of what was given. A pod may have thousands of variables and
// parts, so each is looked up, and none searched for.
type note struct {
	text  string
	parts map[string]string // what each is to be from now on; nil where there are none
}

// noted reads an annotation. One that no object can have is as good as none.
func noted(text string) note {
	if text == "" || len(text) > mostAnnotations {
		return note{}
	}
	n := note{text, map[string]string{}}
	for part := range strings.SplitSeq(text, separator) {
		n.parts[part] = part
	}
	return n
}

// correct puts another part in the place of one. It is false where there is none.
func (n *note) correct(part, now string) bool {
	is, ok := n.parts[part]
	if ok && is == part {
		n.parts[part] = now
	}
	return ok
}

// corrected is the annotation as it should be now.
func (n *note) corrected() string {
	parts := strings.Split(n.text, separator)
	for i, part := range parts {
		parts[i] = n.parts[part]
	}
	return strings.Join(parts, separator)
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
	there := len(c.resize) > 0
	if !there {
		p.add(at, number, "/resizePolicy")
	}
	for i, r := range resources {
		if there {
			p.add(at, number, "/resizePolicy/-")
		} else {
			p.raw([]string{"[", ","}[min(i, 1)])
		}
		p.raw(`{"resourceName":`)
		p.text(r)
		p.raw(`,"restartPolicy":"RestartContainer"}`)
		if there {
			p.done()
		}
	}
	if !there {
		p.raw("]")
		p.done()
	}
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
			w.WriteString(separator)
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

// annotate writes what was given, or would be, to the annotation of that key, or why
// nothing is: one of the two texts is "". What does not hold any more is removed. What is
// too long to be stored is left out; annotations are counted as they are written, which
// may be more than it is.
func (p *patch) annotate(o *pod, key, given, left string) {
	for _, a := range [...]struct{ key, text string }{{key, given}, {SkippedAnnotation, left}} {
		switch old, ok := o.annotations[a.key]; {
		case a.text == "" && ok && a.key != policy.AddedAnnotation:
			p.remove(annotations, "/", pointer.Replace(a.key))
		case a.text == "" || ok && old == a.text || o.size+len(a.key)+len(a.text) > mostAnnotations:
		default:
			if !o.annotated {
				p.add(annotations)
				p.raw("{}")
				p.done()
			}
			p.add(annotations, "/", pointer.Replace(a.key))
			p.text(a.text)
			p.done()
		}
	}
}
