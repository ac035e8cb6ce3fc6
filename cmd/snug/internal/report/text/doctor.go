// SPDX-License-Identifier: Apache-2.0

package text

import (
	"cmp"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// DoctorVerbose writes a diagnosis like [Write], with all figures and their sources.
func DoctorVerbose(w io.Writer, d *finding.Doctor) error {
	var p Page
	p.diagnosis(d, true)
	_, err := io.WriteString(w, p.String())
	return err
}

func (p *Page) doctor(d *finding.Doctor) { p.diagnosis(d, false) }

func (p *Page) diagnosis(d *finding.Doctor, all bool) {
	kept := false
	for i := range d.Targets {
		if i > 0 {
			p.line("")
		}
		kept = p.examined(&d.Targets[i], all) || kept
	}
	if kept {
		p.below("all figures: snug doctor -v TARGET; what a word means: snug explain WORD")
	}
	p.next(d.Next)
}

// examined prints a target and reports whether it left figures out.
func (p *Page) examined(t *finding.Examined, all bool) (kept bool) {
	var about []string
	if t.Go != nil {
		about = append(about, *t.Go)
	}
	if t.Seconds != nil && *t.Seconds > 0 {
		about = append(about, "watched for "+units.Duration(*t.Seconds))
	}
	p.line("%s", strings.TrimSuffix(t.Target+": "+verdictOn(t)+"; "+strings.Join(about, ", "), "; "))
	p.findings(t.Findings, all)
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

// verdictOn summarises the findings in a few words.
func verdictOn(t *finding.Examined) string {
	switch found := counts(t.Findings, severityOf); {
	case finding.Worst(t.Findings) == finding.SeverityInfo:
		return "nothing that hurts now, " + found
	case len(t.Findings) > 0:
		return found
	case t.Kind == "process" && len(t.Unknown) == 0:
		return "nothing wrong"
	}
	// Without limits, or without figures, much could not be judged.
	for _, gap := range t.Unknown {
		switch gap.Field {
		case "program":
			return "could not look"
		case "end":
			return "ended while it was watched, nothing found before"
		case "activity":
			return "stopped, so there was nothing to see"
		}
	}
	return "nothing found"
}

// onCall lists the facts of a process that are shown without -v, in the words of package
// rules: its limits and its usage.
var onCall = []string{
	"GOMAXPROCS", "CPU quota", "CPUs it may run on", "CPU used", "throttled periods",
	"memory limit", "memory in use that cannot be reclaimed", "GOMEMLIMIT", "GOGC", "live heap",
}

// needed returns the facts of onCall, in that order.
func needed(all []finding.Evidence) []finding.Evidence {
	var facts []finding.Evidence
	for _, what := range onCall {
		if i := slices.IndexFunc(all, func(e finding.Evidence) bool { return e.What == what }); i >= 0 {
			facts = append(facts, all[i])
		}
	}
	return facts
}

// factRows returns facts as rows: words, value, what set it; with all, also the source.
func factRows(t *finding.Examined, facts []finding.Evidence, all bool) [][]string {
	rows := figureRows(facts, "", all)
	for i, row := range rows {
		if !all && t.Kind == "process" {
			row[2] = ""
		}
		if by := setBy(t); by != "" && facts[i].What == "GOMAXPROCS" {
			row[2] = strings.TrimSuffix(by+"; "+row[2], "; ")
		}
	}
	return rows
}

// setters are the words for the sources of GOMAXPROCS.
var setters = map[string]string{
	"environment": "the environment", "runtime": "Go from the CPU quota and the CPUs",
	"host": "Go from the CPUs, without the quota",
}

// setBy says what set GOMAXPROCS; "" if unknown.
func setBy(t *finding.Examined) string {
	if t.GOMAXPROCSSource == nil {
		return ""
	}
	by := cmp.Or(setters[*t.GOMAXPROCSSource], *t.GOMAXPROCSSource)
	if by == "code" && t.GOMAXPROCSModule != nil {
		by += ": " + *t.GOMAXPROCSModule
	}
	return "set by " + by
}

func severityOf(f *finding.Finding) finding.Severity { return f.Severity }

func (p *Page) findings(found []finding.Finding, all bool) {
	for i := range found {
		f := &found[i]
		p.line("")
		p.line("%s: %s [%s]", f.Severity, f.Title, f.ID)
		p.table(figureRows(f.Evidence, "  ", all))
		if f.Fix != "" {
			p.wrap("fix: " + metric.Readable(f.Fix))
		}
		if f.Verify != "" {
			p.line("verify: %s", f.Verify)
			p.line("  and the program's arguments after it; --url URL before the -- if it is a service")
		}
	}
}

// figureRows returns figures as rows: words, value, source.
func figureRows(figures []finding.Evidence, indent string, all bool) [][]string {
	rows := [][]string{}
	for _, e := range figures {
		row := []string{indent + metric.Readable(e.What), content.Quantity(e.Value, e.Unit), sourced(&e, all)}
		rows = append(rows, row)
	}
	return rows
}

// sourced returns the source of a figure; with all, also its votes.
func sourced(e *finding.Evidence, all bool) string {
	s := e.Source
	if strings.HasPrefix(s, "/sys/") {
		s = path.Base(s) // the group's path is in the JSON
	}
	file, how, ok := strings.Cut(s, ", ")
	if !all && ok && strings.HasPrefix(file, "/proc/") && strings.Contains(how, " votes") {
		s = file
	}
	s += units.If(e.Raw != "", ": "+strings.TrimSpace(message.Clean(e.Raw)))
	return s
}

func (p *Page) doctorDiff(d *finding.DoctorDiff) {
	for i := range d.Targets {
		if i > 0 {
			p.line("")
		}
		p.examinedDiff(&d.Targets[i])
	}
	p.next(d.Next)
}

// becameOf lists what can become of a finding, with the words for it.
var becameOf = []struct{ change, words string }{
	{finding.FindingCame, "came"},
	{finding.FindingStayed, "stayed"},
	{finding.FindingWent, "went"},
	{finding.FindingLost, "could not be judged again"},
}

func (p *Page) examinedDiff(t *finding.ExaminedDiff) {
	name := func(target *string) string {
		if target == nil {
			return "(no such target)"
		}
		return *target
	}
	var said []string
	if t.Before == nil || t.After == nil {
		said = append(said, "only in one document")
	}
	var found []finding.FindingDiff
	var words []string
	for _, b := range becameOf {
		n := len(found)
		for _, f := range t.Findings {
			if f.Change == b.change {
				found, words = append(found, f), append(words, b.words)
			}
		}
		if n = len(found) - n; n > 0 {
			said = append(said, strconv.Itoa(n)+" "+b.words)
		}
	}
	if len(said) == 0 {
		said = append(said, "nothing found, before and after")
	}
	p.line("%s -> %s: %s", name(t.Before), name(t.After), strings.Join(said, ", "))
	for i := range found {
		p.line("")
		p.findingDiff(&found[i], words[i])
	}
	p.headed("figures that differ, of one look each", figureDiffs(t.Figures, ""))
	p.notes(nil, t.Unknown)
}

func (p *Page) findingDiff(f *finding.FindingDiff, words string) {
	severity := *cmp.Or(f.After, f.Before, new(finding.Severity))
	if f.Before != nil && f.After != nil && *f.Before != *f.After {
		severity = *f.Before + " -> " + *f.After
	}
	p.line("%s, %s: %s [%s]", words, severity, f.Title, f.ID)
	p.table(figureDiffs(f.Figures, "  "))
	if f.Fix != "" {
		p.wrap("fix: " + metric.Readable(f.Fix))
	}
}

// figureDiffs returns figures as rows: words, before, after.
func figureDiffs(figures []finding.FigureDiff, indent string) [][]string {
	rows := [][]string{}
	for _, f := range figures {
		value := func(v *float64) string {
			if v == nil {
				return "unknown"
			}
			return content.Quantity(*v, f.Unit)
		}
		rows = append(rows, []string{indent + metric.Readable(f.What), value(f.Before), "->", value(f.After)})
	}
	return rows
}
