// SPDX-License-Identifier: Apache-2.0

package text

import (
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

func (p *Page) limits(d *finding.Limits) {
	p.line("%s", limitsSummary(d))
	p.line("")
	p.table(append(cpuRows(&d.CPU), memoryRows(&d.Memory)...))
	p.line("")
	p.target(d.Target)
	p.notes(d.Warnings, d.Unknown)
	p.mounts(d.Mounts)
	p.next(d.Next)
}

// limitsSummary summarises the limits of a container in a few words.
func limitsSummary(d *finding.Limits) string {
	c, m := &d.CPU, &d.Memory
	var cpus, machine string
	if c.Affinity.Known() {
		cpus = units.Plural(c.Affinity.N, "CPU")
	}
	if m.Host.Known() {
		machine = units.Bytes(m.Host.N) + " machine"
	}
	if !d.Limited() && cpus != "" && machine != "" {
		return "no limits (" + cpus + ", " + machine + ")"
	}
	cpu, memory := noLimit(c.Quota, "CPU limit", cpus), noLimit(m.Hard, "memory limit", machine)
	if c.Cores.Known() && c.Quota.Known() {
		cpu = units.Plural(c.Cores.N, "CPU")
	}
	if m.Hard.Known() {
		memory = units.Bytes(m.Hard.N)
	}
	if m.Soft.Known() && (!m.Hard.Known() || m.Soft.N < m.Hard.N) {
		memory += ", throttled above " + units.Bytes(m.Soft.N)
	}
	return cpu + ", " + memory
}

// noLimit says that there is no limit, or that it is unknown, and what there is; "" = unknown too.
func noLimit[T any](f figure.Of[T], what, has string) string {
	text := "no " + what
	if !f.Read() {
		text = what + " unknown"
	}
	text += units.If(!f.Known() && has != "", " ("+has+")")
	return text
}

// orNone formats a figure, or says that it is none or unknown.
func orNone[T any](f figure.Of[T], print func(T) string) string {
	switch {
	case f.Known():
		return print(f.N)
	case f.Read():
		return "none"
	}
	return "unknown"
}

// limitRows are rows of a name, a figure, its value and a note. The name is only in the first.
type limitRows [][]string

func (r *limitRows) add(what, value, note string) { *r = append(*r, []string{"", what, value, note}) }

// bytes adds a figure that is known.
func (r *limitRows) bytes(what string, f figure.Of[int64], note string) {
	if f.Known() {
		r.add(what, units.Bytes(f.N), note)
	}
}

func (r *limitRows) pressure(p *finding.Pressure, what string) {
	if p != nil && p.Some10.Known() && p.Some10.N > 0 {
		r.add("pressure", units.Share(p.Some10.N), "of the last 10 s some task waited for "+what)
	}
}

func cpuRows(c *finding.CPU) [][]string {
	cores := func(n float64) string { return units.Plural(n, "core") }
	rows := limitRows{{"CPU", "quota", orNone(c.Quota, cores), ""}}
	if c.Quota.Known() {
		rows[0][3] = sourceText(c.Source)
	}
	if len(c.Levels) > 0 && c.Source != nil && c.Source.Level != c.Levels[0].Level {
		up := slices.IndexFunc(c.Levels, func(l finding.Level) bool { return l.Level == c.Source.Level })
		rows.add("own quota", orNone(c.Levels[0].Quota, cores), "the tighter one is "+units.Plural(max(up, 0), "level")+" up")
	}
	switch {
	case !c.Affinity.Known():
		rows.add("may run on", "unknown", "")
	case c.Cpuset != nil:
		rows.add("may run on", units.Plural(c.Affinity.N, "CPU"), "affinity; the group's cpuset is "+*c.Cpuset)
	default:
		rows.add("may run on", units.Plural(c.Affinity.N, "CPU"), "affinity")
	}
	if c.Periods.Known() && c.ThrottledPeriods.Known() && c.Periods.N > 0 {
		note := units.Number(float64(c.ThrottledPeriods.N)) + " of " + units.Plural(c.Periods.N, "period")
		if c.ThrottledSeconds.Known() && c.ThrottledPeriods.N > 0 {
			note += "; " + units.Seconds(c.ThrottledSeconds.N) + " in all, summed over CPUs"
		}
		rows.add("throttled", units.Share(float64(c.ThrottledPeriods.N)/float64(c.Periods.N)), note)
	}
	if c.Burst.Known() && c.Burst.N > 0 {
		rows.add("burst", units.Plural(c.Burst.N, "core"), "more for one period at a time; throttling understates how "+
			"often the quota was used up")
	}
	switch {
	case c.Weight.Known():
		rows.add("weight", units.Number(float64(c.Weight.N)), request(c))
	case c.Shares.Known():
		rows.add("shares", units.Number(float64(c.Shares.N)), request(c))
	}
	rows.pressure(c.Pressure, "a CPU")
	return rows
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

func memoryRows(m *finding.Memory) [][]string {
	rows := limitRows{{"memory", "limit", orNone(m.Hard, units.Bytes), ""}}
	if m.Hard.Known() {
		rows[0][3] = sourceText(m.Source)
	}
	if !m.Hard.Known() || m.Soft.N < m.Hard.N {
		rows.bytes("throttled above", m.Soft, sourceText(m.SoftSource))
	}
	own, all := "by the process's own group, page cache included", "by all groups under the limit, page cache included"
	if m.Hard.Known() && m.Hard.N > 0 {
		share := func(n int64) string { return units.Share(float64(n)/float64(m.Hard.N)) + " of the limit, " }
		if !m.Shared {
			own = share(m.Current.N) + "page cache included"
		}
		all = share(m.SharedCurrent.N) + "by all groups under it"
	}
	rows.bytes("in use", m.Current, own)
	rows.bytes("shared use", m.SharedCurrent, all)
	rows.bytes("machine", m.Host, "")
	swap := "never counted as memory"
	if m.SwapCurrent.Known() {
		swap = units.Bytes(m.SwapCurrent.N) + " in use; " + swap
	}
	rows.bytes("swap limit", m.SwapMax, swap)
	for _, e := range []struct {
		what string
		n    figure.Of[int64]
		note string
	}{
		{"OOM kills", m.Events.OOMKills, "since the cgroup was created"},
		{"limit hit", m.Events.Max, "times memory had to be reclaimed to stay below the limit"},
		{"high hit", m.Events.High, "times allocation was throttled"},
	} {
		if e.n.N > 0 {
			rows.add(e.what, units.Number(float64(e.n.N)), e.note)
		}
	}
	rows.pressure(m.Pressure, "memory")
	return rows
}

func (p *Page) plan(d *finding.Plan) {
	switch set := settings(d); {
	case set != "" && d.Mode == "observe":
		p.line("%s, if SNUG=observe were not set", set)
	case set != "":
		p.line("%s", set)
	case !d.ChosenByGo() && d.GOMAXPROCS.Code == d.GOMEMLIMIT.Code:
		p.line("nothing to set: %s", d.GOMAXPROCS.Text)
	default:
		p.line("%s", nothing(d))
	}
	p.line("")
	procs := "leave"
	if n := d.GOMAXPROCS.Value; n != nil {
		procs = strconv.FormatInt(*n, 10)
	}
	why := d.GOMAXPROCS.Reason
	if d.ChosenByGo() {
		why.Text = byGo(d, "it") + ": " + why.Text
	}
	rows := [][]string{{"knob", "value", "why, and from where"}}
	var ignored []string
	for _, k := range []struct {
		name, value string
		finding.Reason
		ignored []finding.Reason
	}{
		{"GOMAXPROCS", procs, why, d.GOMAXPROCS.Ignored},
		{"GOMEMLIMIT", amount(d.GOMEMLIMIT.Value, units.Bytes), d.GOMEMLIMIT.Reason, d.GOMEMLIMIT.Ignored},
		{"GOGC", amount(d.GOGC.Value, percentage), d.GOGC.Reason, d.GOGC.Ignored},
	} {
		rows = append(rows, []string{k.name, k.value, k.Text + " [" + k.Code + "]"})
		if file := sourceText(k.Source); file != "" && k.Code != envSet {
			rows = append(rows, []string{"", "", file}) // below, because paths are long
		}
		for _, r := range k.ignored {
			where := sourceText(r.Source)
			if where != "" {
				where = " (" + where + ")"
			}
			ignored = append(ignored, "not used for "+k.name+": "+r.Text+where+" ["+r.Code+"]")
		}
	}
	p.table(rows)
	p.line("")
	lead := "by itself "
	if d.GOMAXPROCS.Code == envSet || d.GOMEMLIMIT.Code == envSet {
		lead = "without these variables "
	}
	p.line("%s%s", lead, defaultText(&d.Runtime, d.Program))
	if g := d.Program; g != nil {
		main := units.If(g.Main != "", " ("+g.Main+")")
		p.line("for %s%s", g.File, main)
		for _, s := range g.Setters {
			p.line("it links %s, which can set knobs by itself", s)
		}
	}
	p.target(d.Target)
	p.notes(d.Warnings, d.Unknown)
	p.mounts(d.Mounts)
	p.below(ignored...)
	p.next(d.Next)
}

// envSet is the reason code of a knob that the operator set.
const envSet = "env-set"

// defaultText says what Go does by default, and whether that equals the plan. program may be nil.
func defaultText(r *finding.Runtime, program *finding.Program) string {
	who, and := "Go 1.25 and later", ""
	if r.Go125 != nil {
		who, and = "Go 1.26 and later", "; Go 1.25 looks elsewhere, and would use "+strconv.Itoa(*r.Go125)
	}
	if r.Go != nil {
		who = *r.Go
	}
	if r.Assumed != nil {
		and += "; snug knows the releases up to Go " + *r.Assumed + ", and assumes that it reads the quota as that one does"
	}
	switch {
	case r.Crashes:
		return who + " would crash: " + r.Text + and
	case r.GOMAXPROCS == nil:
		return who + ": " + r.Text
	}
	differs := units.If(!r.Agrees, " (not the plan)")
	if n := r.Automaxprocs; n != nil {
		differs += ", or " + strconv.Itoa(*n) + " by automaxprocs in it, which rounds the quota down,"
	}
	memory := " and no GOMEMLIMIT"
	if r.Automemlimit {
		memory = " and the GOMEMLIMIT that automemlimit in it may set"
	}
	if program != nil {
		differs += unless(program.ProcsSetBy)
		memory += strings.TrimSuffix(unless(program.MemorySetBy), ",")
	}
	return who + " would use GOMAXPROCS=" + strconv.Itoa(*r.GOMAXPROCS) + differs + memory + ": " + r.Text + and
}

// unless names functions that set another value when called.
func unless(by []string) string {
	const limit = 3
	more := ""
	switch n := len(by) - limit; {
	case len(by) == 0:
		return ""
	case n > 0:
		more = " or " + strconv.Itoa(n) + " more"
	}
	return ", unless " + message.Clean(strings.Join(by[:min(len(by), limit)], " or ")) + more + " in it sets another,"
}

func amount(a *finding.Amount, print func(int64) string) string {
	switch {
	case a == nil:
		return "leave"
	case a.Off:
		return "off"
	}
	return print(a.N)
}

func percentage(n int64) string { return strconv.FormatInt(n, 10) + " %" }

func (p *Page) verdict(d *finding.Verdict) {
	set := settings(d.Plan)
	switch {
	case d.Plan.Mode == "off":
		set = "; " + d.Plan.GOMAXPROCS.Text + ", so nothing is set"
	case set == "":
		set = ": " + nothing(d.Plan)
	default:
		set = ": " + set
	}
	p.line("%s%s", limitsSummary(d.Limits), set)
	if d.Limits.Limited() {
		p.line("%s", defaultText(&d.Plan.Runtime, nil))
	}
	p.notes(d.Plan.Warnings, d.Plan.Unknown)
	p.processes(d.Worst)
	if d.All > len(d.Worst) {
		p.below(strconv.Itoa(len(d.Worst)) + " of " + strconv.Itoa(d.All) + " Go processes; snug ps lists them all")
	}
	p.next(d.Next)
}

// byGo says who chooses the GOMAXPROCS of a plan that sets none.
func byGo(d *finding.Plan, what string) string {
	if n := d.Runtime.Go125; n != nil {
		return "Go 1.26 and later choose " + what + " by themselves, Go 1.25 would use " + strconv.Itoa(*n)
	}
	return "Go itself chooses " + what
}

// nothing says that a plan sets nothing.
func nothing(d *finding.Plan) string {
	if !d.ChosenByGo() {
		return "nothing to set"
	}
	return "nothing to set: " + byGo(d, "GOMAXPROCS="+strconv.FormatInt(*d.GOMAXPROCS.Value, 10))
}

// settings returns the knobs to set as you would type them; "" if there are none.
func settings(d *finding.Plan) string {
	var set []string
	for _, v := range d.Set {
		set = append(set, v.Name+"="+v.Value)
	}
	return strings.Join(set, " ")
}
