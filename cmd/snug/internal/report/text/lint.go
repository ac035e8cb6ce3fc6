// SPDX-License-Identifier: Apache-2.0

package text

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

func (p *Page) vet(d *finding.Vet) {
	verdict, fixable := mistakes(d.Findings, func(m *finding.Mistake) *finding.Mistake { return m })
	if n := len(d.Unknown); n > 0 {
		verdict += ", " + units.Plural(n, "file") + " not looked at"
	}
	p.line("%s: %s", strings.Join(d.Patterns, " "), verdict)
	for i := range d.Findings {
		if i == 0 {
			p.line("")
		}
		m := &d.Findings[i]
		p.line("%s: %s: %s (%s)", m.Target, m.Severity, m.Message, m.ID)
		p.fixOf(m, "  ")
	}
	p.fixes("vet", fixable)
	p.end(d.Unknown, d.Next)
}

func (p *Page) lint(d *finding.Lint) { p.linted(d, "lint", "") }

func (p *Page) check(d *finding.Check) {
	p.linted(&d.Lint, "check", units.Plural(d.Packages, "Go package"))
}

// linted prints the answer of a command. source counts what it read that is not a file of d.
func (p *Page) linted(d *finding.Lint, command, source string) {
	verdict, fixable := mistakes(d.Findings, func(m *finding.LintMistake) *finding.Mistake { return &m.Mistake })
	switch n := len(d.Unknown); {
	case d.Files == 0 && n == 0 && source == "":
		verdict = "no manifests"
	case n > 0:
		verdict += ", " + units.Plural(n, "part") + " not looked at"
	}
	p.line("%s: %s", strings.Join(d.Inputs, " "), verdict)
	p.line("%s", units.Join(", ", source, units.Plural(d.Files, "file"),
		units.Plural(d.Objects, "object")+" of Kubernetes", units.Plural(d.Pods, "pod"),
		units.If(d.Services > 0, units.Plural(d.Services, "service")),
		units.If(d.Foreign > 0, units.Plural(d.Foreign, "file")+" of another kind"),
		units.If(d.Ignored > 0, strconv.Itoa(d.Ignored)+" silenced")))
	for i := range d.Findings {
		m := &d.Findings[i]
		if i == 0 || m.File != d.Findings[i-1].File {
			p.below(m.File)
		}
		at := m.File + ":" + strconv.Itoa(m.Line) // as editors and terminals link it
		if m.Column != nil {
			at += ":" + strconv.Itoa(*m.Column)
		}
		p.line("  %s: %s: %s (%s)", at, m.Severity, m.Message, m.ID)
		if m.Object != nil {
			p.line("    in %s", placeOf(m))
		}
		p.table(figureRows(m.Evidence, "    ", true))
		p.fixOf(&m.Mistake, "    ")
	}
	p.unread(d.Unknown)
	p.fixes(command, fixable)
	p.next(d.Next)
}

// placeOf names the object of a mistake, and its container.
func placeOf(m *finding.LintMistake) string {
	text := *m.Object
	if m.Container != nil {
		text += ", "
		if m.Role != nil && *m.Role != "main" {
			text += *m.Role + " "
		}
		text += "container " + *m.Container
	}
	if m.Template != nil {
		text += ", from " + *m.Template
	}
	return text
}

// unread prints the files that were not read, and why.
func (p *Page) unread(all []finding.Gap) {
	var lines []string
	for _, g := range all {
		lines = append(lines, "unknown: "+g.File+": "+metric.Readable(g.Why))
	}
	p.below(lines...)
}

// fixOf prints the fix of a mistake, if there is one.
func (p *Page) fixOf(m *finding.Mistake, indent string) {
	switch {
	case m.Fixed:
		p.line("%sfixed: %s", indent, m.Fix)
	case m.Fix != "":
		p.line("%sfix: %s", indent, m.Fix)
	}
}

// fixes says how many mistakes a command can fix.
func (p *Page) fixes(command string, fixable int) {
	if fixable > 0 {
		p.below(fmt.Sprintf("snug %s --fix fixes %d of them", command, fixable))
	}
}

// fixed counts mistakes that are fixed, in the place of their severity.
const fixed finding.Severity = "fixed"

