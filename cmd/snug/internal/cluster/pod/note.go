// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
)

// MaxAnnotations bounds the annotations of an object, keys and values, in bytes. The API server
// refuses more.
// Source: k8s.io/apimachinery/pkg/api/validation, TotalAnnotationSizeLimitB.
const MaxAnnotations = 256 << 10

// Separator separates the parts of an annotation.
const Separator = "; "

// Note is what snug has added to a pod: the parts of policy.AddedAnnotation that are true of it. A
// copy of another pod may have the annotation without the variables, or with other values. The
// zero Note is nothing.
type Note struct {
	parts []string
	now   map[string]string // part -> the part that replaces it, or itself
}

// addedCodes are the reasons in the annotation.
var addedCodes = [...]string{podpatch.MemoryShare, podpatch.ProcsReference, podpatch.ProcsValue, podpatch.ProcsRequest}

// Note returns what the annotation of the pod lists and its containers have. An annotation above
// the maximum size counts as none.
func (p *Pod) Note() Note {
	var n Note
	if p.Metadata == nil {
		return n
	}
	text := p.Metadata.Annotations.Of[policy.AddedAnnotation]
	if text == "" || len(text) > MaxAnnotations {
		return n
	}
	has := map[string]bool{} // a map, because there may be thousands of variables and parts
	for _, all := range [...]Containers{p.Spec.Containers, p.Spec.InitContainers} {
		for i := range all {
			for _, v := range all[i].Env.Vars {
				has[all[i].Name+" "+v.said()] = true
			}
		}
	}
	n.now = map[string]string{}
	for part := range strings.SplitSeq(text, Separator) {
		for _, code := range addedCodes {
			if said, ok := strings.CutSuffix(part, " ("+code+")"); ok && has[said] {
				n.parts = append(n.parts, part)
				n.now[part] = part
			}
		}
	}
	return n
}

// said returns a variable as the annotation lists it, without the value of a reference.
func (v *Var) said() string {
	if v.Reference {
		return v.Name
	}
	return v.Name + "=" + v.Value
}

// sized returns the part of the annotation for a GOMEMLIMIT.
func (c *Container) sized(value string) string {
	return c.Name + " " + Memory + "=" + value + " (" + podpatch.MemoryShare + ")"
}

// Sized reports whether a variable of a container is a GOMEMLIMIT that snug has added.
func (n *Note) Sized(c *Container, v Var) bool {
	return len(n.parts) > 0 && v.Name == Memory && !v.Reference && isSize(v.Value) && n.now[c.sized(v.Value)] != ""
}

// isSize reports whether a text is a GOMEMLIMIT in the format of units.GoMebibytes.
func isSize(text string) bool {
	digits := strings.TrimSuffix(text, "MiB")
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}

// Correct replaces the value of a GOMEMLIMIT, unless it has been replaced.
func (n *Note) Correct(c *Container, from, to string) {
	if part := c.sized(from); n.now[part] == part {
		n.now[part] = c.sized(to)
	}
}

// With returns the text of the annotation after the corrections, and with more parts.
func (n *Note) With(more string) string {
	var b strings.Builder
	for _, part := range n.parts {
		b.WriteString(n.now[part])
		b.WriteString(Separator)
	}
	return strings.TrimSuffix(b.String()+more, Separator)
}

// Reasons is the text of an annotation: "a GOMEMLIMIT=460MiB (pod-memory-share); a GOMAXPROCS
// (pod-procs-reference)".
type Reasons struct{ strings.Builder }

// Add adds the variables that a container is given, or those that it is not.
func (w *Reasons) Add(c *Container, d *podpatch.Patch, given bool) {
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
		w.Say(c, r.Knob, value, r.Code)
	}
}

// Say adds one variable, with its value unless that is "".
func (w *Reasons) Say(c *Container, knob, value, code string) {
	if w.Len() > 0 {
		w.WriteString(Separator)
	}
	w.WriteString(c.Name)
	w.WriteByte(' ')
	w.WriteString(knob)
	if value != "" {
		w.WriteByte('=')
		w.WriteString(value)
	}
	w.WriteString(" (")
	w.WriteString(code)
	w.WriteByte(')')
}
