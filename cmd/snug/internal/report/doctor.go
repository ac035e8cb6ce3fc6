// SPDX-License-Identifier: Apache-2.0

package report

import (
	"io"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// DoctorVerbose writes a diagnosis as [Text] does, with all that is known, and how
// it is.
func DoctorVerbose(w io.Writer, d *finding.Doctor) error {
	var p page
	p.diagnosis(d, true)
	_, err := io.WriteString(w, p.String())
	return err
}

func (p *page) doctor(d *finding.Doctor) { p.diagnosis(d, false) }

func (p *page) diagnosis(d *finding.Doctor, all bool) {
	kept := false
	for i := range d.Targets {
		if i > 0 {
			p.line("")
		}
		kept = p.examined(&d.Targets[i], all) || kept
	}
	if kept {
		p.line("")
		p.line("all figures: snug doctor -v TARGET; what a word means: snug explain WORD")
	}
	p.next(d.Next)
}

// examined says what is known of a target, and reports whether it kept figures back.
func (p *page) examined(t *finding.Examined, all bool) (kept bool) {
	line := Clean(t.Target) + ": " + verdictOn(t)
	about := []string{}
	if t.Go != nil {
		about = append(about, Clean(*t.Go))
	}
	if t.Seconds != nil && *t.Seconds > 0 {
		about = append(about, "watched for "+duration(*t.Seconds))
	}
	if len(about) > 0 {
		line += "; " + strings.Join(about, ", ")
	}
	p.line("%s", line)
	for i := range t.Findings {
		p.line("")
		p.finding(&t.Findings[i], all)
	}
	facts := t.Facts
	if !all && t.Kind == "process" {
		facts = needed(facts)
	}
	if len(facts) > 0 {
		p.line("")
		p.table(factRows(t, facts, all))
	}
	p.notes(nil, t.Unknown)
	return !all && t.Kind == "process" && len(t.Facts) > 0
}

// verdictOn is what was found, in a few words.
func verdictOn(t *finding.Examined) string {
	count := map[finding.Severity]int{}
	for i := range t.Findings {
		count[t.Findings[i].Severity]++
	}
	var said []string
	for _, s := range []finding.Severity{finding.SeverityError, finding.SeverityWarning} {
		if n := count[s]; n > 0 {
			said = append(said, plural(n, string(s)))
		}
	}
	if n := count[finding.SeverityInfo]; n > 0 {
		if len(said) == 0 {
			said = append(said, "nothing that hurts now")
		}
		said = append(said, strconv.Itoa(n)+" for information")
	}
	switch {
	case len(said) > 0:
		return strings.Join(said, ", ")
	case t.Kind == "process" && len(t.Unknown) == 0:
		return "nothing wrong"
	}
	// Without limits, or without figures, much could not be judged.
	return "nothing found"
}

// onCall are the facts of a process that are shown without being asked for, as package
// rules words them: what it may use, and what it does.
var onCall = []string{
	"GOMAXPROCS", "CPU quota", "CPUs it may run on", "CPU used", "throttled periods",
	"memory limit", "memory in use that cannot be reclaimed", "GOMEMLIMIT", "GOGC", "live heap",
}

// needed are the facts for who is on call, in that order.
func needed(all []finding.Evidence) []finding.Evidence {
	var facts []finding.Evidence
	for _, what := range onCall {
		if i := slices.IndexFunc(all, func(e finding.Evidence) bool { return e.What == what }); i >= 0 {
			facts = append(facts, all[i])
		}
	}
	return facts
}

// factRows are facts as rows: words, value, who set it; with all, also where from.
func factRows(t *finding.Examined, facts []finding.Evidence, all bool) [][]string {
	rows := [][]string{}
	for _, e := range facts {
		from := ""
		if all || t.Kind != "process" {
			from = sourced(&e, all)
		}
		if e.What == "GOMAXPROCS" {
			from = joined(setBy(t), from)
		}
		rows = append(rows, []string{worded(e.What), quantity(e.Value, e.Unit), from})
	}
	return rows
}

func joined(a, b string) string {
	if a != "" && b != "" {
		return a + "; " + b
	}
	return a + b
}

// setBy says who set GOMAXPROCS; "" when that is not known.
func setBy(t *finding.Examined) string {
	if t.GOMAXPROCSSource == nil {
		return ""
	}
	switch *t.GOMAXPROCSSource {
	case "environment":
		return "set by the environment"
	case "code":
		if t.GOMAXPROCSModule != nil {
			return "set by code: " + Clean(*t.GOMAXPROCSModule)
		}
		return "set by code"
	case "runtime":
		return "set by Go, by the CPU quota and the CPUs there are"
	case "host":
		return "set by Go, by the CPUs there are and no quota"
	}
	return "set by " + Clean(*t.GOMAXPROCSSource)
}

func (p *page) finding(f *finding.Finding, all bool) {
	p.line("%s: %s [%s]", Clean(string(f.Severity)), Clean(f.Title), Clean(f.ID))
	p.table(figureRows(f.Evidence, "  ", all))
	if f.Fix != "" {
		p.wrap("fix: " + worded(f.Fix))
	}
	if f.Verify != "" {
		p.line("verify: %s", Clean(f.Verify))
	}
}

// figureRows are figures as rows: words, value, where from.
func figureRows(figures []finding.Evidence, indent string, all bool) [][]string {
	rows := [][]string{}
	for _, e := range figures {
		rows = append(rows, []string{indent + worded(e.What), quantity(e.Value, e.Unit), sourced(&e, all)})
	}
	return rows
}

// sourced is where a figure is from; with all, also how sure it is.
func sourced(e *finding.Evidence, all bool) string {
	s := Clean(e.Source)
	if strings.HasPrefix(s, "/sys/") {
		s = path.Base(s) // the group's path is in the JSON
	}
	if file, how, ok := strings.Cut(s, ", "); !all && ok && strings.HasPrefix(file, "/proc/") && strings.Contains(how, " votes") {
		s = file
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
