// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// The parts of SARIF 2.1.0 that code scanning reads. Source:
// docs.oasis-open.org/sarif/sarif/v2.1.0, and GitHub's "SARIF support for code
// scanning".
type object = map[string]any

func words(s string) object { return object{"text": s} }

// locations returns the locations of a place in a file; line is 0 for a whole file.
func locations(file string, line int, column *int) []object {
	place := object{"artifactLocation": object{"uri": uri(file)}}
	if line > 0 {
		region := object{"startLine": line}
		if column != nil {
			region["startColumn"] = *column
		}
		place["region"] = region
	}
	return []object{{"physicalLocation": place}}
}

// level is the word of SARIF, or of GitHub's annotations, for a severity.
func level(s finding.Severity, info string) string {
	if s == finding.SeverityInfo {
		return info
	}
	return string(s)
}

// severityOf returns the severity of a part that was not looked at.
func severityOf(g finding.Gap) finding.Severity {
	if g.Field == finding.GapTemplates || g.Field == finding.GapKnobs {
		return finding.SeverityInfo
	}
	return finding.SeverityWarning
}

// said returns the message of a finding with its fix.
func said(m *finding.LintMistake) string {
	if m.Fix == "" {
		return m.Message
	}
	return m.Message + ". Fix: " + m.Fix
}

// SARIF returns the findings as a log for code scanning, with notifications for what
// was not checked. Fixed findings are left out. texts are the explanations by id. The
// columns of d must count code points.
func SARIF(d *finding.Lint, texts map[string]string, version string) ([]byte, error) {
	rules, results, notes, successful := []object{}, []object{}, []object{}, true
	for i := range d.Findings {
		m := &d.Findings[i]
		if m.Fixed {
			continue
		}
		index := slices.IndexFunc(rules, func(r object) bool { return r["id"] == m.ID })
		if index < 0 {
			index = len(rules)
			rules = append(rules, object{"id": m.ID, "shortDescription": words(m.Title), "help": words(texts[m.ID])})
		}
		results = append(results, object{
			"ruleId": m.ID, "ruleIndex": index, "level": level(m.Severity, "note"), "message": words(seen(said(m))),
			"locations": locations(m.File, max(1, m.Line), m.Column),
		})
	}
	for _, g := range d.Unknown {
		file, line := placed(g)
		notes = append(notes, object{
			"level": level(severityOf(g), "note"), "message": words(seen("not looked at: " + g.Why)),
			"locations": locations(file, line, nil),
		})
		successful = successful && g.Field != finding.GapFindings
	}
	text, err := json.MarshalIndent(object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": []object{{
			"tool": object{"driver": object{
				"name": "snug", "version": version, "informationUri": "https://github.com/snug-go/snug", "rules": rules,
			}},
			"columnKind": "unicodeCodePoints", "results": results,
			"invocations": []object{{"executionSuccessful": successful, "toolExecutionNotifications": notes}},
		}},
	}, "", "  ")
	return append(escaped(text), '\n'), err
}

// placed returns the place of a gap; line is 0 for a whole file.
func placed(g finding.Gap) (file string, line int) {
	if i := strings.LastIndexByte(g.File, ':'); i > 0 {
		if n, err := strconv.Atoi(g.File[i+1:]); err == nil && n > 0 {
			return g.File[:i], n
		}
	}
	return g.File, 0
}

// uri returns a file name as a relative reference. It escapes colons in the first part,
// where they would end a scheme.
func uri(file string) string {
	first, rest, more := strings.Cut((&url.URL{Path: filepath.ToSlash(file)}).EscapedPath(), "/")
	first = strings.ReplaceAll(first, ":", "%3A")
	first += units.If(more, "/"+rest)
	return first
}

// Annotations returns the findings, and what was not checked, as GitHub workflow commands:
//
//	::error file=a.yaml,line=3,col=5,title=gomemlimit-divisor::the message
//
// Source: docs.github.com, "Workflow commands for GitHub Actions".
func Annotations(d *finding.Lint) []byte {
	var b strings.Builder
	for i := range d.Findings {
		m := &d.Findings[i]
		if m.Fixed {
			continue
		}
		fmt.Fprintf(&b, "::%s file=%s,line=%d", level(m.Severity, "notice"), property(m.File), m.Line)
		if m.Column != nil {
			fmt.Fprintf(&b, ",col=%d", *m.Column)
		}
		fmt.Fprintf(&b, ",title=%s::%s\n", property(m.ID), data(said(m)))
	}
	for _, g := range d.Unknown {
		file, line := placed(g)
		fmt.Fprintf(&b, "::%s file=%s", level(severityOf(g), "notice"), property(file))
		if line > 0 {
			fmt.Fprintf(&b, ",line=%d", line)
		}
		fmt.Fprintf(&b, ",title=not looked at::%s\n", data(g.Why))
	}
	return []byte(b.String())
}

// data escapes the text of a workflow command, property the text of its properties.
// Both clean it, because a log may be shown on a terminal.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(seen(s))
}

func property(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(seen(s))
}

// seen applies message.Clean to each line of a text.
func seen(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = message.Clean(strings.TrimSuffix(lines[i], "\r"))
	}
	return strings.Join(lines, "\n")
}
