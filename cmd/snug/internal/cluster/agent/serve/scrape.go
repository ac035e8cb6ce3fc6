// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/snapshot"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/needs"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/profile/promtext"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// scrape is the series of one answer.
type scrape struct {
	series [][]point // of each of families
	page   promtext.Page
	bounds []float64 // of histograms
}

func newScrape() *scrape {
	return &scrape{series: make([][]point, len(families())), bounds: observe.Bounds()}
}

// point is one series of a metric.
type point struct {
	value  float64  // of a histogram: the number of all values
	below  []uint64 // of a histogram: of those below each bound
	labels promtext.Labels
}

// pairs returns the labels with a value, sorted.
func pairs(names, values []string) []promtext.Label {
	all := make([]promtext.Label, 0, len(names))
	for i, name := range names {
		if values[i] != "" {
			all = append(all, promtext.Label{Name: name, Value: finding.UTF8(values[i])})
		}
	}
	return sorted(all)
}

// sorted sorts a few labels by name, in place.
func sorted(labels []promtext.Label) []promtext.Label {
	for i := range labels {
		for ; i > 0 && labels[i].Name < labels[i-1].Name; i-- {
			labels[i], labels[i-1] = labels[i-1], labels[i]
		}
	}
	return labels
}

// of returns the series of a metric.
func (s *scrape) of(name string) *[]point {
	i, ok := places()[name]
	if !ok {
		panic("no metric " + name)
	}
	return &s.series[i]
}

func (s *scrape) add(name string, p point) { all := s.of(name); *all = append(*all, p) }

func (s *scrape) labelled(name string, v float64, labels promtext.Labels) {
	s.add(name, point{v, nil, labels})
}

// with adds a series with the labels of own, if there are any, and those of the metric.
func (s *scrape) with(own []promtext.Label, name string, v float64, values ...string) {
	labels := pairs(families()[places()[name]].labels, values)
	s.labelled(name, v, promtext.Text(sorted(slices.Concat(own, labels))...))
}

// number adds a series of the agent itself.
func (s *scrape) number(name string, v float64, values ...string) { s.with(nil, name, v, values...) }

// maybe adds a series if its value is known.
func maybe[T figure.Number](s *scrape, name string, f figure.Of[T], labels promtext.Labels) {
	if f.Known() && !math.IsNaN(float64(f.N)) {
		s.labelled(name, float64(f.N), labels)
	}
}

// spread adds a histogram of a container with names. Of others, whose labels change at each
// restart, that would be too many series.
func (s *scrape) spread(name string, f figure.Of[finding.Spread], c *finding.Container, labels promtext.Labels) {
	if f.Known() && c.Name != nil && c.Pod != nil && c.Namespace != nil {
		s.add(name, point{float64(f.N.Count), f.N.Below, labels})
	}
}

// when adds a series of an RFC 3339 time; nil = none.
func (s *scrape) when(own []promtext.Label, name string, v *string, values ...string) {
	if v == nil {
		return
	}
	if at, err := time.Parse(time.RFC3339, *v); err == nil {
		s.with(own, name, float64(at.Unix()), values...)
	}
}

