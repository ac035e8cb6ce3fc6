// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strconv"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

func (p *Page) ps(d *finding.PS) {
	wrong := 0
	for i := range d.Processes {
		if finding.Worst(d.Processes[i].Findings).Level() >= finding.SeverityWarning.Level() {
			wrong++
		}
	}
	n := len(d.Processes)
	switch {
	case n == 0:
		p.line("no Go process to list")
	case wrong == 0:
		p.line("%s, no warning at a glance; doctor measures", content.Processes(n, "Go process"))
	default:
		p.line("%s, %d with a warning or worse", content.Processes(n, "Go process"), wrong)
	}
	p.processes(d.Processes)
	if len(d.Unsupported)+len(d.Others) > 0 {
		p.line("")
	}
	for i := range d.Unsupported {
		p.line("%s", message.Clean(d.Unsupported[i].String()))
	}
	for _, o := range d.Others {
		who := content.Processes(o.Count, "process")
		if o.Count == 1 && len(o.PIDs) == 1 {
			who = "process " + strconv.Itoa(o.PIDs[0])
		}
		what := "not permitted to look at"
		if o.Failed {
			what = "unknown:"
		}
		p.line("%s %s: %s", what, who, metric.Readable(o.Why))
	}
	p.next(d.Next)
}

// processes prints the table of processes.
func (p *Page) processes(all []finding.Process) {
	if len(all) == 0 {
		return
	}
	p.line("")
	rows := [][]string{{"PID", "PROGRAM", "GO", "P", "BY", "QUOTA", "THROTTLED", "MEMORY", "LIMIT", "GOMEMLIMIT", "GOGC",
		"WORST FINDING"}}
	for i := range all {
		rows = append(rows, content.PsRow(&all[i]))
	}
	p.table(rows)
}