// mistakes sums up mistakes, and counts those that can be fixed.
func mistakes[T any](all []T, of func(*T) *finding.Mistake) (verdict string, fixable int) {
	verdict = counts(all, func(t *T) finding.Severity {
		m := of(t)
		if m.Fixed {
			return fixed
		}
		if m.Fixable {
			fixable++
		}
		return m.Severity
	})
	return verdict, fixable
}

// counts lists the number of findings of each severity.
func counts[T any](all []T, severity func(*T) finding.Severity) string {
	count := map[finding.Severity]int{}
	for i := range all {
		count[severity(&all[i])]++
	}
	errors, warnings, infos := count[finding.SeverityError], count[finding.SeverityWarning], count[finding.SeverityInfo]
	return cmp.Or(units.Join(", ", units.If(errors > 0, units.Plural(errors, "error")),
		units.If(warnings > 0, units.Plural(warnings, "warning")),
		units.If(infos > 0, strconv.Itoa(infos)+" for information"),
		units.If(count[fixed] > 0, strconv.Itoa(count[fixed])+" fixed")), "nothing found")
}

func (p *Page) given(d *finding.Given) {
	some, maybe := 0, 0
	for i := range d.Containers {
		switch c := &d.Containers[i]; {
		case len(c.Env)+len(c.RestartOn) == 0:
		case c.OptedIn == nil:
			maybe++
		default:
			some++
		}
	}
	verdict, of := "no containers", " of "+units.Plural(len(d.Containers), "container")+" would be given something"
	switch {
	case len(d.Containers) == 0:
	case maybe > 0 && d.Inject == "all":
		verdict = strconv.Itoa(some+maybe) + of + ", " + strconv.Itoa(maybe) +
			" unless the label snug.dev/inject of the namespace says no"
	case maybe > 0:
		verdict = strconv.Itoa(some) + of + ", " + strconv.Itoa(maybe) +
			" more where the label snug.dev/inject of the namespace says so"
	default:
		verdict = strconv.Itoa(some) + of
	}
	p.line("%s: %s", strings.Join(d.Inputs, " "), verdict)
	if d.Mode == "observe" {
		p.line("mode observe: nothing is changed; the annotation snug.dev/observed of the pod says what would be")
	}
	object, seen := "", map[string]bool{}
	for i := range d.Containers {
		c := &d.Containers[i]
		if at := c.File + ": " + c.Object; at != object {
			object, seen = at, map[string]bool{}
			p.below(at)
		}
		role, condition := "", ""
		if c.Role != "main" {
			role = c.Role + " "
		}
		if c.OptedIn == nil && len(c.Env)+len(c.RestartOn) > 0 {
			if condition = ", if its namespace is opted in"; d.Inject == "all" {
				condition = ", unless its namespace is opted out"
			}
		}
		p.line("  %scontainer %s%s", role, c.Container, condition)
		p.table(givenRows(c, seen))
	}
	p.unread(d.Unknown)
	p.next(d.Next)
}

// givenRows says what happens to each knob, and why. An error in a pod's labels is printed
// for its first container only; seen records it.
func givenRows(c *finding.GivenContainer, seen map[string]bool) [][]string {
	var rows [][]string
	said := ""
	for i, w := range c.Reasons {
		what := given(c, w.Knob)
		text := w.Text + " (" + w.Reason + ")"
		if w.Reason == "pod-label-wrong" {
			if said = w.Text; seen[said] {
				text = w.Reason + ", as above"
			}
		}
		switch {
		case i > 0 && w.Knob == c.Reasons[i-1].Knob:
			what = "" // one more reason
		case i > 0 && w.Reason == c.Reasons[i-1].Reason && len(c.Env) == 0:
			rows[i-1][0] = "    left alone"
			seen[said] = true
			return rows
		}
		rows = append(rows, []string{"    " + what, text})
	}
	seen[said] = true
	return rows
}

// given says which value a container gets for a knob.
func given(c *finding.GivenContainer, knob string) string {
	for _, e := range c.Env {
		switch {
		case e.Name != knob:
		case e.Value != nil:
			return knob + "=" + *e.Value
		case e.Resource != nil:
			return knob + " from " + *e.Resource
		}
	}
	return knob + " left alone"
}
