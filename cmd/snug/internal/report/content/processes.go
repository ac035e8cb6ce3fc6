// SPDX-License-Identifier: Apache-2.0

package content

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Setters maps sources of GOMAXPROCS to words short enough for a column.
var Setters = map[string]string{"environment": "env", "code": "code", "runtime": "quota", "host": "host"}

func PsRow(r *finding.Process) []string {
	const maxVersion = 40 // longer ones are made up
	row := []string{
		strconv.Itoa(r.PID), path.Base(r.Exe),
		Figure(r.GoVersion, func(v string) string { return message.Cut(GoShort(message.Clean(v)), maxVersion) }),
		Figure(r.GOMAXPROCS, strconv.Itoa),
		Figure(r.GOMAXPROCSSource, func(by string) string { return cmp.Or(Setters[by], message.Clean(by)) }),
		Figure(r.Quota, func(q float64) string {
			if q >= 1e15 {
				return units.Figures(q, 3)
			}
			return units.Number(q)
		}),
		Figure(r.Throttled, units.Share), Figure(r.Memory, units.Bytes), Figure(r.MemoryLimit, units.Bytes),
		Figure(r.GOMEMLIMIT, units.Bytes),
		Figure(r.GOGC, func(percent finding.Amount) string {
			if percent.Off {
				return "off"
			}
			return strconv.FormatInt(percent.N, 10)
		}), units.None,
	}
	if f := finding.Gravest(r.Findings); f != nil {
		row[len(row)-1] = string(f.Severity) + ": " + f.ID + MoreThan(1, len(r.Findings))
	}
	return row
}

// MoreThan says how many there are besides those that are shown: " +2"; "" = none.
func MoreThan(shown, all int) string {
	if all <= shown {
		return ""
	}
	return " +" + strconv.Itoa(all-shown)
}

// Figure prints a figure in a table: "-" is none, "?" is unknown.
func Figure[T any](f figure.Of[T], print func(T) string) string {
	switch {
	case f.Known():
		return print(f.N)
	case f.Read():
		return units.None
	}
	return "?"
}

// GoShort returns a Go version without "go".
func GoShort(v string) string {
	v, _, _ = strings.Cut(strings.TrimPrefix(v, "go"), " ")
	return v
}

// Quantity formats a value with its unit.
func Quantity(v float64, unit finding.Unit) string {
	size := unit == finding.UnitBytes || unit == finding.UnitLimitBytes
	switch {
	case units.Odd(v), size && v >= 1<<62:
		return units.None
	case math.Abs(v) >= 1e15 && !size:
		return units.Figures(v, 3) // more digits than are meaningful, or a hostile file
	case v == 0 && (unit == finding.UnitLimitBytes || unit == finding.UnitLimitCores):
		return "none"
	case v < 0 && unit == finding.UnitGOGC:
		return "off"
	case size:
		return units.Bytes(int64(v))
	}
	switch unit {
	case finding.UnitBytesRate:
		return units.Bytes(int64(v)) + "/s"
	case finding.UnitCores, finding.UnitLimitCores:
		return units.Plural(rounded(v), "core")
	case finding.UnitRatio:
		return units.Share(v)
	case finding.UnitSeconds:
		return units.Duration(v)
	case finding.UnitPerSecond:
		return units.Figures(v, 3) + "/s"
	case finding.UnitMean:
		return units.Trim(units.Figures(v, 2))
	}
	return units.Exact(v)
}

// rounded rounds to two digits after the decimal point.
func rounded(v float64) float64 { return units.RoundTo(v, max(3, len(strconv.Itoa(int(v)))+2)) }

// Goroutines returns how many goroutines were looked at, and of how many if some were left out.
func Goroutines(d *finding.Goroutines) string {
	all := units.Plural(d.Total+d.Left, "goroutine")
	if d.Left > 0 {
		return units.Number(float64(d.Total)) + " of " + all
	}
	return all
}

// shownCalls is how many calls of a stack are shown in a row.
const shownCalls = 3

// Calls returns the first calls of a stack, innermost first, from the first that is not the
// runtime's if there is one.
func Calls(stack []finding.Call) string {
	first := slices.IndexFunc(stack, func(c finding.Call) bool {
		return !strings.HasPrefix(c.Function, "runtime.") && !strings.HasPrefix(c.Function, "internal/") &&
			!strings.HasPrefix(c.Function, "sync.runtime_")
	})
	stack = stack[max(first, 0):]
	list := units.Texts(stack[:min(len(stack), shownCalls)], Call)
	if len(stack) > shownCalls {
		list = append(list, "...")
	}
	return strings.Join(list, " < ")
}

// Call returns a function without the directories of its package, and its line.
func Call(c finding.Call) string {
	name := c.Function
	end := strings.IndexAny(name, "([")
	if end < 0 {
		end = len(name)
	}
	name = name[strings.LastIndexByte(name[:end], '/')+1:]
	name += units.If(c.Line > 0, fmt.Sprintf(" (%s:%d)", path.Base(c.File), c.Line))
	return message.Clean(name)
}

// ClassRows returns the classes of a profile as rows, largest first: share, id, words. If
// collections have several classes, these stand together below their total.
func ClassRows(d *finding.Profile) [][]string {
	row := func(ratio float64, id, words string) []string {
		return []string{units.Share(ratio), id, words}
	}
	part := func(c finding.Class) bool { return strings.HasPrefix(c.ID, "gc.") }
	var rows, gc [][]string
	total := 0.0
	for _, c := range d.Classes {
		if part(c) {
			total += c.Ratio
			gc = append(gc, row(c.Ratio, "  "+c.ID, c.Words))
		}
	}
	at := 0 // where the total belongs
	for _, c := range d.Classes {
		if !part(c) {
			rows = append(rows, row(c.Ratio, c.ID, c.Words))
		}
		if !part(c) && c.Ratio > total {
			at = len(rows)
		}
	}
	switch len(gc) {
	case 0:
		return rows
	case 1:
		gc[0][1] = strings.TrimSpace(gc[0][1])
	default:
		gc = slices.Insert(gc, 0, row(total, "gc", "collections in total:"))
	}
	return slices.Insert(rows, at, gc...)
}
