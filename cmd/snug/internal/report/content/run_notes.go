// SPDX-License-Identifier: Apache-2.0

package content

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// invalidNotes say how many runs did not count, why, and whether they were repeated.
func invalidNotes(s *finding.Setup, cells []finding.Cell) []string {
	var again, lost reasons
	for i := range cells {
		runs := cells[i].Rounds
		for k := range runs {
			r := &runs[k]
			if r.Invalid == "" {
				continue
			}
			if slices.ContainsFunc(runs, func(o finding.Run) bool {
				return o.Round == r.Round && (o.Invalid == "" || o.Try > r.Try)
			}) {
				again.add(r.Invalid)
			} else {
				lost.add(r.Invalid)
			}
		}
	}
	var notes []string
	if s.Repeated > 0 {
		notes = append(notes, units.Plural(s.Repeated, "run")+" did not count and "+were(s.Repeated)+" repeated: "+
			again.text())
	}
	if s.Excluded > 0 {
		notes = append(notes, units.Plural(s.Excluded, "run")+" did not count"+": "+lost.text()+"; not replaced, left out")
	}
	return notes
}

func were(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// reasons counts why runs did not count, or their notes; those that differ only in numbers are grouped.
type reasons []reason

type reason struct {
	key, example string
	runs         int
	differ       bool
}

func (all *reasons) add(why string) {
	key := withoutFigures(why)
	for i := range *all {
		if r := &(*all)[i]; r.key == key {
			r.runs, r.differ = r.runs+1, r.differ || r.example != why
			return
		}
	}
	*all = append(*all, reason{key, why, 1, false})
}

// text joins the reasons. Without any, the document does not hold the runs, and the text says so.
func (all reasons) text() string {
	if len(all) == 0 {
		return "the document does not hold the runs, so the reason is unknown"
	}
	var parts []string
	for _, r := range all {
		text := message.Clean(r.example)
		if what, figures, ok := strings.Cut(text, ": "); ok && !strings.Contains(figures, ": ") {
			if r.differ {
				figures = "for example " + figures
			}
			text = what + " (" + figures + ")"
		} else if r.differ {
			text = "for example " + text
		}
		if len(all) > 1 {
			text = fmt.Sprintf("%d \u00d7 %s", r.runs, text)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

var figures = regexp.MustCompile(`[0-9][0-9.,]*`)

// withoutFigures replaces the numbers in a note by 0, because they may differ between runs.
func withoutFigures(note string) string { return figures.ReplaceAllString(note, "0") }

// runNotes returns each note of the valid runs once, and the number of requests that the
// percentiles of a closed loop of users leave out.
func runNotes(cells []finding.Cell) []string {
	var remarks reasons
	var ended, unfinished int64
	several := false
	for i := range cells {
		c := &cells[i]
		several = several || c.Workload != cells[0].Workload
		for k := range c.Rounds {
			r := &c.Rounds[k]
			if r.Invalid != "" {
				continue
			}
			if closedLoop(c.Load) {
				ended, unfinished = ended+r.Ops, unfinished+r.Unfinished
			}
			if r.Note != "" {
				remarks.add(c.Workload + ": " + r.Note)
			}
		}
	}
	var notes []string
	for _, m := range remarks {
		text := m.example
		if !several {
			text = strings.TrimPrefix(text, cells[0].Workload+": ")
		}
		notes = append(notes, fmt.Sprintf("%s (%s)", message.Clean(text), units.Plural(m.runs, "run")))
	}
	if unfinished > 0 {
		text := units.Plural(unfinished, "request")
		if ended > 0 {
			text += " (" + units.Share(float64(unfinished)/float64(ended+unfinished)) + ")"
		}
		notes = append(notes, text+" unfinished at the end of the window, and not in the percentiles")
	}
	return notes
}
