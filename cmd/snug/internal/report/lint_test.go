// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/text"
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

// TestLintText: no text of a manifest reaches the terminal unescaped.
func TestLintText(t *testing.T) {
	var b bytes.Buffer
	if err := text.Write(&b, lintDocument()); err != nil {
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

// TestAnnotations: a file name or message cannot end the command that contains it.
func TestAnnotations(t *testing.T) {
	want := "::error file=x/a b%2Cc%3Ad.yaml,line=3,col=7,title=a::it is 50%25 wrong%0Ahere. Fix: divisor: \"1\"\n" +
		"::warning file=y.yaml,line=1,title=a::it is 50%25 wrong%0Ahere. Fix: divisor: \"1\"\n"
	if got := string(report.Annotations(lintDocument())); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	d := lintDocument()
	d.Findings = d.Findings[:1]
	d.Findings[0].Message = "a\x1b[31m\u009b\u202eb\r\nc"
	d.Findings[0].File = "\x1b\u2066.yaml"
	d.Unknown = gaps
	want = "::error file=\\x1b\\u2066.yaml,line=3,col=7,title=a::a\\x1b[31m\\u009b\\u202eb%0Ac. Fix: divisor: \"1\"\n" +
		"::warning file=d/e.yaml,line=7,title=not looked at::no YAML\n" +
		"::warning file=f%3Ag.yaml,title=not looked at::permission\\u202e denied\n" +
		"::notice file=d,title=not looked at::the source of a template\n"
	if got := string(report.Annotations(d)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

var gaps = []finding.Gap{
	{Field: finding.GapFindings, File: "d/e.yaml:7", Why: "no YAML"},
	{Field: finding.GapFindings, File: "f:g.yaml", Why: "permission\u202e denied"},
	{Field: finding.GapTemplates, File: "d", Why: "the source of a template"},
}

// TestLintJSON: unprintable characters are escaped, and read back unchanged.
func TestLintJSON(t *testing.T) {
	d := lintDocument()
	d.Findings[0].Message = "\u009b31m \u202e \u007f \U000e0041 \u00e9\U0001f600"
	var b bytes.Buffer
	if err := report.JSON(&b, d); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `"message":"\u009b31m \u202e \u007f \udb40\udc41 é😀"`) {
		t.Errorf("%s", b.String())
	}
	read, err := finding.Decode(b.Bytes())
	if err != nil || read.(*finding.Lint).Findings[0].Message != d.Findings[0].Message {
		t.Errorf("%v, %+v", err, read)
	}
	text, err := report.SARIF(d, nil, "")
	if err != nil || strings.ContainsAny(string(text), "\u009b\u202e\u007f") {
		t.Errorf("%v, %s", err, text)
	}
}

// TestSARIFUnread: what was not checked is in the log, and a name is not a scheme.
func TestSARIFUnread(t *testing.T) {
	type notification struct {
		Level     string
		Message   struct{ Text string }
		Locations []struct {
			PhysicalLocation struct {
				ArtifactLocation struct{ URI string }
				Region           *struct{ StartLine int }
			}
		}
	}
	var log struct {
		Runs []struct {
			ColumnKind  string
			Invocations []struct {
				ExecutionSuccessful        *bool
				ToolExecutionNotifications []notification
			}
		}
	}
	read := func(d *finding.Lint) {
		text, err := report.SARIF(d, nil, "v1")
		if err == nil {
			err = json.Unmarshal(text, &log)
		}
		if err != nil || len(log.Runs) != 1 || len(log.Runs[0].Invocations) != 1 || log.Runs[0].ColumnKind != "unicodeCodePoints" {
			t.Fatalf("%v, %s", err, text)
		}
	}
	d := lintDocument()
	read(d)
	if i := log.Runs[0].Invocations[0]; !*i.ExecutionSuccessful || len(i.ToolExecutionNotifications) != 0 {
		t.Errorf("%+v", i)
	}
	d.Unknown = gaps
	read(d)
	i := log.Runs[0].Invocations[0]
	if *i.ExecutionSuccessful || len(i.ToolExecutionNotifications) != 3 {
		t.Fatalf("%+v", i)
	}
	for n, want := range []struct {
		level, text, uri string
		line             int
	}{
		{"warning", "not looked at: no YAML", "d/e.yaml", 7},
		{"warning", "not looked at: permission\\u202e denied", "f%3Ag.yaml", 0},
		{"note", "not looked at: the source of a template", "d", 0},
	} {
		got := i.ToolExecutionNotifications[n]
		at := got.Locations[0].PhysicalLocation
		line := 0
		if at.Region != nil {
			line = at.Region.StartLine
		}
		if got.Level != want.level || got.Message.Text != want.text || at.ArtifactLocation.URI != want.uri || line != want.line {
			t.Errorf("%+v, line %d; want %+v", got, line, want)
		}
	}
	d.Unknown = gaps[2:]
	if read(d); !*log.Runs[0].Invocations[0].ExecutionSuccessful {
		t.Error("a template is a failure")
	}
}

// TestSARIF checks the requirements of code scanning: rules by index, known levels,
// escaped references.
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
