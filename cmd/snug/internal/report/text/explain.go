// SPDX-License-Identifier: Apache-2.0

package text

import (
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func (p *Page) explanation(d *finding.Explanation) {
	p.line("%s: %s", message.Clean(d.ID), message.Clean(d.Title))
	p.line("")
	p.WriteString(d.Text)
}

func (p *Page) index(d *finding.Index) {
	for i, topic := range d.Topics {
		if i > 0 {
			p.line("")
		}
		p.line("%s (%s)", message.Clean(topic.Title), message.Clean(topic.ID))
		rows := [][]string{}
		for _, e := range d.Entries {
			if e.Topic == topic.ID {
				rows = append(rows, []string{"  " + message.Clean(e.ID), message.Clean(e.Title)})
			}
		}
		p.table(rows)
	}
	p.next(d.Next)
}

func (p *Page) build(d *finding.Build) {
	p.line("snug %s (%s, %s/%s)", message.Clean(d.Version), message.Clean(d.Go), message.Clean(d.OS),
		message.Clean(d.Arch))
	if d.Commit != nil {
		changed := ""
		if d.Changed {
			changed = ", with changes"
		}
		p.line("commit %s%s", message.Clean(*d.Commit), changed)
	}
}
