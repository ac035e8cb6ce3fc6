// SPDX-License-Identifier: Apache-2.0

package text

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// processHead is the head of the rows of content.PsRow.
var processHead = []string{"PID", "PROGRAM", "GO", "P", "BY", "QUOTA", "THROTTLED", "MEMORY", "LIMIT", "GOMEMLIMIT",
	"GOGC", "WORST FINDING"}

func (p *Page) ps(d *finding.PS) {
	said := units.Plural(len(d.Processes), "Go process")
	wrong := finding.Warned(d.Processes, func(r *finding.Process) finding.Severity { return finding.Worst(r.Findings) })
	switch {
	case len(d.Processes) == 0:
		said = "no Go process to list"
	case wrong == 0:
		said += ", no warning at a glance; doctor measures"
	default:
		said += fmt.Sprintf(", %d with a warning or worse", wrong)
	}
	p.line("%s", said)
	p.processes(d.Processes)
	var lines []string
	for i := range d.Unsupported {
		lines = append(lines, d.Unsupported[i].String())
	}
	for _, o := range d.Others {
		who, what := units.Plural(o.Count, "process"), "not permitted to look at"
		if o.Count == 1 && len(o.PIDs) == 1 {
			who = "process " + strconv.Itoa(o.PIDs[0])
		}
		if o.Failed {
			what = "unknown:"
		}
		lines = append(lines, what+" "+who+": "+metric.Readable(o.Why))
	}
	p.below(lines...)
	p.next(d.Next)
}

// processes prints the table of processes.
func (p *Page) processes(all []finding.Process) {
	if len(all) == 0 {
		return
	}
	rows := [][]string{processHead}
	for i := range all {
		rows = append(rows, content.PsRow(&all[i]))
	}
	p.line("")
	p.table(rows)
}

func (p *Page) node(d *finding.Node) {
	verdict, _ := content.NodeVerdict(d)
	p.line("%s", verdict)
	if d.Scan.Go > 0 {
		p.line("")
		rows := [][]string{append([]string{"CONTAINER"}, processHead...)}
		for i := range d.Containers {
			c := &d.Containers[i]
			name := content.ContainerName(c)
			for j := range c.Processes {
				rows = append(rows, append([]string{name}, content.PsRow(&c.Processes[j].Process)...))
				name = ""
			}
		}
		p.table(rows)
	}
	lines := content.NotSeen(d)
	for _, l := range d.Lost {
		lines = append(lines, "without memory: "+metric.Readable(l))
	}
	p.below(lines...)
	p.end(d.Unknown, d.Next)
}

// fleet prints a row for each workload.
func (p *Page) fleet(d *finding.Fleet) {
	said := units.Plural(d.Processes, "Go process") + " in " + units.Plural(d.Containers, "container") + " of " +
		units.Plural(len(d.Workloads), "workload") + asked(d.Agents, d.Silent)
	wrong := finding.Warned(d.Workloads, (*finding.Workload).Worst)
	switch {
	case d.Processes == 0:
		said = "no Go process to list" + asked(d.Agents, d.Silent)
	case wrong == 0:
		said += ", no warning"
	default:
		said += fmt.Sprintf(", %d with a warning or worse", wrong)
	}
	p.line("%s%s", said, besides(d.Unsupported))
	if len(d.Workloads) > 0 {
		p.line("")
		rows := [][]string{{"WORKLOAD", "PODS", "NODES", "CPUS", "P", "GO", "QUOTA", "CPU", "THROTTLED", "MEMORY",
			"GOMEMLIMIT", "GC", "WORST FINDING"}}
		for i := range d.Workloads {
			rows = append(rows, workloadRow(&d.Workloads[i]))
		}
		p.table(rows)
	}
	p.unsupported(d.Unsupported)
	p.silent(d.Silent)
	p.end(d.Unknown, d.Next)
}

