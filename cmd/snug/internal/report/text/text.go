// SPDX-License-Identifier: Apache-2.0

// Package text writes documents as text for a terminal.
package text

import (
	"fmt"
	"io"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Write writes a document for people: the verdict, a small table, the reasons and
// one next command.
func Write(w io.Writer, d finding.Document) error {
	var p Page
	for _, print := range printers {
		if print(&p, d) {
			_, err := io.WriteString(w, message.CleanLines(p.String()))
			return err
		}
	}
	return fmt.Errorf("no text for a document of kind %s", finding.KindOf(d))
}

// printers print the documents of one type each, and report whether d is one.
var printers = []func(p *Page, d finding.Document) bool{
	of((*Page).limits), of((*Page).plan), of((*Page).verdict), of((*Page).failure), of((*Page).explanation),
	of((*Page).index), of((*Page).build), of((*Page).bench), of((*Page).tune), of((*Page).trace), of((*Page).ps),
	of((*Page).node), of((*Page).fleet), of((*Page).fleetDoctor), of((*Page).fleetSize), of((*Page).size),
	of((*Page).doctor), of((*Page).doctorDiff), of((*Page).profile), of((*Page).profileDiff), of((*Page).heap),
	of((*Page).goroutines), of((*Page).vet), of((*Page).lint), of((*Page).check), of((*Page).policy), of((*Page).given),
}

func of[D finding.Document](print func(*Page, D)) func(*Page, finding.Document) bool {
	return func(p *Page, d finding.Document) bool {
		typed, ok := d.(D)
		if ok {
			print(p, typed)
		}
		return ok
	}
}

func (p *Page) failure(d *finding.Error) {
	fmt.Fprintf(p, "%s: error: %s\n", d.Command, d.Error)
	if d.Hint != "" {
		fmt.Fprintf(p, "hint: %s\n", d.Hint)
	}
}

func (p *Page) policy(d *finding.Policy) { p.WriteString(d.YAML) }

func (p *Page) explanation(d *finding.Explanation) {
	p.line("%s: %s", d.ID, d.Title)
	p.line("")
	p.WriteString(d.Text)
}

func (p *Page) index(d *finding.Index) {
	for i, topic := range d.Topics {
		if i > 0 {
			p.line("")
		}
		p.line("%s (%s)", topic.Title, topic.ID)
		rows := [][]string{}
		for _, e := range d.Entries {
			if e.Topic == topic.ID {
				rows = append(rows, []string{"  " + e.ID, e.Title})
			}
		}
		p.table(rows)
	}
	p.next(d.Next)
}

func (p *Page) build(d *finding.Build) {
	p.line("snug %s (%s, %s/%s)", d.Version, d.Go, d.OS, d.Arch)
	if d.Commit != nil {
		changed := units.If(d.Changed, ", with changes")
		p.line("commit %s%s", *d.Commit, changed)
	}
}
