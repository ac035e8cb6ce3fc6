// SPDX-License-Identifier: Apache-2.0

package content

import (
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// lastValue returns the last knob of a pruned setting, and its value; "" if it does not end in one.
func lastValue(what string) (knob, value string) {
	i := strings.LastIndexByte(what, '=')
	if i < 0 || i+1 == len(what) || strings.ContainsAny(what[i+1:], " ,") {
		return "", ""
	}
	knob = what[:i]
	for n := len(knob); n > 0; n-- {
		if c := knob[n-1] | 0x20; c < 'a' || c > 'z' {
			knob = knob[n:]
			break
		}
	}
	if knob == "" {
		return "", ""
	}
	return knob, what[i+1:]
}

// withoutSize removes the size from a reason, such as " of 200 MiB", because it differs for each
// setting.
func withoutSize(why string) string {
	words := strings.Split(why, " ")
	for i := 0; i+1 < len(words); i++ {
		number := strings.TrimLeft(words[i+1], "0123456789.")
		if words[i] != "of" || number == words[i+1] {
			continue
		}
		unit, n := number, 2
		if unit == "" && i+2 < len(words) {
			unit, n = words[i+2], 3
		}
		if rest := strings.TrimRight(unit, ".,;:)"); rest != "B" && (len(rest) < 2 || !strings.Contains("KMGT", rest[:1]) || strings.TrimPrefix(rest[1:], "i") != "B") {
			continue
		} else if tail := unit[len(rest):]; i > 0 {
			words[i-1] += tail
		}
		words = append(words[:i], words[i+n:]...)
		i--
	}
	return strings.Join(words, " ")
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
				why = withoutSize(g.members[0].Why)
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