// container adds all series of a container.
func (s *scrape) container(c *finding.Container, own []promtext.Label) {
	p, labels := &c.Processes[0], promtext.Text(own...)
	aware := ""
	if p.Aware != nil {
		aware = map[bool]string{true: "true", false: "false"}[*p.Aware]
	}
	s.with(own, "snug_go_container_info", 1, p.GoVersion.N, snapshot.Word(p.Line), aware,
		p.GOMAXPROCSSource.N, snapshot.Word(p.SetLimit), snapshot.Word(c.Workload))
	s.labelled("snug_go_container_processes", float64(len(c.Processes)), labels)
	s.when(own, "snug_go_container_start_time_seconds", p.Started)
	s.when(own, "snug_go_container_resized_timestamp_seconds", p.QuotaChanged, "cpu")
	s.when(own, "snug_go_container_resized_timestamp_seconds", p.LimitChanged, "memory")
	maybe(s, "snug_go_container_gomaxprocs", p.GOMAXPROCS, labels)
	switch {
	case p.GOMEMLIMIT.Known():
		s.labelled("snug_go_container_gomemlimit_bytes", float64(p.GOMEMLIMIT.N), labels)
	case p.GOMEMLIMIT.Read():
		s.labelled("snug_go_container_gomemlimit_bytes", math.Inf(1), labels)
	}
	if p.GOGC.Known() {
		v := float64(p.GOGC.N.N)
		if p.GOGC.N.Off {
			v = math.Inf(1)
		}
		s.labelled("snug_go_container_gogc_percent", v, labels)
	}
	maybe(s, "snug_go_container_heap_live_bytes", p.Live, labels)
	maybe(s, "snug_go_container_heap_goal_bytes", p.Goal, labels)
	maybe(s, "snug_go_container_resident_memory_bytes", p.Memory, labels)
	s.labelled("snug_go_container_cpu_seconds_total", p.CPUTotal, labels)
	maybe(s, "snug_go_container_gc_cycles_total", p.Cycles, labels)
	maybe(s, "snug_go_container_gc_cpu_seconds_total", p.GCTotal, labels)
	maybe(s, "snug_go_container_gc_pause_seconds_total", p.Pauses, labels)
	maybe(s, "snug_go_container_gc_cpu_ratio", p.GC, labels)
	maybe(s, "snug_go_container_goroutines", p.Goroutines, labels)
	s.spread("snug_go_container_sched_latency_seconds", p.Latency, c, labels)
	s.spread("snug_go_container_gc_stop_seconds", p.Stops, c, labels)
	maybe(s, "snug_go_container_affinity_cpus", p.CPUs, labels)

	maybe(s, "snug_go_container_cpu_request_cores", c.Request, labels)
	if c.Quota.Known() {
		maybe(s, "snug_go_container_cpu_quota_cores", c.Quota, labels)
		maybe(s, "snug_go_container_cpu_periods_total", c.Periods, labels)
		maybe(s, "snug_go_container_cpu_throttled_periods_total", c.ThrottledPeriods, labels)
		maybe(s, "snug_go_container_cpu_throttled_seconds_total", c.ThrottledSeconds, labels)
		maybe(s, "snug_go_container_cpu_throttled_ratio", c.Throttled, labels)
	}
	maybe(s, "snug_go_container_memory_limit_bytes", c.MemoryLimit, labels)
	maybe(s, "snug_go_container_memory_usage_bytes", c.Memory, labels)
	maybe(s, "snug_go_container_memory_unreclaimable_bytes", c.Unreclaimable, labels)
	maybe(s, "snug_go_container_oom_kills_total", c.OOMKills, labels)
	worst := map[string]finding.Severity{}
	for i := range c.Processes {
		for _, f := range c.Processes[i].Findings {
			if f.Severity.Level() > worst[f.ID].Level() {
				worst[f.ID] = f.Severity
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(worst)) {
		s.with(own, "snug_go_container_finding", 1, id, string(worst[id]))
	}
}

// workload adds what is kept of a workload of the last scan.
func (s *scrape) workload(w *needs.Workload) {
	h := &w.Has
	labels := [...]string{w.Namespace, w.Workload, w.Container, "", "", ""}
	if h.Minor > 0 {
		labels[3] = "1." + strconv.Itoa(h.Minor)
	}
	if h.GOGC != nil {
		labels[4] = strconv.Itoa(*h.GOGC) // -1 = off
	}
	if h.Procs > 0 {
		labels[5] = strconv.Itoa(h.Procs)
	}
	s.with(nil, "snug_go_workload_info", float64(h.Containers), labels[:]...)
	s.with(nil, "snug_go_workload_seen_seconds", w.Seen, labels[:3]...)
	stats := w.Stats()
	for i, one := range &needs.Names {
		if labels[3] = one.Stat; !math.IsNaN(stats[i]) {
			name := "snug_go_workload_" + one.Name
			s.with(nil, name, stats[i], labels[:4]...)
		}
	}
}

// unsupported counts the processes with Go that is not read, by container.
func (s *scrape) unsupported(all []finding.UnsupportedHere) {
	var of [][5]string
	for i := range all {
		if u := &all[i]; u.PodUID != nil || u.ID != nil {
			of = append(of, labelValues(&u.ContainerNames, u.PodUID, u.ID))
		}
	}
	slices.SortFunc(of, byLabels)
	for i, values := range of {
		const name = "snug_go_container_unsupported_processes"
		if all := *s.of(name); i > 0 && values == of[i-1] {
			all[len(all)-1].value++
		} else {
			s.labelled(name, 1, promtext.Text(pairs(containerLabels[:], values[:])...))
		}
	}
}

func byLabels(x, y [5]string) int { return slices.Compare(x[:], y[:]) }

// labelsOf returns the values of containerLabels.
func labelsOf(c *finding.Container) [5]string { return labelValues(&c.ContainerNames, c.PodUID, c.ID) }

func labelValues(n *finding.ContainerNames, podUID, containerID *string) [5]string {
	if n.Namespace != nil && n.Pod != nil && n.Name != nil {
		return [5]string{*n.Namespace, *n.Pod, *n.Name}
	}
	const short = 12 // as container runtimes show an id; it is in every series
	id := snapshot.Word(containerID)
	word := snapshot.Word
	return [5]string{word(n.Namespace), word(n.Pod), word(n.Name), word(podUID), id[:min(short, len(id))]}
}

// later reports whether the first process of c started after that of other.
func later(c, other *finding.Container) bool {
	x, y := c.Processes[0].Started, other.Processes[0].Started
	return x != nil && (y == nil || *x > *y) // RFC 3339 in one zone
}