func workloadRow(w *finding.Workload) []string {
	worst := units.None
	if len(w.Findings) > 0 {
		f := &w.Findings[0]
		worst = string(f.Severity) + ": " + f.ID
		worst += units.If(f.Containers < w.Containers, fmt.Sprintf(" in %d", f.Containers))
		worst += content.MoreThan(1, len(w.Findings))
	}
	return []string{
		content.WorkloadName(w.Namespace, w.Name, w.Container), strconv.Itoa(w.Containers), strconv.Itoa(len(w.Nodes)),
		content.Span(w.CPUs, strconv.Itoa), content.Span(w.GOMAXPROCS, strconv.Itoa), content.Span(w.Go, content.GoShort),
		content.Span(w.Quota, units.Number), content.Figure(w.Used, content.TwoFigures),
		content.Span(w.Throttled, units.Share), content.Span(w.Filled, units.Share),
		content.Span(w.GOMEMLIMIT, units.Bytes), content.Span(w.GC, units.Share), worst,
	}
}

// asked says how many agents answered.
func asked(agents int, silent []finding.SilentAgent) string {
	if len(silent) == 0 {
		return " on " + units.Plural(agents, "node")
	}
	return fmt.Sprintf(" on %d of %s", agents-len(silent), units.Plural(agents, "node"))
}

// besides counts the processes whose Go runtime is not read.
func besides(all []finding.FleetUnsupported) string {
	n := 0
	for i := range all {
		n += all[i].Processes
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %d unsupported", n)
}

// unsupported prints where the processes are whose Go runtime is not read, a line for each workload.
func (p *Page) unsupported(all []finding.FleetUnsupported) {
	const most = 10
	var lines []string
	for _, u := range all[:min(most, len(all))] {
		text := "unsupported: " + units.Plural(u.Processes, "process")
		if u.Namespace != nil || u.Container != nil || u.Workload != nil {
			text += " in " + content.WorkloadName(u.Namespace, u.Workload, u.Container)
		}
		lines = append(lines, text+": "+metric.Readable(u.Why))
	}
	if more := len(all) - most; more > 0 {
		lines = append(lines, fmt.Sprintf("unsupported: processes of %d more workloads", more))
	}
	p.below(lines...)
}

// silent prints which nodes are not looked at, a line for each reason.
func (p *Page) silent(all []finding.SilentAgent) {
	const named = 5 // nodes of a line
	by, order := map[string][]string{}, []string{}
	for _, s := range all {
		why := content.Reason(&s.Why)
		if by[why] == nil {
			order = append(order, why)
		}
		by[why] = append(by[why], cmp.Or(s.Node, "the pod "+s.Pod))
	}
	var lines []string
	for _, why := range order {
		text := strings.Join(by[why][:min(named, len(by[why]))], ", ")
		if more := len(by[why]) - named; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		lines = append(lines, "not looked at: "+text+": "+why)
	}
	p.below(lines...)
}

// fleetDoctor prints what is wrong, each finding once.
func (p *Page) fleetDoctor(d *finding.FleetDoctor) {
	found := counts(d.Findings, func(f *finding.FleetDisorder) finding.Severity { return f.Severity })
	p.line("%s; %s in %s%s%s", found, units.Plural(d.Processes, "Go process"),
		units.Plural(d.Containers, "container"), asked(d.Agents, d.Silent), besides(d.Unsupported))
	for i := range d.Findings {
		f := &d.Findings[i]
		p.line("")
		p.line("%s: %s (%s)", f.Severity, metric.Readable(f.Title), f.ID)
		where := f.Pod
		if f.Of != 1 {
			where = fmt.Sprintf("%d of %s, such as %s", f.Containers, units.Plural(f.Of, "container"), f.Pod)
		}
		where += units.If(f.Node != "", " on "+f.Node)
		p.line("  in %s: %s", content.WorkloadName(f.Namespace, f.Workload, f.Container), where)
		if f.Fix != "" {
			p.line("  fix: %s", metric.Readable(f.Fix))
		}
	}
	p.unsupported(d.Unsupported)
	p.silent(d.Silent)
	p.end(d.Unknown, d.Next)
}
