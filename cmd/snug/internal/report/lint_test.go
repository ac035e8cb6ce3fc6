// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report"
)

func lintDocument() *finding.Lint {
	column, object, container := 7, "Deployment shop/cart", "cart\x1b[2J"
	mistake := func(id string, severity finding.Severity, file string, line int) finding.LintMistake {
		return finding.LintMistake{Mistake: finding.Mistake{
			Finding: finding.Finding{ID: id, Severity: severity, Title: "A title", Target: file, Evidence: []finding.Evidence{}, Fix: `divisor: "1"`},
			Message: "it is 50% wrong\nhere", File: file, Line: line, Column: &column,
		}, Object: &object, Container: &container}
	}
	d := &finding.Lint{
		Head: finding.NewHead(finding.KindLint), Inputs: []string{"."}, Files: 2, Objects: 3, Pods: 1,
		Findings: []finding.LintMistake{
			mistake("a", finding.SeverityError, "x/a b,c:d.yaml", 3), mistake("b", finding.SeverityInfo, "x/a b,c:d.yaml", 9), mistake("a", finding.SeverityWarning, "y.yaml", 1),
		},
		Unknown: []finding.Gap{},
	}
	d.Findings[1].Fixed = true
	d.Findings[2].Column = nil
	return d
}

// TestLintText: no text of a manifest reaches the terminal as it is.
func TestLintText(t *testing.T) {
	var b bytes.Buffer
	if err := report.Text(&b, lintDocument()); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); strings.ContainsAny(got, "\x1b\r") || !strings.HasPrefix(got, ".: 1 error, 1 warning, 1 fixed\n") ||
		!strings.Contains(got, "\n  x/a b,c:d.yaml:3:7: error: it is 50% wrong\\nhere (a)\n") || !strings.Contains(got, "\n  y.yaml:1: warning: ") {
		t.Errorf("%s", got)
	}
	if d := lintDocument(); d.Worst() != finding.SeverityError {
		t.Errorf("worst %s", d.Worst())
	}
}

// TestAnnotations: a file's name and a message cannot end the command that they
// are in.
func TestAnnotations(t *testing.T) {
	want := "::error file=x/a b%2Cc%3Ad.yaml,line=3,col=7,title=a::it is 50%25 wrong%0Ahere. Fix: divisor: \"1\"\n" +
		"::warning file=y.yaml,line=1,title=a::it is 50%25 wrong%0Ahere. Fix: divisor: \"1\"\n"
	if got := string(report.Annotations(lintDocument())); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestSARIF holds what code scanning asks of a log: rules by index, levels that
// it knows, references that are escaped.
func TestSARIF(t *testing.T) {
	text, err := report.SARIF(lintDocument(), map[string]string{"a": "Long text.\n"}, "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	var log struct {
		Schema  string `json:"$schema"`
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct {
					Name, Version string
					Rules         []struct {
						ID               string
						ShortDescription struct{ Text string }
						Help             struct{ Text string }
					}
				}
			}
			Results []struct {
				RuleID    string
				RuleIndex int
				Level     string
				Message   struct{ Text string }
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine, StartColumn int }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(text, &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	if log.Version != "2.1.0" || run.Tool.Driver.Name != "snug" || run.Tool.Driver.Version != "v1.2.3" || len(run.Tool.Driver.Rules) != 1 || len(run.Results) != 2 {
		t.Fatalf("%s", text)
	}
	if r := run.Tool.Driver.Rules[0]; r.ID != "a" || r.ShortDescription.Text != "A title" || r.Help.Text != "Long text.\n" {
		t.Errorf("%+v", r)
	}
	for i, want := range []struct {
		level, uri   string
		line, column int
	}{{"error", "x/a%20b,c:d.yaml", 3, 7}, {"warning", "y.yaml", 1, 0}} {
		r := run.Results[i]
		at := r.Locations[0].PhysicalLocation
		if r.RuleID != "a" || r.RuleIndex != 0 || r.Level != want.level || at.ArtifactLocation.URI != want.uri || at.Region.StartLine != want.line || at.Region.StartColumn != want.column {
			t.Errorf("%d: %+v", i, r)
		}
	}
}
