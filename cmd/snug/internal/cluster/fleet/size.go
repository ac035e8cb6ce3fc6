// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/needs"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/size"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Sizes collects what agents have seen of workloads.
type Sizes struct {
	Filter Filter // without pods
	d      finding.FleetSize
	of     map[needs.Key]*merged
	blind  int // nodes with containers of unknown workloads
}

type merged struct {
	needs.Workload
	nodes int
}

// Add adds an answer.
func (s *Sizes) Add(a Answer[needs.Document]) {
	s.d.Agents++
	d := a.Said
	if d == nil {
		s.d.Silent = append(s.d.Silent, a.silent())
		return
	}
	if s.of == nil {
		s.of = map[needs.Key]*merged{}
	}
	s.d.LeftOut += d.LeftOut
	if d.Nameless > 0 {
		s.blind++
	}
	for _, w := range d.Workloads {
		if !s.Filter.passesKey(&w.Key) {
			continue
		}
		m := s.of[w.Key]
		if m == nil {
			m = &merged{Workload: *w}
			s.of[w.Key] = m
		} else {
			m.Merge(w)
		}
		if w.Has.Containers > 0 {
			m.nodes++
		}
	}
}

// Document returns what the workloads need at a price.
func (s *Sizes) Document(price size.Price, at time.Time) *finding.FleetSize {
	d := s.d
	begin(&d, price, at)
	for _, m := range s.of {
		if m.Has.Containers == 0 {
			d.Gone++
			continue
		}
		w := sized(&m.Key, m.Size(), &m.Has, price)
		w.Nodes = m.nodes
		d.Workloads = append(d.Workloads, w)
	}
	total(&d)
	if s.blind > 0 {
		d.Unknown = append(d.Unknown, finding.Gap{Field: "workloads", Why: fmt.Sprintf(
			"names of containers on %d of %d nodes: nothing is kept of containers without a name", s.blind, d.Agents)})
	}
	return &d
}

// begin sets what every answer at a price has, and sorts the silent agents.
func begin(d *finding.FleetSize, price size.Price, at time.Time) {
	d.Head, d.At = finding.NewHead(finding.KindFleetSize), at.UTC().Format(time.RFC3339)
	d.Price = finding.SizePrice{Core: price.Core, GiB: price.GiB, From: price.From()}
	d.Silent, d.Unknown = byNode(d.Silent), []finding.Gap{}
}

// total sorts the workloads and adds up what they save and cost.
func total(d *finding.FleetSize) {
	if d.Workloads == nil {
		d.Workloads = []finding.SizedWorkload{}
	}
	slices.SortStableFunc(d.Workloads, func(a, b finding.SizedWorkload) int {
		x, y := name(a.Namespace, a.Name, a.Container), name(b.Namespace, b.Name, b.Container)
		return cmp.Or(urgency(&a, &b), strings.Compare(x, y))
	})
	for i := range d.Workloads {
		w := &d.Workloads[i]
		d.Containers += w.Containers
		if w.Saves != nil {
			d.Saves += max(0, *w.Saves)
			d.Costs += max(0, -*w.Saves)
		}
	}
}

// urgency compares workloads: more at risk first, then more to pay if they are, or to save.
func urgency(a, b *finding.SizedWorkload) int {
	saves := func(w *finding.SizedWorkload) float64 {
		switch {
		case w.Saves == nil:
			return math.Inf(-1)
		case len(w.Risks) > 0:
			return -*w.Saves
		}
		return *w.Saves
	}
	return cmp.Or(cmp.Compare(len(b.Risks), len(a.Risks)), cmp.Compare(saves(b), saves(a)))
}

// passesKey is passes for what is known of a workload without its pods.
func (f *Filter) passesKey(k *needs.Key) bool {
	return f.passesRow(word(k.Namespace), word(k.Workload), word(k.Container))
}

// passesRow is passesKey for the names of a row. Outside of Kubernetes its container is a unit.
func (f *Filter) passesRow(namespace, workload, container *string) bool {
	names := finding.ContainerNames{Namespace: namespace, Workload: workload, Name: container}
	c := finding.Container{ContainerNames: names}
	if namespace == nil {
		c.Unit = container
	}
	return f.passes(&c)
}

// MissedSizes returns the names that no workload of a document has.
func MissedSizes(d *finding.FleetSize, names []string) []string {
	f := Filter{Names: names}
	for i := range d.Workloads {
		w := &d.Workloads[i]
		f.passesRow(w.Namespace, w.Name, w.Container)
	}
	return f.Missed()
}

// word returns nil for "".
func word(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// near is the part of the memory limit from which memory in use is a risk.
const near = 0.95

// throttledFrom is the share of throttled periods that is a risk: from there on it is unknown what it would use
// (package size, limited).
const throttledFrom = 0.01

// sized decides what each container of a workload needs, what that saves, and what is at risk.
func sized(key *needs.Key, seen *size.Seen, h *needs.Has, price size.Price) finding.SizedWorkload {
	d := size.Decide(seen, price)
	w := finding.SizedWorkload{
		Namespace: word(key.Namespace), Name: word(key.Workload), Container: word(key.Container),
		Containers: h.Containers, Days: seen.Days,
		Memory: d.Memory, GOMEMLIMIT: d.GOMEMLIMIT, CPURequest: d.CPURequest, CPULimit: d.CPULimit,
		HasMemory:  h.Limit.Span(h.Containers),
		HasRequest: h.Request.Span(h.Containers), HasQuota: h.Quota.Span(h.Containers),
		Risks: []finding.Why{}, Modeled: len(d.Curve) > 0, Seen: d.Seen, Unseen: append([]finding.Why{}, d.Unseen...),
	}
	saves := func(has *needs.Amount, need *float64, price float64) {
		if has.N == 0 || need == nil {
			return
		}
		if w.Saves == nil {
			w.Saves = new(float64)
		}
		*w.Saves += price * (has.Sum - float64(has.N)**need)
	}
	saves(&h.Limit, d.Memory.Value, price.GiB/(1<<30))
	throttled := d.Seen.Throttled.N >= throttledFrom
	if !throttled { // else the CPU that it would use is unknown
		saves(&h.Request, d.CPURequest.Value, price.Core)
	}
	risk := func(code string, n float64) {
		w.Risks = append(w.Risks, finding.Why{Code: code, Numbers: []float64{n}})
	}
	switch least, used := d.Memory.Least, d.Seen.Used.N; {
	case h.Limit.N == 0:
	case least != nil && *least > h.Limit.Least:
		risk(finding.SizeKilled, *least)
	case used >= near*h.Limit.Least:
		risk(finding.SizeNearFull, min(used, h.Limit.Least))
	}
	if throttled {
		risk(finding.SizeSlowed, d.Seen.Throttled.N)
	}
	if n := d.CPURequest.Least; h.Request.N > 0 && n != nil && *n > h.Request.Least {
		risk(finding.SizeOverUsed, *n)
	}
	return w
}
