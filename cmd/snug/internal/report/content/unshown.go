// SPDX-License-Identifier: Apache-2.0

package content

import (
	"fmt"
	"math"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// unshown returns the sentence for one thing that the experiment cannot show.
func (w words) unshown(u finding.Unshown) string {
	here := units.CPUs(float64(u.CPUs)) + " here: "
	switch u.Code {
	case finding.UnshownRuns:
		return uncountedText(&u)
	case finding.UnshownStalls:
		says := units.Texts(u.Stalls, func(s finding.StallOf) string {
			return fmt.Sprintf("%s ms for N=%d", units.Two(s.Seconds*1000), s.Threads)
		})
		return here + fmt.Sprintf("stalls of N>%d threads cannot be shown; the law T(1-q/N) says %s at a quota of %s",
			u.CPUs, units.List(says), quotaText(u.Quotas))
	case finding.UnshownThrottle:
		return here + fmt.Sprintf("a quota of %s cannot throttle", quotaText(u.Quotas))
	case finding.UnshownGenerator:
		return here + fmt.Sprintf("with %s the load generator has no CPU of its own, and latencies include its waits",
			quotaText(u.Quotas))
	case finding.UnshownOmission:
		if slices.ContainsFunc(w.cells, func(c finding.Cell) bool { return c.Loop() != "" }) {
			return "a load command that waits for an answer before the next operation meets few stalls: its latencies " +
				"hide them (coordinated omission), one that sends at its own times and prints \"open\": true shows them"
		}
		return "users wait for an answer before the next request, so few requests meet a stall: " +
			"latencies of a closed loop hide it (coordinated omission), --load 80% shows it"
	case finding.UnshownTails:
		use := "--full"
		if p := w.cells[0].Workload; p == "command" || p == "url" {
			use = "--load 80%"
		}
		return "tail latency was not measured here, use " + use
	case finding.UnshownP99:
		return fmt.Sprintf("too few requests for a P99 at %s: it takes %d a run, --window %ds", ratesText(u.Rates), u.Least,
			u.Window)
	}
	if len(u.Cells) == 0 {
		return u.Code
	}
	c := &w.cells[u.Cells[0]]
	at := w.whereCell(c)
	switch u.Code {
	case finding.UnshownHeadroom:
		return fmt.Sprintf("%s %s of closed-loop capacity used %.2f CPUs: this load is saturation", at, c.Load, u.Used)
	case finding.UnshownQueue:
		settings := units.Texts(u.Cells, func(i int) string { return metric.SettingText(w.cells[i].Arm) })
		whose := "its"
		if len(settings) > 1 {
			whose = "their"
		}
		return fmt.Sprintf("%s %s cannot serve %s: %s latencies are those of a growing queue", at, units.List(settings),
			ratesText(u.Rates), whose)
	case finding.UnshownCapacity:
		text := fmt.Sprintf("%s the %s used %.2f of %s when saturated: it waits for something else", at, baseName(c), u.Used,
			units.CPUs(u.Could))
		takers := units.Join(" and ", units.If(u.Others > 0, fmt.Sprintf("other programs (%.1f CPUs)", u.Others)),
			units.If(u.Generator > 0, fmt.Sprintf("the load generator (%.1f CPUs)", u.Generator)))
		return text + units.If(takers != "", ", or "+takers+" took them") + "; its throughput is not its maximum"
	}
	return u.Code
}

// uncounted says how many runs do not count; "" if there are few.
func (w words) uncounted() string {
	for i := range w.Unshown {
		if w.Unshown[i].Code == finding.UnshownRuns {
			return uncountedText(&w.Unshown[i])
		}
	}
	return ""
}

func uncountedText(u *finding.Unshown) string {
	text := fmt.Sprintf("%d of %d runs did not count: %s", u.Runs, u.Of, u.Why)
	if u.Of == 1 {
		text = "the only run did not count: " + u.Why
	}
	text += units.If(u.Late, "; --rt gives it real-time priority")
	return text
}

// lawText compares the measured stalls with the law.
func lawText(l *finding.StallTest) string {
	far := units.About(math.Round(math.Abs(l.Off)*1000) / 1000)
	text := "the median gap is within " + far + " of the stall law T(1-q/N)"
	if math.Abs(l.Off) > 0.25 {
		text = "the median gap differs from the stall law T(1-q/N) by up to " + far + ": other programs probably used " +
			"the CPUs"
	} else if l.Settings != 1 {
		text += fmt.Sprintf(" in each of %d settings", l.Settings)
	}
	text += units.If(l.Free > 0, fmt.Sprintf("; in %d more the quota is enough for all threads", l.Free))
	return text
}

func quotaText(quotas []float64) string { return units.ListBy(units.Texts(quotas, units.CPUs), "or") }

// ratesText lists requests per second.
func ratesText(rates []float64) string {
	return units.List(units.Texts(rates, func(r float64) string { return units.Trim(units.Figures(r, 3)) + "/s" }))
}

// whereCell describes the container of a cell: "at 0.5 CPUs", with the workload if
// there are several.
func (w words) whereCell(c *finding.Cell) string {
	text := "at " + units.CPUs(c.Quota)
	if c.Quota == 0 {
		text = "without a quota"
	}
	if slices.ContainsFunc(w.cells, func(o finding.Cell) bool { return o.Workload != c.Workload }) {
		text = "for " + c.Workload + " " + text
	}
	return text
}
