// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/message"
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
	p.mounts(d.Mounts)
	p.next(d.Next)
}

// LimitsSummary summarises the limits of a container in a few words.
func LimitsSummary(d *finding.Limits) string {
	c, m := &d.CPU, &d.Memory
	var cpu, memory string
	if !d.Limited() && c.Affinity.Known() && m.Host.Known() {
		return "no limits (" + units.Plural(c.Affinity.N, "CPU") + ", " + units.Bytes(m.Host.N) + " machine)"
	}
	switch {
	case c.Cores.Known() && c.Quota.Known():
		cpu = units.Plural(c.Cores.N, "CPU")
	case !c.Quota.Read():
		cpu = "CPU limit unknown"
	default:
		cpu = "no CPU limit"
	}
	if !c.Quota.Known() && c.Affinity.Known() {
		cpu += " (" + units.Plural(c.Affinity.N, "CPU") + ")"
	}
	switch {
	case m.Hard.Known():
		memory = units.Bytes(m.Hard.N)
	case !m.Hard.Read():
		memory = "memory limit unknown"
	default:
		memory = "no memory limit"
	}
	if !m.Hard.Known() && m.Host.Known() {
		memory += " (" + units.Bytes(m.Host.N) + " machine)"
	}
	if m.Soft.Known() && (!m.Hard.Known() || m.Soft.N < m.Hard.N) {
		memory += ", throttled above " + units.Bytes(m.Soft.N)
	}
	return cpu + ", " + memory
}

// noneOrUnknown returns the meaning of a figure without a number.
func noneOrUnknown[T any](f figure.Of[T]) string {
	if f.Read() {
		return "none"
	}
	return "unknown"
}

func cpuRows(d *finding.Limits) [][]string {
	c := &d.CPU
	rows := [][]string{{"CPU", "quota", noneOrUnknown(c.Quota), ""}}
	add := func(what, value, note string) { rows = append(rows, []string{"", what, value, note}) }
	if c.Quota.Known() {
		rows[0][2], rows[0][3] = units.Plural(c.Quota.N, "core"), sourceText(c.Source)
	}
	if len(c.Levels) > 0 && c.Source != nil && c.Source.Level != c.Levels[0].Level {
		own := noneOrUnknown(c.Levels[0].Quota)
		if q := c.Levels[0].Quota; q.Known() {
			own = units.Plural(q.N, "core")
		}
		add("own quota", own, "the tighter one is "+units.Plural(levelsUp(c), "level")+" up")
	}
	if c.Affinity.Known() {
		note := "affinity"
		if c.Cpuset != nil {
			note = "affinity; the group's cpuset is " + message.Clean(*c.Cpuset)
		}
		add("may run on", units.Plural(c.Affinity.N, "CPU"), note)
	} else {
		add("may run on", "unknown", "")
	}
	if c.Periods.Known() && c.ThrottledPeriods.Known() && c.Periods.N > 0 {
		note := ""
		if c.ThrottledSeconds.Known() && c.ThrottledPeriods.N > 0 {
			note = units.Seconds(c.ThrottledSeconds.N) + " in all, summed over CPUs"
		}
		add("throttled", units.Share(float64(c.ThrottledPeriods.N)/float64(c.Periods.N)),
			strings.TrimSuffix(units.Number(float64(c.ThrottledPeriods.N))+" of "+units.Plural(c.Periods.N, "period")+"; "+note,
				"; "))
	}
	if c.Burst.Known() && c.Burst.N > 0 {
		add("burst", units.Plural(c.Burst.N, "core"), "more for one period at a time; throttling understates how often the "+
			"quota was used up")
	}
	switch {
	case c.Weight.Known():
		add("weight", units.Number(float64(c.Weight.N)), request(c))
	case c.Shares.Known():
		add("shares", units.Number(float64(c.Shares.N)), request(c))
	}
	if above(c.Pressure) {
		add("pressure", units.Share(c.Pressure.Some10.N), "of the last 10 s some task waited for a CPU")
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
	case c.Request.Known():
		return "a CPU request of " + units.Plural(c.Request.N, "core")
	}
	cores := strings.Join(numbers, " or ") + " cores"
	if len(numbers) == 1 && numbers[0] == "1" {
		cores = "1 core"
	}
	return "ambiguous: a CPU request of " + cores + orNone
}

func memoryRows(d *finding.Limits) [][]string {
	m := &d.Memory
	rows := [][]string{{"memory", "limit", noneOrUnknown(m.Hard), ""}}
	add := func(what, value, note string) { rows = append(rows, []string{"", what, value, note}) }
	if m.Hard.Known() {
		rows[0][2], rows[0][3] = units.Bytes(m.Hard.N), sourceText(m.Source)
	}
	if m.Soft.Known() && (!m.Hard.Known() || m.Soft.N < m.Hard.N) {
		add("throttled above", units.Bytes(m.Soft.N), sourceText(m.SoftSource))
	}
	if m.Current.Known() {
		note := "by the process's own group, page cache included"
		if m.Hard.Known() && m.Hard.N > 0 && !m.Shared {
			note = units.Share(float64(m.Current.N)/float64(m.Hard.N)) + " of the limit, page cache included"
		}
		add("in use", units.Bytes(m.Current.N), note)
	}
	if m.SharedCurrent.Known() {
		note := "by all groups under the limit, page cache included"
		if m.Hard.Known() && m.Hard.N > 0 {
			note = units.Share(float64(m.SharedCurrent.N)/float64(m.Hard.N)) + " of the limit, by all groups under it"
		}
		add("shared use", units.Bytes(m.SharedCurrent.N), note)
	}
	if m.Host.Known() {
		add("machine", units.Bytes(m.Host.N), "")
	}
	if m.SwapMax.Known() {
		note := "never counted as memory"
		if m.SwapCurrent.Known() {
			note = units.Bytes(m.SwapCurrent.N) + " in use; " + note
		}
		add("swap limit", units.Bytes(m.SwapMax.N), note)
	}
	e := &m.Events
	for _, row := range []struct {
		what string
		n    figure.Of[int64]
		note string
	}{
		{"OOM kills", e.OOMKills, "since the cgroup was created"},
		{"limit hit", e.Max, "times memory had to be reclaimed to stay below the limit"},
		{"high hit", e.High, "times allocation was throttled"},
	} {
		if row.n.N > 0 {
			add(row.what, units.Number(float64(row.n.N)), row.note)
		}
	}
	if above(m.Pressure) {
		add("pressure", units.Share(m.Pressure.Some10.N), "of the last 10 s some task waited for memory")
	}
	return rows
}

// above reports whether there is any pressure to show.
func above(p *finding.Pressure) bool { return p != nil && p.Some10.Known() && p.Some10.N > 0 }
