// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"html/template"
	"maps"
	"math"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Differences draws what the verdict is about: for each metric that a section's settings are
// compared in, the paired difference of each setting from its baseline, with its interval, the
// rounds, a line at no difference and a band for the margin. It returns nil without comparisons.
func Differences(s *content.Section, cells []finding.Cell, all []finding.Comparison) *Figure {
	mine := slices.DeleteFunc(s.Comparisons(cells, all), func(c finding.Comparison) bool {
		return units.Odd(c.Ratio) ||
			c.Ratio <= 0
	})
	if len(mine) == 0 {
		return nil
	}
	f := &Figure{
		Title: "Paired differences", Grid: true,
		Caption: "Each setting against " + content.Baselines(cells, mine) + ", round by round. The line through 0 is no " +
			"difference; a difference within the " +
			"grey band is too small to count. Bar: the 95 % interval. Circles: rounds. A filled mark is a shown difference or " +
			"a shown equality; a hollow one, with ~, is neither.",
	}
	for _, key := range content.Compared(mine) {
		head, more := metric.Heading(key, s.Requests), better(metric.MetricOf(key))
		p := rows{title: head + ": paired differences; " + more, head: head, more: more, marks: []mark{{"zero", "", 1}}}
		for _, c := range mine {
			if c.Metric != key {
				continue
			}
			r := row{name: s.Name(&cells[c.Cell]), value: minus(content.Outcome(&c)), look: "open", at: c.Ratio, low: c.Low,
				high: c.High}
			if c.Word == finding.Better || c.Word == finding.Worse || c.Word == finding.Same {
				r.look = c.Word
			}
			if c.Benchmark != "" {
				r.name = message.Clean(c.Benchmark) + ", " + r.name
			} else { // the figures of single benchmarks are in the tables
				r.rounds = paired(metric.MetricOf(key), &cells[c.Cell], &cells[c.Baseline])
			}
			if c.Margin > 0 && c.Margin < 1 {
				r.band = [2]float64{1 - c.Margin, 1 + c.Margin}
			}
			if c.Margin > 0 {
				p.more = more + "; margin " + units.Share(c.Margin)
			}
			p.rows = append(p.rows, r)
			p.desc += r.name + ": " + r.value + ". "
		}
		p.x = ratios(values(p.rows))
		f.Charts = append(f.Charts, p.draw())
	}
	return f
}

// paired returns the ratio of each round in which both settings have a metric.
func paired(m *metric.Metric, c, baseline *finding.Cell) []float64 {
	base := figures(m, baseline)
	var ratios []float64
	for round, v := range figures(m, c) {
		if b := base[round]; b > 0 && v > 0 {
			ratios = append(ratios, v/b)
		}
	}
	slices.Sort(ratios)
	return ratios
}

// figures returns a metric's values by round. Runs that were OOM-killed are not compared.
func figures(m *metric.Metric, c *finding.Cell) map[int]float64 {
	of := map[int]float64{}
	if m == nil || m.Run == nil {
		return of
	}
	for k := range c.Rounds {
		r := &c.Rounds[k]
		if _, again := of[r.Round]; again || r.Invalid != "" || r.OOMKills != nil && *r.OOMKills > 0 {
			continue
		}
		if v := m.Run(r); v != nil && !units.Odd(*v) {
			of[r.Round] = *v
		}
	}
	return of
}

func better(m *metric.Metric) string {
	if m != nil && m.More {
		return "more is better"
	}
	return "less is better"
}

// Dots draws one metric of a section: for each cell the median, its interval and every valid
// round, with the default as a line. It returns nil if the metric was not measured.
func Dots(s *content.Section, cells []finding.Cell, m *metric.Metric) *Figure {
	p := rows{title: metric.Heading(m.Key, s.Requests) + " by setting; " + better(m)}
	for _, i := range s.Cells {
		v := m.Of(&cells[i])
		if v == nil || units.Odd(*v) {
			continue
		}
		r := row{name: s.Name(&cells[i]), value: m.Print([]*float64{v})[0], at: *v}
		if iv, ok := cells[i].Intervals[m.Key]; ok {
			r.low, r.high = &iv.Low, &iv.High
		}
		r.rounds = slices.Sorted(maps.Values(figures(m, &cells[i])))
		p.rows = append(p.rows, r)
		p.desc += r.name + ": " + r.value + ". "
		if p.marks == nil && slices.Contains(cells[i].Labels, "default") {
			p.marks = []mark{{"base", r.name, *v}}
		}
	}
	low, high, _ := units.Span(values(p.rows))
	if len(p.rows) == 0 || high == 0 {
		return nil
	}
	p.x = linear(values(p.rows), 4, unitsOf(m))
	if m.Unit == metric.Seconds && low >= 0 && high > 20*low {
		p.x = logarithmic(values(p.rows), units.Duration)
	}
	f := &Figure{Title: metric.Heading(m.Key, s.Requests) + ": " + m.Words, Caption: "By setting; " + better(m) +
		". Bar: interval of the median. Circles: rounds."}
	f.Caption += units.If(m.Key == "stw_max_seconds", " Mark: the longest of all rounds.")
	f.Charts = append(f.Charts, p.draw())
	return f
}

