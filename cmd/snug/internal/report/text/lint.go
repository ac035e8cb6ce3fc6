// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// mistakes prints the answer of a command. source counts what it read that is not a file of d.
func (p *Page) mistakes(d *finding.Lint, command, source string) {
	count, fixed := map[finding.Severity]int{}, 0
	for i := range d.Findings {
		if m := &d.Findings[i]; m.Fixed {
			fixed++
		} else {
			count[m.Severity]++
		}
	}
	verdict := counts(count, fixed)
	switch n := len(d.Unknown); {
	case d.Files == 0 && n == 0 && source == "":
		verdict = "no manifests"
	case n > 0:
		verdict += ", " + units.Plural(n, "part") + " not looked at"
	}
	p.line("%s: %s", message.Clean(strings.Join(d.Inputs, " ")), verdict)
	p.line("%s%s, %s of Kubernetes, %s%s", source, units.Plural(d.Files, "file"), units.Plural(d.Objects, "object"),
		units.Plural(d.Pods, "pod"), beside(d))
	file, fixable := "", 0
	for i := range d.Findings {
		m := &d.Findings[i]
		if m.File != file || i == 0 {
			file = m.File
			p.line("")
			p.line("%s", message.Clean(file))
		}
		p.mistake(m)
		if m.Fixable && !m.Fixed {
			fixable++
		}
	}
	if len(d.Unknown) > 0 {
		p.line("")
	}
	for _, g := range d.Unknown {
		p.line("unknown: %s: %s", message.Clean(g.File), metric.Readable(g.Why))
	}
	if fixable > 0 {
		p.line("")
		p.line("snug %s --fix fixes %d of them", command, fixable)
	}
	p.next(d.Next)
}

// beside lists the services, foreign files and silenced findings.
func beside(d *finding.Lint) string {
	text := ""
	if d.Services > 0 {
		text += ", " + units.Plural(d.Services, "service")
	}
	if d.Foreign > 0 {
		text += ", " + units.Plural(d.Foreign, "file") + " of another kind"
	}
	if d.Ignored > 0 {
		text += ", " + strconv.Itoa(d.Ignored) + " silenced"
	}
	return text
}

// mistake prints one finding below the name of its file.
func (p *Page) mistake(m *finding.LintMistake) {
	who := ""
	if m.Object != nil {
		who = *m.Object
		if m.Container != nil {
			who += ", "
			if m.Role != nil && *m.Role != "main" {
				who += *m.Role + " "
			}
			who += "container " + *m.Container
		}
		if m.Template != nil {
			who += ", from " + *m.Template
		}
	}
	p.line("  %s: %s: %s (%s)", message.Clean(located(m)), message.Clean(string(m.Severity)), message.Clean(m.Message),
		message.Clean(m.ID))
	if who != "" {
		p.line("    in %s", message.Clean(who))
	}
	p.table(figureRows(m.Evidence, "    ", true))
	switch {
	case m.Fixed:
		p.line("    fixed: %s", message.Clean(m.Fix))
	case m.Fix != "":
		p.line("    fix: %s", message.Clean(m.Fix))
	}
}

// located returns the place of a mistake in the form that editors and terminals link.
func located(m *finding.LintMistake) string {
	at := m.File + ":" + strconv.Itoa(m.Line)
	if m.Column != nil {
		at += ":" + strconv.Itoa(*m.Column)
	}
	return at
}
