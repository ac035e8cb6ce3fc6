// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

func (p *Page) vet(d *finding.Vet) {
	count, fixed := map[finding.Severity]int{}, 0
	for i := range d.Findings {
		if m := &d.Findings[i]; m.Fixed {
			fixed++
		} else {
			count[m.Severity]++
		}
	}
	verdict := counts(count, fixed)
	if n := len(d.Unknown); n > 0 {
		verdict += ", " + units.Plural(n, "file") + " not looked at"
	}
	p.line("%s: %s", message.Clean(strings.Join(d.Patterns, " ")), verdict)
	if len(d.Findings) > 0 {
		p.line("")
	}
	fixable := 0
	for i := range d.Findings {
		m := &d.Findings[i]
		p.line("%s: %s: %s (%s)", message.Clean(m.Target), message.Clean(string(m.Severity)), message.Clean(m.Message),
			message.Clean(m.ID))
		switch {
		case m.Fixed:
			p.line("  fixed: %s", message.Clean(m.Fix))
		case m.Fix != "":
			p.line("  fix: %s", message.Clean(m.Fix))
		}
		if m.Fixable && !m.Fixed {
			fixable++
		}
	}
	if fixable > 0 {
		p.line("")
		p.line("snug vet --fix fixes %d of them", fixable)
	}
	p.notes(nil, d.Unknown)
	p.next(d.Next)
}

// counts lists the number of mistakes of each severity.
func counts(count map[finding.Severity]int, fixed int) string {
	var said []string
	for _, s := range []finding.Severity{finding.SeverityError, finding.SeverityWarning} {
		if n := count[s]; n > 0 {
			said = append(said, units.Plural(n, string(s)))
		}
	}
	if n := count[finding.SeverityInfo]; n > 0 {
		said = append(said, strconv.Itoa(n)+" for information")
	}
	if fixed > 0 {
		said = append(said, strconv.Itoa(fixed)+" fixed")
	}
	if len(said) == 0 {
		return "nothing found"
	}
	return strings.Join(said, ", ")
}
