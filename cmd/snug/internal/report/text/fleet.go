// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// fleet prints a row for each workload.
func (p *Page) fleet(d *finding.Fleet) {
	wrong := 0
	for i := range d.Workloads {
		if d.Workloads[i].Worst().Level() >= finding.SeverityWarning.Level() {
			wrong++
		}
	}
	said := content.Processes(d.Processes, "Go process") + " in " + units.Plural(d.Containers, "container") + " of " +
		units.Plural(len(d.Workloads), "workload") + asked(d.Agents, d.Silent)
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
	p.notes(nil, d.Unknown)
	p.next(d.Next)
}

func workloadRow(w *finding.Workload) []string {
	worst := units.None
	if len(w.Findings) > 0 {
		f := &w.Findings[0]
		worst = message.Clean(string(f.Severity)) + ": " + message.Clean(f.ID)
		if f.Containers < w.Containers {
			worst += fmt.Sprintf(" in %d", f.Containers)
		}
		if more := len(w.Findings) - 1; more > 0 {
			worst += " +" + strconv.Itoa(more)
		}
	}
	return []string{
		message.Clean(content.WorkloadName(w.Namespace, w.Name, w.Container)), strconv.Itoa(w.Containers),
		strconv.Itoa(len(w.Nodes)),
		content.Span(w.CPUs, strconv.Itoa), content.Span(w.GOMAXPROCS, strconv.Itoa),
		content.Span(w.Go, func(v string) string { return content.GoShort(message.Clean(v)) }),
		content.Span(w.Quota, units.Number), content.Figure(w.Used, func(x float64) string { return units.Figures(x, 2) }),
		content.Span(w.Throttled, units.Share), content.Span(w.Filled, units.Share), content.Span(w.GOMEMLIMIT, units.Bytes),
		content.Span(w.GC, units.Share), worst,
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
	const lines = 10
	if len(all) > 0 {
		p.line("")
	}
	for i := range all[:min(lines, len(all))] {
		u := &all[i]
		where := ""
		if u.Namespace != nil || u.Container != nil || u.Workload != nil {
			where = " in " + message.Clean(content.WorkloadName(u.Namespace, u.Workload, u.Container))
		}
		p.line("unsupported: %s%s: %s", content.Processes(u.Processes, "process"), where, metric.Readable(u.Why))
	}
	if more := len(all) - lines; more > 0 {
		p.line("unsupported: processes of %d more workloads", more)
	}
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
		where := s.Node
		if where == "" {
			where = "the pod " + s.Pod
		}
		by[why] = append(by[why], message.Clean(where))
	}
	if len(all) > 0 {
		p.line("")
	}
	for _, why := range order {
		where := by[why]
		text := strings.Join(where[:min(named, len(where))], ", ")
		if more := len(where) - named; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		p.line("not looked at: %s: %s", text, metric.Readable(why))
	}
}

// fleetDoctor prints what is wrong, each finding once.
func (p *Page) fleetDoctor(d *finding.FleetDoctor) {
	count := map[finding.Severity]int{}
	for i := range d.Findings {
		count[d.Findings[i].Severity]++
	}
	p.line("%s; %s in %s%s%s", counts(count, 0), content.Processes(d.Processes, "Go process"), units.Plural(d.Containers,
		"container"), asked(d.Agents, d.Silent), besides(d.Unsupported))
	for i := range d.Findings {
		f := &d.Findings[i]
		p.line("")
		p.line("%s: %s (%s)", message.Clean(string(f.Severity)), metric.Readable(f.Title), message.Clean(f.ID))
		where := fmt.Sprintf("%d of %s", f.Containers, units.Plural(f.Of, "container"))
		if f.Of == 1 {
			where = message.Clean(f.Pod)
		} else {
			where += ", such as " + message.Clean(f.Pod)
		}
		if f.Node != "" {
			where += " on " + message.Clean(f.Node)
		}
		p.line("  in %s: %s", message.Clean(content.WorkloadName(f.Namespace, f.Workload, f.Container)), where)
		if f.Fix != "" {
			p.line("  fix: %s", metric.Readable(f.Fix))
		}
	}
	p.unsupported(d.Unsupported)
	p.silent(d.Silent)
	p.notes(nil, d.Unknown)
	p.next(d.Next)
}
