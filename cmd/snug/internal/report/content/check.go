// SPDX-License-Identifier: Apache-2.0

package content

import (
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// WorseThan says in one line what the setting that was checked is worse than, and in what. v is the
// verdict whose baseline is that setting.
func WorseThan(v *finding.BenchVerdict, cells []finding.Cell) string {
	w := words{v, cells}
	var all []string
	for i := range w.Judged {
		if j := &w.Judged[i]; won(j) {
			all = append(all, w.worseThan(j))
		}
	}
	return strings.Join(all, "; ")
}

// Pasted is a setting to paste in a container.
type Pasted struct {
	Where string // of several containers; "" = the only one
	*finding.Environment
}

// ToPaste returns the settings that won, in forms to paste in place of the one that was checked. A
// setting that won in several containers is there once.
func ToPaste(v *finding.BenchVerdict, cells []finding.Cell, command []string) []Pasted {
	w := words{v, cells}
	var all []Pasted
	for i := range w.Judged {
		j := &w.Judged[i]
		if !won(j) {
			continue
		}
		e := Paste(&cells[*j.Setting], &cells[planned(j)], command)
		if n := len(all); n > 0 && *all[n-1].Environment == *e {
			all[n-1].Where += " and " + w.where(j)
			continue
		}
		all = append(all, Pasted{w.where(j), e})
	}
	return all
}

func won(j *finding.Judged) bool {
	return (j.Code == finding.Won || j.Code == finding.Spared) && j.Setting != nil
}

// planned returns the cell of the setting that the others were to be compared with.
func planned(j *finding.Judged) int {
	if j.Code == finding.Spared && j.Fails != nil {
		return j.Fails.Cell
	}
	return j.Baseline
}

func (w words) worseThan(j *finding.Judged) string {
	text := w.base(planned(j)) + " is worse than " + w.setting(j, *j.Setting)
	if where := w.where(j); where != "" {
		text = where + " " + text
	}
	if j.Code == finding.Spared {
		return text + ": it " + w.failure(j, j.Fails)
	}
	return text + ", which " + w.gains(j, true) + w.costs(j, j.Costs)
}
