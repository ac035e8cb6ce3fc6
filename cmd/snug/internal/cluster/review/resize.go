// SPDX-License-Identifier: Apache-2.0

package review

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/pod"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/quantity"
)

// maxWarning bounds a warning, in bytes; the API server truncates longer ones.
// Source: k8s.io/apiserver/pkg/endpoints/handlers, AdmissionResponse.Warnings.
const maxWarning = 256

// Resize answers the review of a resize in place, with a warning if it leaves a variable stale.
// It finds the same as the policy of resize.yaml.tmpl. The review does not say whether the
// namespace is opted out; the registration selects by that.
func (r *Reviewer) Resize(question []byte) ([]byte, Outcome) {
	q, a := read(question)
	if q == nil {
		return a.text(), Unreadable
	}
	if !q.isPods("resize", "UPDATE") || r.Config.Resize == policy.Off || q.Object == nil || q.OldObject == nil ||
		slices.Contains(r.Config.Namespaces, q.Namespace) {
		return a.text(), Other
	}
	if m := q.Object.Metadata; m != nil && m.Labels.Of[policy.InjectLabel] == policy.Disabled {
		return a.text(), OptedOut
	}
	stale := stale(q.Object, q.OldObject, r.Config.Containers)
	if len(stale) == 0 {
		return a.text(), Fine
	}
	const end = " left stale by this resize: variables are read when a container starts (snug explain stale-on-resize)"
	a.warnings = []string{listed(stale, maxWarning-len(end)) + end}
	return a.text(), Warned
}

// listed lists names within size bytes, at least one, and the number of the others.
func listed(names []string, size int) string {
	all := strings.Join(names, ", ")
	if len(all) <= size || len(names) == 1 {
		return all
	}
	more := func(n int) string { return " and " + strconv.Itoa(len(names)-n) + " more" }
	n, used := 1, len(names[0])
	for ; n < len(names)-1; n++ {
		if used += len(", ") + len(names[n]); used+len(more(n+1)) > size {
			break
		}
	}
	return strings.Join(names[:n], ", ") + more(n)
}

// stale returns the variables of containers whose limit changes: literals, and references in
// containers that the resize does not restart.
func stale(now, old *pod.Pod, excluded []string) []string {
	before := map[string]*pod.Container{}
	for _, c := range running(old) {
		before[c.Name] = c
	}
	var all []string
	for _, c := range running(now) {
		was := before[c.Name]
		if was == nil || slices.Contains(excluded, c.Name) {
			continue // a resize adds no container
		}
		for _, of := range [...]struct {
			name, resource string
			limit          func(*pod.Amounts) string
		}{
			{pod.Procs, "cpu", func(a *pod.Amounts) string { return a.CPU }},
			{pod.Memory, "memory", func(a *pod.Amounts) string { return a.Memory }},
		} {
			restarts := c.Restarts(of.resource)
			stays := func(v pod.Var) bool {
				if v.Name != of.name {
					return false
				}
				if v.Reference {
					return !restarts
				}
				return v.Value != "" && v.Value != "off"
			}
			if !slices.ContainsFunc(c.Env.Vars, stays) {
				continue
			}
			limit := func(p *pod.Pod, c *pod.Container) string {
				return cmp.Or(of.limit(&c.Resources.Limits), of.limit(&p.Spec.Resources.Limits))
			}
			if differ(limit(now, c), limit(old, was)) {
				all = append(all, of.name+" of "+c.Name)
			}
		}
	}
	return all
}

// running returns the containers that a resize may change.
func running(p *pod.Pod) []*pod.Container {
	var all []*pod.Container
	for i := range p.Spec.Containers {
		all = append(all, &p.Spec.Containers[i])
	}
	for i := range p.Spec.InitContainers {
		if c := &p.Spec.InitContainers[i]; c.AsInit() == pod.Sidecar {
			all = append(all, c)
		}
	}
	return all
}

// differ reports whether two amounts differ. "" is 0; an invalid amount equals any other.
func differ(a, b string) bool {
	if a == b {
		return false
	}
	x, ok := quantity.Parse(cmp.Or(a, "0"))
	y, fine := quantity.Parse(cmp.Or(b, "0"))
	return ok && fine && x.Milli() != y.Milli()
}
