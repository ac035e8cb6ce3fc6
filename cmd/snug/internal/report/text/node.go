// SPDX-License-Identifier: Apache-2.0

package text

import (
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

func (p *Page) node(d *finding.Node) {
	verdict, _ := content.NodeVerdict(d)
	p.line("%s", verdict)
	if d.Scan.Go > 0 {
		p.line("")
		rows := [][]string{{"CONTAINER", "PID", "PROGRAM", "GO", "P", "BY", "QUOTA", "THROTTLED", "MEMORY", "LIMIT",
			"GOMEMLIMIT", "GOGC", "WORST FINDING"}}
		for i := range d.Containers {
			c := &d.Containers[i]
			for j := range c.Processes {
				name := ""
				if j == 0 {
					name = message.Clean(content.ContainerName(c))
				}
				rows = append(rows, append([]string{name}, content.PsRow(&c.Processes[j].Process)...))
			}
		}
		p.table(rows)
	}
	if len(d.Unsupported)+len(d.Skipped)+len(d.Lost) > 0 {
		p.line("")
	}
	for i := range d.Unsupported {
		p.line("%s", content.Unsupported(&d.Unsupported[i]))
	}
	for i := range d.Skipped {
		p.line("%s", content.Skipped(&d.Skipped[i]))
	}
	for _, l := range d.Lost {
		p.line("without memory: %s", metric.Readable(l))
	}
	p.notes(nil, d.Unknown)
	p.next(d.Next)
}
