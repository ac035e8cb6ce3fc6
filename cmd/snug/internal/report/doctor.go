// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/finding"
)

func (p *page) doctor(d *finding.Doctor) {
	for i := range d.Targets {
		if i > 0 {
			p.line("")
		}
		p.examined(&d.Targets[i])
	}
	p.next(d.Next)
}

func (p *page) examined(t *finding.Examined) {
	about := ""
	if t.Go != nil {
		about = ", " + Clean(*t.Go)
	}
	if t.Seconds != nil && *t.Seconds > 0 {
		about += ", watched for " + duration(*t.Seconds)
	}
	// Without limits, or without figures, much could not be judged.
	what := "nothing found in"
	if t.Kind == "process" && len(t.Unknown) == 0 {
		what = "nothing wrong with"
	}
	if len(t.Findings) > 0 {
		what = cmp.Or(string(finding.Worst(t.Findings)), "findings") + " for"
	}
	p.line("%s %s%s", what, Clean(t.Target), about)
	for i := range t.Findings {
		p.line("")
		p.finding(&t.Findings[i])
	}
	if len(t.Facts) > 0 {
		p.line("")
		p.table(figureRows(t.Facts, ""))
	}
	p.notes(nil, t.Unknown)
}

func (p *page) finding(f *finding.Finding) {
	p.line("%s: %s [%s]", Clean(string(f.Severity)), Clean(f.Title), Clean(f.ID))
	p.table(figureRows(f.Evidence, "  "))
	if f.Fix != "" {
		p.wrap("fix: " + worded(f.Fix))
	}
	if f.Verify != "" {
		p.line("verify: %s", Clean(f.Verify))
	}
}

// figureRows are figures as rows: words, value, where from.
func figureRows(all []finding.Evidence, indent string) [][]string {
	rows := [][]string{}
	for _, e := range all {
		rows = append(rows, []string{indent + worded(e.What), quantity(e.Value, e.Unit), sourced(&e)})
	}
	return rows
}

func sourced(e *finding.Evidence) string {
	s := Clean(e.Source)
	if strings.HasPrefix(s, "/sys/") {
		s = path.Base(s) // the group's path is in the JSON
	}
	if e.Raw != "" {
		s += ": " + strings.TrimSpace(Clean(e.Raw))
	}
	return s
}

// quantity is a value with its unit.
func quantity(v float64, unit finding.Unit) string {
	if odd(v) {
		return none
	}
	if math.Abs(v) >= 1e15 && unit != finding.UnitBytes && unit != finding.UnitLimitBytes {
		return figures(v, 3) // more digits than are known, or a hostile file
	}
	switch unit {
	case finding.UnitLimitBytes, finding.UnitLimitCores:
		if v == 0 {
			return "none"
		}
	case finding.UnitGOGC:
		if v < 0 {
			return "off"
		}
	}
	switch unit {
	case finding.UnitBytes, finding.UnitLimitBytes:
		if v < 1<<62 {
			return size(int64(v))
		}
		return none
	case finding.UnitCores, finding.UnitLimitCores:
		return plural(round2(v), "core")
	case finding.UnitRatio:
		return share(v)
	case finding.UnitSeconds:
		return duration(v)
	case finding.UnitPerSecond:
		return figures(v, 3) + "/s"
	case finding.UnitMean:
		return trim(figures(v, 2))
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// round2 rounds to two significant digits behind the point.
func round2(v float64) float64 { return roundTo(v, max(3, len(strconv.Itoa(int(v)))+2)) }
