// SPDX-License-Identifier: Apache-2.0

package content

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// lastKnob matches the last knob of a pruned setting and its value, sizeWithin a size in a reason.
var (
	lastKnob   = regexp.MustCompile(`([A-Za-z]+)=([^= ,]+)$`)
	sizeWithin = regexp.MustCompile(` of [0-9.]+ ?([KMGT]i?)?B\b`)
)

// lastValue returns the last knob of a pruned setting, and its value; "" if it does not end in one.
func lastValue(what string) (knob, value string) {
	if m := lastKnob.FindStringSubmatch(what); m != nil {
		return m[1], m[2]
	}
	return "", ""
}

// PrunedGroups returns the settings that a search did not try. Settings whose reasons differ
// only in numbers are grouped.
func PrunedGroups(all []finding.Pruned) []finding.Pruned {
	type group struct {
		key     string
		members []finding.Pruned
	}
	var groups []group
next:
	for _, x := range all {
		knob, _ := lastValue(x.What)
		key := knob + ": " + withoutFigures(x.Why)
		for i := range groups {
			if knob != "" && groups[i].key == key {
				groups[i].members = append(groups[i].members, x)
				continue next
			}
		}
		groups = append(groups, group{key, []finding.Pruned{x}})
	}
	var out []finding.Pruned
	for _, g := range groups {
		if len(g.members) == 1 {
			out = append(out, finding.Pruned{What: metric.Readable(g.members[0].What), Why: metric.Readable(g.members[0].Why)})
			continue
		}
		why, settings := g.members[0].Why, 0
		var low, high string
		for _, x := range g.members {
			if x.Why != g.members[0].Why {
				why = sizeWithin.ReplaceAllString(g.members[0].Why, "") // it differs for each setting
			}
			settings += 1 + strings.Count(x.What, ", ") // GOGC=50, 100 with GOMEMLIMIT=179MiB
			_, v := lastValue(x.What)
			if low == "" || magnitude(v) < magnitude(low) {
				low = v
			}
			if high == "" || magnitude(v) > magnitude(high) {
				high = v
			}
		}
		knob, _ := lastValue(g.members[0].What)
		what := units.Plural(settings, "setting") + " with " + knob + " " + metric.ValueText(knob, low)
		if high != low {
			what += " to " + metric.ValueText(knob, high)
		}
		out = append(out, finding.Pruned{What: message.Clean(what), Why: metric.Readable(why)})
	}
	return out
}

// magnitude returns the value of a knob as a number for sorting; 0 for a word.
func magnitude(v string) float64 {
	digits := strings.TrimRight(v, "KMGTiB")
	x, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0
	}
	for i, u := range []string{"", "B", "KiB", "MiB", "GiB", "TiB"} {
		if v[len(digits):] == u && i > 1 {
			return x * units.Sizes[i-1].One
		}
	}
	return x
}
