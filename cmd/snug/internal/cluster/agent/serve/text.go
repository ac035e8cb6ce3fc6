// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bufio"
	"bytes"
	_ "embed"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/snapshot"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/needs"
	"github.com/snug-go/snug/cmd/snug/internal/profile/promtext"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// made is the text of the families of a scan. It is never put together: with many containers it is long,
// and clients that read slowly share it.
type made struct {
	scans int64
	heads [][]byte // the beginning of each family and the agent's own series; nil = it has none
	parts []*part  // of the containers, sorted
	known map[*finding.NodeProcess]*part
	size  int // in bytes
}

// part is the text of a container's series, by family.
type part struct {
	text []byte
	ends []uint32
}

func (p *part) of(m int) []byte {
	if m == 0 {
		return p.text[:p.ends[0]]
	}
	return p.text[p.ends[m-1]:p.ends[m]]
}

// write writes the page to w, which returns its first error again.
func (t *made) write(w *bufio.Writer) {
	for m, head := range t.heads {
		if head == nil {
			continue
		}
		w.Write(head)
		for _, p := range t.parts {
			w.Write(p.of(m))
		}
	}
}

// newMade makes the text of all families. It takes those parts from before whose containers have the same
// first process, in memory: the container has not been made anew.
func newMade(from *snapshot.Snapshot, o *Options, before *made) *made {
	t := &made{scans: from.Scans, heads: make([][]byte, len(families()))}
	s := newScrape()
	labels, containers := s.sample(from, o)
	t.known = make(map[*finding.NodeProcess]*part, len(labels))
	t.parts = make([]*part, 0, len(labels))
	one := newScrape()
	for _, values := range labels {
		c := containers[values]
		var p *part
		if before != nil {
			p = before.known[&c.Processes[0]]
		}
		if p == nil {
			p = one.part(c, pairs(containerLabels[:], values[:]))
		}
		t.parts = append(t.parts, p)
		t.known[&c.Processes[0]] = p
		t.size += len(p.text)
	}
	for m, f := range families() {
		has := func(p *part) bool { return len(p.of(m)) > 0 }
		if len(s.series[m]) == 0 && !slices.ContainsFunc(t.parts, has) {
			continue
		}
		var page promtext.Page
		page.Family(f.name, f.help, f.kind)
		s.samples(&page, m)
		t.heads[m] = page.Bytes()
		t.size += len(t.heads[m])
	}
	return t
}

// part returns the text of a container's series.
func (s *scrape) part(c *finding.Container, own []promtext.Label) *part {
	s.container(c, own)
	p := &part{ends: make([]uint32, len(s.series))}
	s.page.Reset()
	for m, f := range families() {
		s.page.Again(f.name)
		s.samples(&s.page, m)
		s.series[m] = s.series[m][:0]
		p.ends[m] = uint32(len(s.page.Bytes()))
	}
	p.text = bytes.Clone(s.page.Bytes())
	return p
}

// samples adds the series of a family to a page.
func (s *scrape) samples(page *promtext.Page, m int) {
	for _, one := range s.series[m] {
		if one.below == nil {
			page.Sample(one.value, one.labels)
		} else {
			page.Buckets(s.bounds, one.below, math.NaN(), uint64(one.value), one.labels)
		}
	}
}

// sample collects the agent's own series, and the containers by their labels.
func (s *scrape) sample(from *snapshot.Snapshot, o *Options) (labels [][5]string, of map[[5]string]*finding.Container) {
	s.number("snug_agent_scans_total", float64(from.Scans))
	read := 1.0
	if o.Outside {
		read = 0
	}
	s.number("snug_agent_memory_read", read)
	d := from.Node
	if d == nil {
		return nil, nil
	}
	s.number("snug_agent_max_open_files", float64(from.Room.Files))
	if from.Room.Processes > 0 {
		s.number("snug_agent_max_processes", float64(from.Room.Processes))
	}
	s.number("snug_agent_detail_dropped_total", float64(from.Room.Dropped))
	s.number("snug_agent_scan_duration_seconds", d.Scan.Seconds)
	s.number("snug_agent_scan_cpu_seconds", d.Scan.CPU)
	s.number("snug_agent_scan_interval_seconds", o.Interval.Seconds())
	s.number("snug_agent_last_scan_timestamp_seconds", float64(from.Ended.UnixMilli())/1e3)
	s.number("snug_agent_processes", float64(d.Scan.Processes))
	s.number("snug_agent_programs", float64(d.Scan.Programs))
	counts := map[string]int{}
	for _, l := range d.Skipped {
		counts[l.Reason] = l.Count
	}
	for _, reason := range snapshot.Reasons {
		s.number("snug_agent_processes_skipped", float64(counts[reason]), reason)
	}
	inContainers, own := 0, 0
	of = make(map[[5]string]*finding.Container, len(d.Containers))
	for i := range d.Containers {
		c := &d.Containers[i]
		if c.Unit != nil {
			own += len(c.Processes)
			continue
		}
		inContainers += len(c.Processes)
		// While a container restarts, it may be there twice with the same names.
		values := labelsOf(c)
		other := of[values]
		if other == nil {
			labels = append(labels, values)
		}
		if other == nil || later(c, other) {
			of[values] = c
		}
	}
	s.unsupported(d.Unsupported)
	from.Needs.Each(func(w *needs.Workload) {
		if w.Has.Containers > 0 && w.Seen > 0 {
			s.workload(w)
		}
	})
	s.number("snug_agent_go_processes", float64(inContainers), "container")
	s.number("snug_agent_go_processes", float64(own), "node")
	slices.SortFunc(labels, byLabels)
	return labels, of
}

// containerLabels are the labels of a container's series: its names, or if these are unknown
// its pod's UID and the beginning of its own id, which changes at each restart. Unknown labels are empty, which
// to Prometheus means absent. No part of a command line or an environment is ever a label.
var containerLabels = [...]string{"namespace", "pod", "container", "pod_uid", "container_id"}

// family describes a metric.
type family struct {
	name, help string
	kind       promtext.Type
	labels     []string // in addition to those of the container
}

// table has a line for each metric. To add one, add a line, and use its name.
//
//go:embed metrics.txt
var table string

// families returns all metrics, in the order of the page.
var families = sync.OnceValue(func() []family {
	var all []family
	for line := range strings.Lines(table) {
		if word := strings.SplitN(strings.TrimSpace(line), " ", 4); word[0] != "#" {
			f := family{name: word[0], kind: promtext.Type(word[1]), help: word[3]}
			if word[2] != "-" {
				f.labels = strings.Split(word[2], ",")
			}
			all = append(all, f)
		}
	}
	return all
})

// places has the indices of families by name.
var places = sync.OnceValue(func() map[string]int {
	all := map[string]int{}
	for i, f := range families() {
		all[f.name] = i
	}
	return all
})
