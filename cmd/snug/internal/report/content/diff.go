// SPDX-License-Identifier: Apache-2.0

package content

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// maxNamed is the maximum number of classes that the verdict names in one direction.
const maxNamed = 5

// DiffVerdict says in one sentence what B spends more and less CPU time on.
func DiffVerdict(d *finding.ProfileDiff) string {
	said := []string{}
	for _, way := range []struct {
		word string
		sign float64
	}{{"more", 1}, {"less", -1}} {
		var named []string
		for _, c := range d.Classes {
			if c.Shown && c.Difference*way.sign > 0 {
				named = append(named, message.Clean(c.ID)+" "+Difference(d, c.Difference))
			}
		}
		if n := len(named); n > maxNamed {
			named = append(named[:maxNamed], units.Plural(n-maxNamed, "other"))
		}
		if len(named) > 0 {
			said = append(said, way.word+" in "+units.List(named))
		}
	}
	for _, sum := range Sums(d) {
		if sum.Shown {
			said = append(said, sum.Name+" "+Difference(d, sum.Difference))
		}
	}
	text := "no difference can be shown"
	switch {
	case len(said) > 0:
		text = strings.Join(said, "; ")
	case !slices.ContainsFunc(d.Classes, func(c finding.ClassDiff) bool { return c.Low != nil }):
		text = "no difference can be told from chance"
	}
	if d.Unit == finding.UnitCores {
		return "B used " + Part(d, d.Total.B) + " CPUs, A " + Part(d, d.Total.A) + ": " + text
	}
	return "B against A, in shares of the CPU time: " + text
}

// Part formats an amount of a comparison.
func Part(d *finding.ProfileDiff, x float64) string {
	if d.Unit == finding.UnitCores {
		return cores(x)
	}
	return units.Share(x)
}

// cores formats CPUs. A sample of a profile of 100 s is 0.0001 CPUs.
func cores(x float64) string { return decimals(x, 0.1, 4) }

// decimals formats x with some decimals below a bound, and with three digits above it.
func decimals(x, bound float64, n int) string {
	if units.Odd(x) || math.Abs(x) >= bound {
		return units.Trim(units.Figures(x, 3))
	}
	return units.Trim(strconv.FormatFloat(x, 'f', n, 64))
}

// Difference formats a difference of amounts, with its sign: CPUs, or percentage points.
func Difference(d *finding.ProfileDiff, x float64) string {
	text, unit := cores(x), ""
	if d.Unit != finding.UnitCores {
		text, unit = decimals(100*x, 100, 1), " points"
	}
	return units.Signed(text, x) + unit
}

// unshown stands for a difference that is not shown.
const unshown = "~"

// ChangeCells formats a change: A, B, the difference, its interval.
func ChangeCells(d *finding.ProfileDiff, c *finding.Change) []string {
	cells := []string{Part(d, c.A), Part(d, c.B), unshown, ""}
	if c.Shown || c.Low == nil {
		cells[2] = Difference(d, c.Difference)
	}
	if c.Low != nil && c.High != nil {
		low, high := Difference(d, *c.Low), Difference(d, *c.High)
		cells[3] = "[" + strings.TrimSuffix(low, " points") + ", " + strings.TrimSuffix(high, " points") + "]"
	}
	return cells
}

// DiffUnit says what the amounts of a comparison are.
func DiffUnit(d *finding.ProfileDiff) string {
	if d.Unit == finding.UnitCores {
		return "CPU seconds for each second of a profile"
	}
	return "shares of the CPU time of a profile"
}

// Sum is the total of classes that have one cause.
type Sum struct {
	*finding.Change
	Name, Of string
}

// Sums returns the sums of a comparison.
func Sums(d *finding.ProfileDiff) []Sum {
	return []Sum{
		{&d.OverSize, "what grows with GOMAXPROCS", "sched, sched.timers, gc.idle-mark, gc.stw, sysmon"},
		{&d.GC, "collections in total", "all classes that begin with gc"},
	}
}

// ProfiledText describes one profile of a comparison.
func ProfiledText(t *finding.Profiled) string {
	text := message.Clean(t.Target) + ": " + units.Duration(t.CPU) + " of CPU time"
	if t.Seconds != nil {
		text += " in " + units.Duration(*t.Seconds)
	}
	text += units.If(t.Samples > 0, ", "+units.Plural(t.Samples, "sample"))
	return text + " (" + message.Clean(t.Source) + ")"
}
