// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"compress/gzip"
	"flag"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/chart"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

var update = flag.Bool("update", false, "draw docs/ramp.svg again")

// TestRampPicture: docs/bench.md shows what the page draws of the recorded ramp.
func TestRampPicture(t *testing.T) {
	const file = "../../../../../docs/ramp.svg"
	got := rampPicture(t, "../../../../../experiments/2026-11-26-ramp/data.json.gz")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/ramp.svg is not what the page draws: go test ./cmd/snug/internal/report/page -run TestRampPicture -update")
	}
}

// rampPicture returns the drawing of a page as a picture of its own.
func rampPicture(t *testing.T, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := finding.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	d := doc.(*finding.Bench)
	parts := content.Sections(d.Cells, d.Comparisons)
	drawing := string(chart.Ramp(&parts[0], d.Cells).Charts[0])
	size := regexp.MustCompile(`viewBox="0 0 ([0-9.]+) ([0-9.]+)"`).FindStringSubmatch(drawing)
	head, body, ok := strings.Cut(drawing, ">")
	if !ok || size == nil {
		t.Fatalf("no drawing: %s", drawing)
	}
	head = strings.Replace(head, "<svg ", `<svg xmlns="http://www.w3.org/2000/svg" width="`+size[1]+`" height="`+size[2]+`" `, 1)
	body = strings.ReplaceAll(body, "><", ">\n<")
	return []byte(head + ">\n<style>\n" + rampStyle(t) + "</style>\n" + `<rect class="paper" width="100%" height="100%"/>` + "\n" + body + "\n")
}

// rampStyle returns what the drawing needs of the page's style sheets.
func rampStyle(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, name := range []string{"style.css", "chart.css"} {
		text, err := pageFiles.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		colours, rules, ok := strings.Cut(string(text), "\n}\n@media (prefers-color-scheme: dark) {\n")
		dark, rules, ok2 := strings.Cut(rules, "\n}\n")
		if !ok || !ok2 {
			t.Fatalf("%s does not begin with its colours", name)
		}
		b.WriteString(colours + "\n}\n@media (prefers-color-scheme: dark) {\n" + dark + "\n}\n")
		for line := range strings.Lines(rules) {
			if regexp.MustCompile(`^svg (text|\.(tick|head|label|grid|axis|shade|curve))\b|^\.[ksd][0-9] `).MatchString(line) {
				b.WriteString(line)
			}
		}
	}
	return b.String() + ".paper { fill: var(--paper); }\nsvg { font-family: system-ui, sans-serif; }\n"
}
