// SPDX-License-Identifier: Apache-2.0

package review

import (
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/quantity"
)

// mostWarning bounds a warning, in bytes: the API server cuts longer ones.
// Source: k8s.io/apiserver/pkg/endpoints/handlers, AdmissionResponse.Warnings.
const mostWarning = 256

// Resize answers a resize in place: with a warning where it leaves a variable behind. It
// finds what the policy of resize.yaml.tmpl finds, but for pods that say nothing in a
// namespace that is opted out: the question does not tell, and those are not asked about.
func (r *Reviewer) Resize(question []byte) ([]byte, Outcome) {
	q, a := read(question)
	if q == nil {
		return a.text(), Unreadable
	}
	if q.group != "" || q.resource != "pods" || q.subresource != "resize" || q.operation != "UPDATE" ||
		r.Config.Resize == policy.Off || q.object == nil || q.old == nil || slices.Contains(r.Config.Namespaces, q.namespace) {
		return a.text(), Other
	}
	if q.object.labels[policy.InjectLabel] == policy.Disabled {
		return a.text(), OptedOut
	}
	stale := stale(q.object, q.old, r.Config.Containers)
	if len(stale) == 0 {
		return a.text(), Fine
	}
	const end = " left stale by this resize: variables are read when a container starts (snug explain stale-on-resize)"
	a.warnings = []string{listed(stale, mostWarning-len(end)) + end}
	return a.text(), Warned
}

// listed names things, as many as most bytes have room for, at least one, and how many
// more there are.
func listed(names []string, most int) string {
	all := strings.Join(names, ", ")
	if len(all) <= most || len(names) == 1 {
		return all
	}
	more := func(n int) string { return " and " + strconv.Itoa(len(names)-n) + " more" }
	n, size := 1, len(names[0])
	for ; n < len(names)-1; n++ {
		if size += len(", ") + len(names[n]); size+len(more(n+1)) > most {
			break
		}
	}
	return strings.Join(names[:n], ", ") + more(n)
}

// stale are the variables of containers whose limit changes: those that are written out,
// and references in containers that the change does not restart.
func stale(now, old *pod, excluded []string) []string {
	before := map[string]*container{}
	for _, c := range old.running() {
		before[c.name] = c
	}
	var all []string
	for _, c := range now.running() {
		was := before[c.name]
		if was == nil || slices.Contains(excluded, c.name) {
			continue // a resize adds no container
		}
		for knob, name := range knobNames {
			resource := [...]string{procs: "cpu", memory: "memory"}[knob]
			if k := c.knobs[knob]; !k.literal && (!k.reference || slices.Contains(c.resize, resizing{resource, "RestartContainer"})) {
				continue
			}
			if differ(now.limit(c, knob), old.limit(was, knob)) {
				all = append(all, name+" of "+c.name)
			}
		}
	}
	return all
}

// limit is what holds for a container of what a knob is made of.
func (p *pod) limit(c *container, knob int) string {
	if knob == procs {
		return or(c.limits.cpu, p.limits.cpu)
	}
	return or(c.limits.memory, p.limits.memory)
}

// running are the containers that a resize changes while they run.
func (p *pod) running() []*container {
	var all []*container
	for i := range p.plain {
		all = append(all, &p.plain[i])
	}
	for i := range p.initContainers {
		if c := &p.initContainers[i]; c.asInit() == sidecar {
			all = append(all, c)
		}
	}
	return all
}

// differ tells whether two amounts do; none is 0, and one that cannot be read is like
// any other.
func differ(a, b string) bool {
	if a == b {
		return false
	}
	x, ok := quantity.Parse(or(a, "0"))
	y, fine := quantity.Parse(or(b, "0"))
	return ok && fine && x.Milli() != y.Milli()
}
