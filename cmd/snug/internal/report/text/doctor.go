// SPDX-License-Identifier: Apache-2.0

package text

import (
	"io"
	"path"
	"slices"
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
		p.line("")
		p.line("all figures: snug doctor -v TARGET; what a word means: snug explain WORD")
	}
	p.next(d.Next)
}

// examined prints a target and reports whether it left figures out.
func (p *Page) examined(t *finding.Examined, all bool) (kept bool) {
	line := message.Clean(t.Target) + ": " + verdictOn(t)
	about := []string{}
	if t.Go != nil {
		about = append(about, message.Clean(*t.Go))
	}
	if t.Seconds != nil && *t.Seconds > 0 {
		about = append(about, "watched for "+units.Duration(*t.Seconds))
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

// verdictOn summarises the findings in a few words.
func verdictOn(t *finding.Examined) string {
	count := map[finding.Severity]int{}
	for i := range t.Findings {
		count[t.Findings[i].Severity]++
	}
	switch {
	case count[finding.SeverityInfo] == len(t.Findings) && len(t.Findings) > 0:
		return "nothing that hurts now, " + counts(count, 0)
	case len(t.Findings) > 0:
		return counts(count, 0)
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
	rows := [][]string{}
	for _, e := range facts {
		from := ""
		if all || t.Kind != "process" {
			from = sourced(&e, all)
		}
		if e.What == "GOMAXPROCS" {
			from = joined(setBy(t), from)
		}
		rows = append(rows, []string{metric.Readable(e.What), content.Quantity(e.Value, e.Unit), from})
	}
	return rows
}

func joined(a, b string) string {
	if a != "" && b != "" {
		return a + "; " + b
	}
	return a + b
}

// setBy says what set GOMAXPROCS; "" if unknown.
func setBy(t *finding.Examined) string {
	if t.GOMAXPROCSSource == nil {
		return ""
	}
	switch *t.GOMAXPROCSSource {
	case "environment":
		return "set by the environment"
	case "code":
		if t.GOMAXPROCSModule != nil {
			return "set by code: " + message.Clean(*t.GOMAXPROCSModule)
		}
		return "set by code"
	case "runtime":
		return "set by Go from the CPU quota and the CPUs"
	case "host":
		return "set by Go from the CPUs, without the quota"
	}
	return "set by " + message.Clean(*t.GOMAXPROCSSource)
}

func (p *Page) finding(f *finding.Finding, all bool) {
	p.line("%s: %s [%s]", message.Clean(string(f.Severity)), message.Clean(f.Title), message.Clean(f.ID))
	p.table(figureRows(f.Evidence, "  ", all))
	if f.Fix != "" {
		p.wrap("fix: " + metric.Readable(f.Fix))
	}
	if f.Verify != "" {
		p.line("verify: %s", message.Clean(f.Verify))
		p.line("  and the program's arguments after it; --url URL before the -- if it is a service")
	}
}

// figureRows returns figures as rows: words, value, source.
func figureRows(figures []finding.Evidence, indent string, all bool) [][]string {
	rows := [][]string{}
	for _, e := range figures {
		rows = append(rows, []string{indent + metric.Readable(e.What), content.Quantity(e.Value, e.Unit), sourced(&e, all)})
	}
	return rows
}

// sourced returns the source of a figure; with all, also its votes.
func sourced(e *finding.Evidence, all bool) string {
	s := message.Clean(e.Source)
	if strings.HasPrefix(s, "/sys/") {
		s = path.Base(s) // the group's path is in the JSON
	}
	if file, how, ok := strings.Cut(s, ", "); !all && ok && strings.HasPrefix(file, "/proc/") &&
		strings.Contains(how, " votes") {
		s = file
	}
	if e.Raw != "" {
		s += ": " + strings.TrimSpace(message.Clean(e.Raw))
	}
	return s
}
