// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/text"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// The parts of SARIF 2.1.0 that code scanning reads. Source:
// docs.oasis-open.org/sarif/sarif/v2.1.0, and GitHub's "SARIF support for code
// scanning".
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		ColumnKind  string            `json:"columnKind"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications"`
	}
	sarifNotification struct {
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		URI     string      `json:"informationUri"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Short sarifText `json:"shortDescription"`
		Help  sarifText `json:"help"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		Rule      string          `json:"ruleId"`
		Index     int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		Line   int  `json:"startLine"`
		Column *int `json:"startColumn,omitempty"`
	}
)

// Levels of SARIF and of GitHub's annotations.
var (
	sarifLevels      = map[finding.Severity]string{finding.SeverityError: "error", finding.SeverityWarning: "warning", finding.SeverityInfo: "note"}
	annotationLevels = map[finding.Severity]string{finding.SeverityError: "error", finding.SeverityWarning: "warning", finding.SeverityInfo: "notice"}
)

// SARIF returns the findings as a log for code scanning, with notifications for what
// was not checked. Fixed findings are left out. texts are the explanations by id. The
// columns of d must count code points.
func SARIF(d *finding.Lint, texts map[string]string, version string) ([]byte, error) {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	run.Invocations = []sarifInvocation{notified(d.Unknown)}
	run.Tool.Driver = sarifDriver{Name: "snug", Version: version, URI: "https://github.com/snug-go/snug", Rules: []sarifRule{}}
	for i := range d.Findings {
		m := &d.Findings[i]
		if m.Fixed {
			continue
		}
		rules := &run.Tool.Driver.Rules
		index := slices.IndexFunc(*rules, func(r sarifRule) bool { return r.ID == m.ID })
		if index < 0 {
			index = len(*rules)
			*rules = append(*rules, sarifRule{m.ID, sarifText{m.Title}, sarifText{texts[m.ID]}})
		}
		message := m.Message
		if m.Fix != "" {
			message += ". Fix: " + m.Fix
		}
		run.Results = append(run.Results, sarifResult{
			Rule: m.ID, Index: index, Level: sarifLevels[m.Severity], Message: sarifText{seen(message)},
			Locations: []sarifLocation{{sarifPhysical{sarifArtifact{uri(m.File)}, &sarifRegion{max(1, m.Line), m.Column}}}},
		})
	}
	text, err := json.MarshalIndent(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}, "", "  ")
	return append(escaped(text), '\n'), err
}

// notified returns the invocation with a notification for each gap.
func notified(unknown []finding.Gap) sarifInvocation {
	all := sarifInvocation{Successful: true, Notifications: []sarifNotification{}}
	for _, g := range unknown {
		file, line := placed(g)
		n := sarifNotification{"warning", sarifText{seen("not looked at: " + g.Why)}, []sarifLocation{{sarifPhysical{Artifact: sarifArtifact{uri(file)}}}}}
		if line > 0 {
			n.Locations[0].Physical.Region = &sarifRegion{Line: line}
		}
		switch g.Field {
		case finding.GapTemplates, finding.GapKnobs:
			n.Level = "note"
		case finding.GapFindings:
			all.Successful = false
		}
		all.Notifications = append(all.Notifications, n)
	}
	return all
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
	if more {
		first += "/" + rest
	}
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
		p := text.Page{}
		p.WriteString("::" + annotationLevels[m.Severity] + " file=" + property(m.File))
		p.WriteString(",line=" + units.Number(float64(m.Line)))
		if m.Column != nil {
			p.WriteString(",col=" + units.Number(float64(*m.Column)))
		}
		message := m.Message
		if m.Fix != "" {
			message += ". Fix: " + m.Fix
		}
		b.WriteString(p.String() + ",title=" + property(m.ID) + "::" + data(message) + "\n")
	}
	for _, g := range d.Unknown {
		level := "warning"
		if g.Field == finding.GapTemplates || g.Field == finding.GapKnobs {
			level = "notice"
		}
		file, line := placed(g)
		b.WriteString("::" + level + " file=" + property(file))
		if line > 0 {
			b.WriteString(",line=" + strconv.Itoa(line))
		}
		b.WriteString(",title=not looked at::" + data(g.Why) + "\n")
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
