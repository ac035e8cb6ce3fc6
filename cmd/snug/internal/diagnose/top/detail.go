// SPDX-License-Identifier: Apache-2.0

package top

import (
	"math"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
	"github.com/snug-go/snug/limits"
)

// pane returns the detail of the chosen process, from the scroll position.
func (v *View) pane(width, height int) []Row {
	p := v.current()
	if height < 1 || p == nil {
		return nil
	}
	all := v.about(p, width)
	v.inner = max(1, height-1)
	v.scroll = max(0, min(v.scroll, len(all)-v.inner))
	l := v.glyphs.newLine(width).add(Title, strings.Repeat(v.glyphs.line, 2)+" "+strconv.Itoa(p.PID)+" "+p.Name+" ")
	if below := len(all) - v.scroll - v.inner; below > 0 {
		l.whole(Title, v.glyphs.dot+" PgDn: "+strconv.Itoa(below)+" more ")
	}
	if p.GoVersion.Known() {
		l.whole(Title, v.glyphs.dot+" "+p.GoVersion.N+" ")
	}
	l.add(Title, strings.Repeat(v.glyphs.line, max(0, l.left)))
	return append([]Row{l.row}, all[v.scroll:min(len(all), v.scroll+v.inner)]...)
}

// about returns all rows of the detail of a process.
func (v *View) about(p *finding.TopProcess, width int) []Row {
	g := v.glyphs
	var rows []Row
	text := func(role Role, indent int, s string) {
		for _, part := range wrap(g.clean(s), width-indent) {
			rows = append(rows, g.newLine(width).add(role, strings.Repeat(" ", indent)).add(role, part).row)
		}
	}
	for i := range p.Findings {
		f := &p.Findings[i]
		text(roleOf(f.Severity), 0, string(f.Severity)+": "+f.Title+" ["+f.ID+"]")
		text(Plain, 2, "fix: "+f.Fix)
		if f.Verify != "" {
			text(Dim, 2, "verify: "+f.Verify)
		}
	}
	if len(p.Findings) == 0 {
		text(Plain, 0, "nothing found; snug doctor "+strconv.Itoa(p.PID)+" looks closer")
	} else {
		text(Dim, 0, "evidence: snug doctor "+strconv.Itoa(p.PID)+"; why: snug explain "+p.Findings[0].ID)
	}
	rows = append(rows, nil)
	for _, f := range v.figures(p) {
		l := g.newLine(width).add(Label, g.fit(f[0], min(12, width), true))
		if l.left > 8 {
			parts := wrap(g.clean(f[1]), l.left-1)
			for i, part := range parts {
				if i > 0 {
					l = g.newLine(width).add(Plain, strings.Repeat(" ", min(12, width)))
				}
				rows = append(rows, l.add(Plain, " "+part).row)
			}
			continue
		}
		rows = append(rows, l.row)
		text(Plain, 1, f[1])
	}
	seen := map[string]bool{}
	for _, gap := range p.Unknown {
		if gap.Why != "" && !seen[gap.Why] {
			seen[gap.Why] = true
			text(Dim, 0, "unknown: "+strings.ReplaceAll(gap.Field, "_", " ")+": "+gap.Why)
		}
	}
	return rows
}