// unitsOf returns the units of a metric's axis; nil for plain numbers.
func unitsOf(m *metric.Metric) []units.Unit {
	switch m.Unit {
	case metric.Seconds:
		return units.Times
	case metric.Bytes:
		return units.Sizes
	}
	return nil
}

// kindOf returns the number of a setting's colour and dash, the same in all drawings of a page.
func kindOf(cells []finding.Cell, c *finding.Cell) int {
	name := content.ArmName(c)
	return slices.IndexFunc(cells, func(o finding.Cell) bool { return content.ArmName(&o) == name })
}

// Tails draws latency by percentile for one section, wide and narrow. It returns nil if nothing was
// measured in an open loop.
func Tails(s *content.Section, cells []finding.Cell) *Figure {
	var lines []line
	for _, i := range s.Cells {
		c := &cells[i]
		if c.Load != "saturated" && len(lines) < kinds { // its latency is queueing of its own callers
			lines = tail(lines, s.Name(c), kindOf(cells, c), c.Latency)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	f := &Figure{Title: "Latency by percentile", Caption: s.Title + ". From the intended start of each request. A line " +
		"ends where fewer than ten samples lie above it."}
	if s.Users || s.Ramp || cells[s.Cells[0]].Loop() == finding.LoopClosed {
		f.Caption = s.Title + ". A closed loop hides stalls: users who wait send no requests. A line ends where fewer than " +
			"ten samples lie above it."
	}
	f.Charts = percentiles("Latency by percentile, one line per setting", "of requests are at least as fast", lines)
	return f
}

// tailSamples is the minimum number of samples above a percentile to draw it, as for
// the P99.9 of a table.
const tailSamples = 10

// tail adds a distribution from the median on: rarity and seconds. It ends where fewer than
// tailSamples samples lie above.
func tail(lines []line, name string, kind int, h *finding.Histogram) []line {
	if h == nil || len(h.Seconds) != len(h.Counts) {
		return lines
	}
	l := line{name: name, kind: kind}
	add := func(p, v float64) { l.x, l.y = append(l.x, rarity(p)), append(l.y, v) }
	total := 0.0
	for _, n := range h.Counts {
		total += float64(max(n, 0))
	}
	below, last := 0.0, 0.0
	for i, n := range h.Counts {
		before := below
		below += float64(max(n, 0))
		v := h.Seconds[i]
		if n <= 0 || units.Odd(v) || v <= 0 || v < last {
			continue
		}
		last = v
		if below < total/2 {
			continue
		}
		if len(l.x) == 0 {
			add(.5, v)
		}
		if total-below < tailSamples {
			if p := 1 - tailSamples/total; p > .5 && p > before/total {
				add(p, v)
			}
			break
		}
		add(below/total, v)
	}
	if len(l.x) < 2 {
		return lines
	}
	return append(lines, l)
}

// rarity places a percentile on a logarithmic axis, as HdrHistogram does: each decade of rarity has
// the same width.
func rarity(p float64) float64 { return -math.Log10(1 - p) }

// percentiles draws distributions over rarity.
func percentiles(title, under string, lines []line) []template.HTML {
	x := axis{low: rarity(.5), high: rarity(.99)}
	var all []float64
	p := plot{class: "tail", title: title, under: under}
	for _, l := range lines {
		end := len(l.x) - 1
		all, x.high = append(all, l.y...), max(x.high, l.x[end])
		p.desc += l.name + " ends at " + units.Duration(l.y[end]) + ". "
	}
	for _, t := range []float64{.5, .9, .99, .999, .9999, .99999} {
		if r := rarity(t); r <= x.high+1e-9 {
			x.ticks = append(x.ticks, tick{r, units.Exact(units.RoundTo(100*t, 6)) + " %"})
		}
	}
	p.x, p.panels = x, []panel{{height: 300, y: logarithmic(all, units.Duration), lines: lines}}
	return p.both()
}

// Strips draws when a spinning thread of each setting was off CPU. It returns nil if no stalls were
// measured.
func Strips(cells []finding.Cell) *Figure {
	var part []int
	long := 0.0
	for _, i := range content.Probed(cells) {
		if st := cells[i].Stall; st.Period > 0 && st.Span >= st.Period && st.Span < 1e6 && len(part) < maxRows {
			part, long = append(part, i), max(long, min(st.Span, 20*st.Period))
		}
	}
	if len(part) == 0 {
		return nil
	}
	s := content.NewSection(cells, part)
	s.Workload, s.Load, s.Users, s.Memory = false, false, false, false
	p := plot{class: "strip", title: "Gaps of a spinning thread over " + units.Duration(long),
		x: fromZero(long, 6, units.Times)}
	for _, i := range part {
		st := cells[i].Stall
		law, measured := "none", "none"
		if st.Law > 0 {
			law = units.Duration(st.Law)
		}
		if st.Median != nil {
			measured = units.Duration(*st.Median)
		}
		q := panel{head: s.Name(&cells[i]) + ": law " + law + ", measured " + measured, height: 22, y: axis{high: 1}}
		l := line{name: "did not run", area: "held"}
		for _, g := range st.Gaps {
			if from, to := max(g[0], 0), min(g[0]+g[1], long); to > from && !units.Odd(from) && !units.Odd(to) {
				l.x = append(l.x, from, from, to, to)
				l.tops = append(l.tops, 0, 1, 1, 0)
			}
		}
		l.y, l.lows = make([]float64, len(l.x)), make([]float64, len(l.x))
		q.lines = []line{l}
		p.panels = append(p.panels, q)
		p.desc += q.head + ". "
	}
	return &Figure{Title: "When a spinning thread stalls", Caption: "Blocks: one thread did not run. The law says how " +
		"long it stalls in each period, T(1\u2212q/N); " +
		"a gap that is longer also waits for a CPU that other threads used.", Charts: p.both()}
}

// rampPanels are the panels of a ramp.
var rampPanels = []struct {
	figure int
	title  string
	of     []units.Unit
}{
	{content.CourseRPS, "req/s", nil},
	{content.CourseP50, "median", units.Times},
	{content.CourseP95, "P95", units.Times},
	{content.CourseThrottled, "throttled periods", percent},
	{content.CourseGCs, "collections per second", nil},
}

// Ramp draws the course of a load whose number of users changes: one line for each setting, in
// panels that share the axis of time. It returns nil for any other load.
func Ramp(s *content.Section, cells []finding.Cell) *Figure {
	var all []*content.Course
	for _, i := range s.Cells {
		if c := content.CourseOf(s, cells, i); c != nil && len(all) < kinds {
			all = append(all, c)
		}
	}
	if len(all) == 0 || !(float64(len(all[0].Users))*all[0].Step < 1e6) {
		return nil
	}
	first := all[0]
	times := func(c *content.Course) []float64 {
		at := make([]float64, len(c.Users))
		for i := range at {
			at[i] = (float64(i) + .5) * c.Step
		}
		return at
	}
	end := float64(len(first.Users)) * first.Step
	p := plot{class: "ramp", title: "Throughput, latency, throttling and collections over time",
		x: fromZero(end, 6, units.Times)}
	p.panels = []panel{{head: "users", height: 40, y: fromZero(slices.Max(first.Users), 4, nil),
		lines: []line{{x: times(first), y: first.Users}}}}
	for _, r := range rampPanels {
		q := panel{head: r.title, height: 78}
		high := 0.0
		for _, c := range all {
			l := c.Lines[r.figure]
			if _, top, ok := units.Span(l.High); ok {
				high = max(high, top)
				q.lines = append(q.lines, line{name: c.Name, kind: kindOf(cells, &cells[c.Cell]), x: times(c), y: l.Median,
					lows: l.Low, tops: l.High})
			}
		}
		if q.y = fromZero(high*1.05, 3, r.of); r.figure == content.CourseThrottled {
			q.y = fromZero(1, 2, percent)
		}
		p.panels = append(p.panels, q)
	}
	return &Figure{Title: "The course of the ramp", Charts: p.both(), Caption: "Lines: each setting, the median of its " +
		"rounds in slices of " + units.Duration(first.Step) +
		". Shades: from the least to the most of the rounds. A request is counted where it ends. Throttled: the share of " +
		"periods in which the quota was used up. " +
		"Users wait for each answer, so they ask for less while the service stalls."}
}
