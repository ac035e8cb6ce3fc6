// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

func (p *Page) limits(d *finding.Limits) {
	p.line("%s", LimitsSummary(d))
	p.line("")
	p.table(append(cpuRows(d), memoryRows(d)...))
	p.line("")
	p.target(d.Target)
	p.notes(d.Warnings, d.Unknown)
	p.next(d.Next)
}

// LimitsSummary summarises the limits of a container in a few words.
func LimitsSummary(d *finding.Limits) string {
	c, m := &d.CPU, &d.Memory
	var cpu, memory string
	if !d.Limited() && c.Affinity != nil && m.Host != nil {
		return "no limits (" + units.Plural(*c.Affinity, "CPU") + ", " + units.Bytes(*m.Host) + " machine)"
	}
	switch {
	case c.Cores != nil && c.Quota != nil:
		cpu = units.Plural(*c.Cores, "CPU")
	case c.Quota == nil && missing(d, "cpu.quota_cores"):
		cpu = "CPU limit unknown"
	default:
		cpu = "no CPU limit"
	}
	if c.Quota == nil && c.Affinity != nil {
		cpu += " (" + units.Plural(*c.Affinity, "CPU") + ")"
	}
	switch {
	case m.Hard != nil:
		memory = units.Bytes(*m.Hard)
	case missing(d, "memory.hard_bytes"):
		memory = "memory limit unknown"
	default:
		memory = "no memory limit"
	}
	if m.Hard == nil && m.Host != nil {
		memory += " (" + units.Bytes(*m.Host) + " machine)"
	}
	if m.Soft != nil && (m.Hard == nil || *m.Soft < *m.Hard) {
		memory += ", throttled above " + units.Bytes(*m.Soft)
	}
	return cpu + ", " + memory
}

// missing reports whether a figure is listed as unknown.
func missing(d *finding.Limits, field string) bool { return content.MissingIn(d.Unknown, field) }

// noneOrUnknown returns the meaning of a null field: "unknown" or "none".
func noneOrUnknown(d *finding.Limits, field string) string {
	if missing(d, field) {
		return "unknown"
	}
	return "none"
}

func cpuRows(d *finding.Limits) [][]string {
	c := &d.CPU
	rows := [][]string{{"CPU", "quota", noneOrUnknown(d, "cpu.quota_cores"), ""}}
	add := func(what, value, note string) { rows = append(rows, []string{"", what, value, note}) }
	if c.Quota != nil {
		rows[0][2], rows[0][3] = units.Plural(*c.Quota, "core"), sourceText(c.Source)
	}
	if len(c.Levels) > 0 && c.Source != nil && c.Source.Level != c.Levels[0].Level {
		own := "none"
		if q := c.Levels[0].Quota; q != nil {
			own = units.Plural(*q, "core")
		}
		add("own quota", own, "the tighter one is "+units.Plural(levelsUp(c), "level")+" up")
	}
	if c.Affinity != nil {
		note := "affinity"
		if c.Cpuset != nil {
			note = "affinity; the group's cpuset is " + message.Clean(*c.Cpuset)
		}
		add("may run on", units.Plural(*c.Affinity, "CPU"), note)
	} else {
		add("may run on", "unknown", "")
	}
	if c.Periods != nil && c.ThrottledPeriods != nil && *c.Periods > 0 {
		note := ""
		if c.ThrottledSeconds != nil && *c.ThrottledPeriods > 0 {
			note = units.Seconds(*c.ThrottledSeconds) + " in all, summed over CPUs"
		}
		add("throttled", units.Share(float64(*c.ThrottledPeriods)/float64(*c.Periods)),
			strings.TrimSuffix(units.Number(float64(*c.ThrottledPeriods))+" of "+units.Plural(*c.Periods, "period")+"; "+note, "; "))
	}
	if c.Burst != nil && *c.Burst > 0 {
		add("burst", units.Plural(*c.Burst, "core"), "more for one period at a time; throttling understates how often the quota was used up")
	}
	switch {
	case c.Weight != nil:
		add("weight", units.Number(float64(*c.Weight)), request(c))
	case c.Shares != nil:
		add("shares", units.Number(float64(*c.Shares)), request(c))
	}
	if above(c.Pressure) {
		add("pressure", units.Share(*c.Pressure.Some10), "of the last 10 s some task waited for a CPU")
	}
	return rows
}

func levelsUp(c *finding.CPU) int {
	for i := range c.Levels {
		if c.Levels[i].Level == c.Source.Level {
			return i
		}
	}
	return 0
}

// request says which CPU requests give the weight or shares.
func request(c *finding.CPU) string {
	var numbers []string
	orNone := ""
	for _, r := range c.Candidates {
		if r == 0 {
			orNone = ", or none"
			continue
		}
		numbers = append(numbers, units.Number(r))
	}
	switch {
	case len(c.Candidates) == 0:
		return "no CPU request"
	case c.Request != nil:
		return "a CPU request of " + units.Plural(*c.Request, "core")
	}
	cores := strings.Join(numbers, " or ") + " cores"
	if len(numbers) == 1 && numbers[0] == "1" {
		cores = "1 core"
	}
	return "ambiguous: a CPU request of " + cores + orNone
}

func memoryRows(d *finding.Limits) [][]string {
	m := &d.Memory
	rows := [][]string{{"memory", "limit", noneOrUnknown(d, "memory.hard_bytes"), ""}}
	add := func(what, value, note string) { rows = append(rows, []string{"", what, value, note}) }
	if m.Hard != nil {
		rows[0][2], rows[0][3] = units.Bytes(*m.Hard), sourceText(m.Source)
	}
	if m.Soft != nil && (m.Hard == nil || *m.Soft < *m.Hard) {
		add("throttled above", units.Bytes(*m.Soft), sourceText(m.SoftSource))
	}
	if m.Current != nil {
		note := "by the process's own group, page cache included"
		if m.Hard != nil && *m.Hard > 0 && !m.Shared {
			note = units.Share(float64(*m.Current)/float64(*m.Hard)) + " of the limit, page cache included"
		}
		add("in use", units.Bytes(*m.Current), note)
	}
	if m.SharedCurrent != nil {
		note := "by all groups under the limit, page cache included"
		if m.Hard != nil && *m.Hard > 0 {
			note = units.Share(float64(*m.SharedCurrent)/float64(*m.Hard)) + " of the limit, by all groups under it"
		}
		add("shared use", units.Bytes(*m.SharedCurrent), note)
	}
	if m.Host != nil {
		add("machine", units.Bytes(*m.Host), "")
	}
	if m.SwapMax != nil {
		note := "never counted as memory"
		if m.SwapCurrent != nil {
			note = units.Bytes(*m.SwapCurrent) + " in use; " + note
		}
		add("swap limit", units.Bytes(*m.SwapMax), note)
	}
	e := &m.Events
	for _, row := range []struct {
		what string
		n    *int64
		note string
	}{
		{"OOM kills", e.OOMKills, "since the cgroup was created"},
		{"limit hit", e.Max, "times memory had to be reclaimed to stay below the limit"},
		{"high hit", e.High, "times allocation was throttled"},
	} {
		if row.n != nil && *row.n > 0 {
			add(row.what, units.Number(float64(*row.n)), row.note)
		}
	}
	if above(m.Pressure) {
		add("pressure", units.Share(*m.Pressure.Some10), "of the last 10 s some task waited for memory")
	}
	return rows
}

// above reports whether there is any pressure to show.
func above(p *finding.Pressure) bool { return p != nil && p.Some10 != nil && *p.Some10 > 0 }
