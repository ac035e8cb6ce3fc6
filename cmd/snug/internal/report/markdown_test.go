// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func TestMarkdown(t *testing.T) {
	then, now := quick(), quick()
	then.Verdict.Text = "keep *it* | @all <b>"
	then.Cells = then.Cells[:2] // P=8 is new
	then.Comparisons = nil
	*now.Cells[1].RPS *= 1.1
	for name, stored := range map[string]finding.Document{"quick.md": nil, "quick-baseline.md": then} {
		var b bytes.Buffer
		if err := Markdown(&b, now, stored); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
	for _, pair := range [][2]finding.Document{{&finding.Trace{}, nil}, {now, &finding.Trace{}}} {
		if err := Markdown(&bytes.Buffer{}, pair[0], pair[1]); err == nil || !strings.Contains(err.Error(), "document of kind") {
			t.Errorf("a trace: %v", err)
		}
	}
}
