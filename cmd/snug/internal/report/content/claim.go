// SPDX-License-Identifier: Apache-2.0

package content

import (
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// claim says where a setting is better: GOMAXPROCS=1 costs 12 % (8 to 14 %) less
// CPU per request than the default, GOMAXPROCS=2, in 8 paired rounds. For a spared setting
// it first says how the planned baseline fails. whole adds what only one verdict has room
// for.
func (w words) claim(j *finding.Judged, whole bool) string {
	if j.Code == finding.Spared {
		return w.spared(j, whole)
	}
	base := &w.cells[j.Baseline]
	text := w.setting(j, *j.Setting) + " " + w.gains(j, whole) + " than the " + baseName(base)
	if n := w.cells[j.Gain.Baseline].Procs; whole && n != nil && base.GOMAXPROCS == "" {
		text += ", GOMAXPROCS=" + strconv.Itoa(*n) + ","
	}
	if whole {
		text += rounds(j)
	}
	return strings.TrimSuffix(text, ",") + w.price(j, whole)
}

// spared says how the planned baseline fails, which setting does not, and what was
// compared with that.
func (w words) spared(j *finding.Judged, whole bool) string {
	failed, at := &w.cells[j.Fails.Cell], &w.cells[j.Baseline]
	not := " does not"
	if j.Fails.Code == finding.FailsMemory {
		not = " is not"
	}
	if j.Chance {
		not += " (which may be chance)"
	}
	text := "the " + baseName(failed) + " " + w.failure(j, j.Fails) + "; "
	switch {
	case sameSetting(failed.Arm, at.Arm): // an older document compares with the failed baseline
		text += w.setting(j, *j.Setting) + not
		if len(j.Costs) > 0 {
			text += ", but " + w.phrase(j, &j.Costs[0], false)
		} else if j.Gain != nil {
			text += ", and " + w.phrase(j, j.Gain, true)
		}
	case j.Gain != nil:
		text += w.setting(j, j.Baseline) + not + ", and " + w.setting(j, *j.Setting) + " " + w.gains(j, whole) +
			" than that" + rounds(j) + w.price(j, whole)
	default:
		text += w.setting(j, j.Baseline) + not + w.costs(j, j.Costs)
		switch few := j.Rounds < j.Least; {
		case !whole || j.Settings == 0 || j.Rounds == 0:
		case few:
			text += "; " + units.Plural(j.Rounds, "round") + " are too few to compare it with others, it takes " +
				strconv.Itoa(j.Least)
		default:
			text += ", and nothing else that lives beats it beyond noise" + compared(j.Settings, j.Rounds)
		}
		if whole {
			text += w.others(j)
		}
	}
	return text
}

// sameSetting reports whether two arms differ in nothing but their load.
func sameSetting(a, b finding.Arm) bool {
	a.Load = b.Load
	return a == b
}

// gains lists the metrics in which a setting is better, the one that decides first.
func (w words) gains(j *finding.Judged, whole bool) string {
	all := []string{w.phrase(j, j.Gain, true)}
	if whole {
		for i := range j.Also {
			all = append(all, w.phrase(j, &j.Also[i], true))
		}
	}
	return units.List(all)
}

// price says in what a setting that wins is worse, and which settings win something else.
func (w words) price(j *finding.Judged, whole bool) string {
	text := w.costs(j, j.Costs)
	if whole {
		text += w.others(j)
	}
	return text
}

func (w words) costs(j *finding.Judged, costs []finding.Comparison) string {
	var all []string
	for i := range costs {
		all = append(all, w.phrase(j, &costs[i], false))
	}
	if len(all) == 0 {
		return ""
	}
	return ", but " + units.List(all)
}

// others names the settings that win something else, with their price.
func (w words) others(j *finding.Judged) string {
	text := ""
	for i := range j.Others {
		o := &j.Others[i]
		text += "; " + w.setting(j, o.Setting) + " " + w.phrase(j, &o.Gain, true) + w.costs(j, o.Costs)
	}
	return text
}

// rounds says on how many rounds a comparison stands; "" in an older document.
func rounds(j *finding.Judged) string {
	if j.Settings == 0 || j.Rounds == 0 {
		return ""
	}
	return " in " + units.Plural(j.Rounds, "paired round")
}

// compared says what was compared: " (3 settings, 8 rounds)"; "" in an older document.
func compared(settings, rounds int) string {
	if settings < 1 || rounds < 1 {
		return ""
	}
	return " (" + units.Plural(settings, "setting") + ", " + units.Plural(rounds, "round") + ")"
}
