// SPDX-License-Identifier: Apache-2.0

package content

import (
	"fmt"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// invalidNotes say how many runs did not count, why, and whether they were repeated.
func invalidNotes(s *finding.Setup, cells []finding.Cell) []string {
	var again, lost reasons
	for i := range cells {
		type place struct {
			valid bool
			last  *finding.Run
		}
		places, order := map[int]*place{}, []int{}
		for k := range cells[i].Rounds {
			r := &cells[i].Rounds[k]
			at := places[r.Round]
			if at == nil {
				at = &place{}
				places[r.Round], order = at, append(order, r.Round)
			}
			at.valid = at.valid || r.Invalid == ""
			if at.last == nil || r.Try > at.last.Try {
				at.last = r
			}
		}
		for k := range cells[i].Rounds {
			if r := &cells[i].Rounds[k]; r.Invalid != "" && (places[r.Round].valid || places[r.Round].last != r) {
				again.add(r.Invalid)
			}
		}
		for _, round := range order {
			if at := places[round]; !at.valid {
				lost.add(at.last.Invalid)
			}
		}
	}
	var notes []string
	if s.Repeated > 0 {
		notes = append(notes, units.Plural(s.Repeated,
			"run")+" did not count and "+were(s.Repeated)+" repeated"+again.text(": ", ""))
	}
	if s.Excluded > 0 {
		notes = append(notes, units.Plural(s.Excluded, "run")+" did not count"+lost.text(": ", ";")+" not replaced, left out")
	}
	return notes
}

func were(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// reasons counts why runs did not count; reasons that differ only in numbers are grouped.
type reasons []struct {
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
	*all = append(*all, struct {
		key, example string
		runs         int
		differ       bool
	}{key, why, 1, false})
}

// text joins the reasons between before and after. Without any, the document does
// not hold the runs, and the text says so.
func (all reasons) text(before, after string) string {
	if len(all) == 0 {
		return before + "the document does not hold the runs, so the reason is unknown" + after
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
	return before + strings.Join(parts, "; ") + after
}
