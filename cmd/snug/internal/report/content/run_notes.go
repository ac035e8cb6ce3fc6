// SPDX-License-Identifier: Apache-2.0

package content

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

var figures = regexp.MustCompile(`[0-9][0-9.,]*`)

// withoutFigures replaces the numbers in a note by 0, because they may differ between runs.
func withoutFigures(note string) string { return figures.ReplaceAllString(note, "0") }

// runNotes returns each note of the valid runs once, and the number of requests that the
// percentiles of a closed loop of users leave out.
func runNotes(cells []finding.Cell) []string {
	type remark struct {
		text string // of the first run
		runs int
	}
	seen := map[string]int{}
	var remarks []remark
	var ended, unfinished int64
	several := false
	for i := range cells {
		c := &cells[i]
		several = several || c.Workload != cells[0].Workload
		_, closed := users(c.Load)
		_, ramp := finding.ParseRamp(c.Load)
		closed = closed || ramp
		for k := range c.Rounds {
			r := &c.Rounds[k]
			if r.Invalid != "" {
				continue
			}
			if closed {
				ended, unfinished = ended+r.Ops, unfinished+r.Unfinished
			}
			if r.Note == "" {
				continue
			}
			key := c.Workload + ": " + withoutFigures(r.Note)
			at, ok := seen[key]
			if !ok {
				at = len(remarks)
				seen[key] = at
				remarks = append(remarks, remark{c.Workload + ": " + r.Note, 0})
			}
			remarks[at].runs++
		}
	}
	var notes []string
	for _, m := range remarks {
		text := m.text
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
