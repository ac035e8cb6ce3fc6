// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/needs"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/profile/promtext"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// scrape is the series of one answer.
type scrape struct {
	families *registry
	// conventional adds OpenTelemetry's names.
	conventional bool
	series       [metricCount][]point
	page         promtext.Page
	buckets      []float64
}

// bounds returns those of histograms.
func (s *scrape) bounds() []float64 {
	if s.buckets == nil {
		s.buckets = observe.Bounds()
	}
	return s.buckets
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

// with returns a container's labels and those of the metric.
func (s *scrape) with(labels []promtext.Label, m metric, values ...string) promtext.Labels {
	return promtext.Text(sorted(slices.Concat(labels, pairs(s.families[m].labels, values)))...)
}

// add adds a series.
func (s *scrape) add(m metric, p point) { s.series[m] = append(s.series[m], p) }

func (s *scrape) labelled(m metric, v float64, labels promtext.Labels) {
	s.add(m, point{v, nil, labels})
}

// number adds a series of the agent itself.
func (s *scrape) number(m metric, v float64, values ...string) {
	s.series[m] = append(s.series[m], point{v, nil, promtext.Text(pairs(s.families[m].labels, values)...)})
}

// maybe adds a series if its value is known.
func maybe[T figure.Number](s *scrape, m metric, f figure.Of[T], labels promtext.Labels) {
	if f.Known() && !math.IsNaN(float64(f.N)) {
		s.labelled(m, float64(f.N), labels)
	}
}

// spread adds a histogram of a container with names. Of others, whose labels change at each
// restart, that would be too many series.
func (s *scrape) spread(m metric, f figure.Of[finding.Spread], c *finding.Container, labels promtext.Labels) {
	if f.Known() && c.Name != nil && c.Pod != nil && c.Namespace != nil {
		s.add(m, point{float64(f.N.Count), f.N.Below, labels})
	}
}

// when adds a series of an RFC 3339 time; nil = none.
func (s *scrape) when(m metric, v *string, labels promtext.Labels) {
	if v == nil {
		return
	}
	if at, err := time.Parse(time.RFC3339, *v); err == nil {
		s.labelled(m, float64(at.Unix()), labels)
	}
}

// container adds all series of a container.
func (s *scrape) container(c *finding.Container, own []promtext.Label) {
	p, labels := &c.Processes[0], promtext.Text(own...)
	aware := ""
	if p.Aware != nil {
		aware = map[bool]string{true: "true", false: "false"}[*p.Aware]
	}
	s.labelled(info, 1, s.with(own, info, p.GoVersion.N, word(p.Line), aware, p.GOMAXPROCSSource.N, word(p.SetLimit), word(c.Workload)))
	s.labelled(processes, float64(len(c.Processes)), labels)
	s.when(started, p.Started, labels)
	s.when(resized, p.QuotaChanged, s.with(own, resized, "cpu"))
	s.when(resized, p.LimitChanged, s.with(own, resized, "memory"))
	maybe(s, gomaxprocs, p.GOMAXPROCS, labels)
	switch {
	case p.GOMEMLIMIT.Known():
		s.labelled(gomemlimit, float64(p.GOMEMLIMIT.N), labels)
	case p.GOMEMLIMIT.Read():
		s.labelled(gomemlimit, math.Inf(1), labels)
	}
	if p.GOGC.Known() {
		v := float64(p.GOGC.N.N)
		if p.GOGC.N.Off {
			v = math.Inf(1)
		}
		s.labelled(gogc, v, labels)
	}
	maybe(s, heapLive, p.Live, labels)
	maybe(s, heapGoal, p.Goal, labels)
	maybe(s, resident, p.Memory, labels)
	s.labelled(cpuSeconds, p.CPUTotal, labels)
	maybe(s, gcCycles, p.Cycles, labels)
	maybe(s, gcCPU, p.GCTotal, labels)
	maybe(s, gcPause, p.Pauses, labels)
	maybe(s, gcShare, p.GC, labels)
	maybe(s, goroutines, p.Goroutines, labels)
	s.spread(latency, p.Latency, c, labels)
	s.spread(stops, p.Stops, c, labels)
	maybe(s, affinity, p.CPUs, labels)
	if s.conventional {
		s.convention(c, p, labels)
	}

	maybe(s, request, c.Request, labels)
	if c.Quota.Known() {
		maybe(s, quota, c.Quota, labels)
		maybe(s, periods, c.Periods, labels)
		maybe(s, throttledPeriods, c.ThrottledPeriods, labels)
		maybe(s, throttledSeconds, c.ThrottledSeconds, labels)
		maybe(s, throttled, c.Throttled, labels)
	}
	maybe(s, memoryLimit, c.MemoryLimit, labels)
	maybe(s, memoryUsed, c.Memory, labels)
	maybe(s, memoryHeld, c.Unreclaimable, labels)
	maybe(s, oomKills, c.OOMKills, labels)
	worst := map[string]finding.Severity{}
	for i := range c.Processes {
		for _, f := range c.Processes[i].Findings {
			if f.Severity.Level() > worst[f.ID].Level() {
				worst[f.ID] = f.Severity
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(worst)) {
		s.labelled(found, 1, s.with(own, found, id, string(worst[id])))
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
	s.labelled(needInfo, float64(h.Containers), s.with(nil, needInfo, labels[:]...))
	s.labelled(needSeen, w.Seen, s.with(nil, needSeen, labels[:3]...))
	m := needSeen
	stats := w.Stats()
	for i, one := range &needs.Names {
		if i == 0 || one.Name != needs.Names[i-1].Name {
			m++ // the metrics have the order of the names
		}
		if labels[3] = one.Stat; !math.IsNaN(stats[i]) {
			s.labelled(m, stats[i], s.with(nil, m, labels[:4]...))
		}
	}
}

// convention adds the figures that have a name in the semantic conventions, as an exporter of
// OpenTelemetry writes them for Prometheus. Source: opentelemetry.io/docs/specs/semconv/runtime/go-metrics.
func (s *scrape) convention(c *finding.Container, p *finding.NodeProcess, labels promtext.Labels) {
	maybe(s, otelProcs, p.GOMAXPROCS, labels)
	maybe(s, otelMemLimit, p.GOMEMLIMIT, labels)
	if p.GOGC.Known() && !p.GOGC.N.Off {
		s.labelled(otelGOGC, float64(p.GOGC.N.N), labels)
	}
	maybe(s, otelGoal, p.Goal, labels)
	maybe(s, otelCycles, p.Cycles, labels)
	maybe(s, otelGoroutines, p.Goroutines, labels)
	s.spread(otelLatency, p.Latency, c, labels)
}

// word returns "" for nil.
func word(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func flag(is bool) float64 {
	if is {
		return 1
	}
	return 0
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
		if n := len(s.series[unsupported]); i > 0 && values == of[i-1] {
			s.series[unsupported][n-1].value++
		} else {
			s.labelled(unsupported, 1, promtext.Text(pairs(containerLabels[:], values[:])...))
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
	id := word(containerID)
	return [5]string{word(n.Namespace), word(n.Pod), word(n.Name), word(podUID), id[:min(short, len(id))]}
}

// later reports whether the first process of c started after that of other.
func later(c, other *finding.Container) bool {
	x, y := c.Processes[0].Started, other.Processes[0].Started
	return x != nil && (y == nil || *x > *y) // RFC 3339 in one zone
}