// figures returns the figures of a process with their names.
func (v *View) figures(p *finding.TopProcess) [][2]string {
	g := v.glyphs
	var out [][2]string
	add := func(what string, parts ...string) {
		var known []string
		for _, s := range parts {
			if s != "" {
				known = append(known, s)
			}
		}
		if len(known) > 0 {
			out = append(out, [2]string{what, strings.Join(known, ", ")})
		}
	}
	part := func(f figure.Of[float64], before string, print func(float64) string, after string) string {
		if !f.Known() {
			return ""
		}
		return before + print(f.N) + after
	}
	bytes := func(f figure.Of[int64], before, after string) string {
		if !f.Known() {
			return ""
		}
		return before + units.NarrowBytes(f.N) + after
	}
	two := func(x float64) string { return units.NarrowFixed(x, 6) }
	if p.Exe != "" {
		add("program", p.Exe)
	}
	quota := part(p.Quota, "quota ", units.NarrowNumber, "")
	if p.Quota.State == limits.None {
		quota = "no quota"
	}
	add("CPU", part(p.Used, "", two, " cores used"), quota,
		part(p.Throttled, "throttled in ", units.About, " of its periods"),
		part(p.Waiting, "", two, " threads waiting for a CPU"), counted(p.Threads, "thread", "threads"))
	if p.GOMAXPROCS.Known() {
		by := ""
		if p.GOMAXPROCSSource.Known() {
			by = map[string]string{
				"environment": "set by the environment", "code": "set by code", "runtime": "set by Go from the quota and CPUs",
				"host": "set by Go from the CPUs alone",
			}[p.GOMAXPROCSSource.N]
			if p.Module != nil {
				by += ": " + *p.Module
			}
		}
		add("GOMAXPROCS", strconv.Itoa(p.GOMAXPROCS.N), by,
			part(figure.As[float64](p.CPUs), "may run on ", units.NarrowNumber, " CPUs"))
	}
	add("Ps", part(p.Busy, "", two, " busy"), part(p.Spinning, "of them ", two, " spinning"),
		part(p.Idle, "", two, " idle"))
	add("GC", part(p.PerMinute, "", func(x float64) string { return units.NarrowCount(x, 6) }, " a minute"),
		part(p.GC, "", units.About, " of its CPU time"),
		part(p.MeanPause, "mean pause ", g.duration, ""), part(p.Paused, "stopped ", g.duration, " a second"), gogc(p))
	spread := func(f figure.Of[finding.Spread], head string) string {
		if !f.Known() {
			return ""
		}
		return head + g.duration(f.N.P50) + ", P99 " + g.duration(f.N.P99) + ", max " + g.duration(f.N.Max)
	}
	count := ""
	if p.Goroutines.Known() {
		count = strconv.Itoa(p.Goroutines.N)
	}
	add("goroutines", count, spread(p.Lately, "ran after P50 "), spread(p.Stopped, "each GC stop P50 "))
	bar := ""
	if full, ok := fullness(p).Get(); ok {
		bar, _ = g.bar(p, 20)
		bar += " " + units.About(full) + " of the limit"
		if !limit(p).Known() {
			bar = strings.TrimSuffix(bar, "limit") + "goal"
		}
	}
	add("heap", bytes(p.Heap, "", ""), bytes(p.Live, "live ", ""), bytes(p.Goal, "goal ", ""), bar)
	memlimit := bytes(p.GOMEMLIMIT, "GOMEMLIMIT ", "")
	if p.GOMEMLIMIT.State == limits.None {
		memlimit = "no GOMEMLIMIT"
	}
	hard := bytes(p.MemoryLimit, "limit ", "")
	if p.MemoryLimit.State == limits.None {
		hard = "no limit"
	}
	add("memory", bytes(p.Memory, "", " resident"), bytes(p.Mapped, "Go holds ", ""), memlimit, hard)
	if p.Window.Known() && p.Window.N > 0 {
		window := strconv.FormatFloat(math.Ceil(p.Window.N), 'f', 0, 64)
		add("", "Ps and GC: over the last "+window+" s; all else: the last interval")
	}
	return out
}

func gogc(p *finding.TopProcess) string {
	switch {
	case !p.GOGC.Known():
		return ""
	case p.GOGC.N.Off:
		return "GOGC off"
	}
	return "GOGC " + strconv.FormatInt(p.GOGC.N.N, 10)
}

// helpRows returns the help, from the scroll position.
func (v *View) helpRows(width, height int) []Row {
	g := v.glyphs
	var all []Row
	pair := func(a, b string, cells int) {
		l := g.newLine(width).add(Label, g.fit(a, min(cells, width), true))
		for i, s := range wrap(b, max(1, l.left-1)) {
			if i > 0 {
				l = g.newLine(width).add(Plain, strings.Repeat(" ", min(cells, width)))
			}
			all = append(all, l.add(Plain, " "+s).row)
		}
	}
	for _, k := range [][2]string{
		{"Up Down j k", "choose a process; it stays chosen when the order changes, Esc releases it"},
		{"PgUp PgDn g G", "a page, the first, the last"},
		{"Enter", "what is wrong with it, the fix, all figures; again to close"},
		{"/", "filter by name, path, pid or finding; Enter keeps it, Esc clears it"},
		{"< > Left Right", "sort by another column"},
		{"P M N T C W", "sort by CPU, memory, pid, throttling, GC, finding"},
		{"r", "reverse the order"},
		{"Space p", "pause and continue"},
		{"+ -", "look less often, more often"},
		{"Ctrl-L Ctrl-Z", "redraw; suspend"},
		{"q Ctrl-C", "quit"},
	} {
		pair(k[0], k[1], 15)
	}
	all = append(all, nil)
	for _, c := range columns {
		pair(c.head, c.words, 15)
	}
	pair("bar", g.heap+" heap, "+g.goal+" up to its goal, "+g.room+" up to the limit", 15)
	pair("- ? .", "none; could not be read; not known before the second look", 15)
	pair("", "Ps and GC figures cover up to 30 s, all others the last interval.", 15)
	v.inner = max(1, height-2)
	v.scroll = max(0, min(v.scroll, len(all)-v.inner))
	rows := []Row{g.newLine(width).add(Title, "snug top: keys and columns").row}
	if height == 1 {
		return rows
	}
	rows = append(rows, all[v.scroll:min(len(all), v.scroll+v.inner)]...)
	for len(rows) < height-1 {
		rows = append(rows, nil)
	}
	foot := "any of q ? Esc closes"
	if below := len(all) - v.scroll - v.inner; below > 0 {
		foot = "PgDn: " + counted(below, "row", "rows") + " more; q ? Esc close"
	}
	return append(rows, g.newLine(width).add(Label, foot).row)
}
