// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/text"
)

// hostile is text that tries to escape from any context.
const hostile = "</pre></script><script>alert(1)</script><img src=x onerror=alert(1)>\"'`\x1b[31mred\x07\nBenchmarkEvil 1 1 ns/op\u202e --> ]]> {{.}} "

// poisoned returns a document with such text in every text field.
func poisoned(t testing.TB, d finding.Document) finding.Document {
	t.Helper()
	evil := strings.NewReplacer("http", hostile, "./orders", hostile, "default", "default"+hostile, "linux", hostile, "GOGC", "GOGC"+hostile,
		"winner", hostile, "baseline", hostile, "snug bench", hostile, "generator late", hostile, "no-cgroup", hostile, "throttled_ratio", hostile, "unbounded", hostile, "keep", hostile)
	poison(d, evil)
	return d
}

// elements matches the elements of a page.
var elements = strings.Fields("html head meta title style body main header footer section h1 h2 h3 p span ul li div pre code dl dt dd a details summary " +
	"table thead tbody tr th td figure figcaption svg desc line rect circle path text")

var (
	anyTag  = regexp.MustCompile(`<[^>]*>`)
	element = regexp.MustCompile(`^</?([a-z0-9]+)[ />]`)
	quoted  = regexp.MustCompile(`"[^"]*"`)
	active  = regexp.MustCompile(` (src|on[a-z]+)=`)
	link    = regexp.MustCompile(` href="([^"]*)`)
)

// sound checks that a page has only elements of its template, and that its drawings
// are well formed.
func sound(t testing.TB, page []byte) {
	t.Helper()
	page = bytes.ReplaceAll(page, []byte("<!DOCTYPE html>"), nil)
	for _, tag := range anyTag.FindAll(page, -1) {
		m := element.FindSubmatch(tag)
		if m == nil || !slices.Contains(elements, string(m[1])) {
			t.Errorf("the page has the element %s", content.Short(string(tag), 200))
		}
		if active.Match(quoted.ReplaceAll(tag, nil)) {
			t.Errorf("the page has %s", content.Short(string(tag), 200))
		}
		if m := link.FindSubmatch(tag); m != nil && !bytes.HasPrefix(m[1], []byte("data:application/gzip;base64,")) {
			t.Errorf("the page links %s", content.Short(string(tag), 200))
		}
	}
	if style, _, _ := bytes.Cut(page, []byte("</style>")); bytes.Contains(style, []byte("url(")) || bytes.Contains(style, []byte("@import")) {
		t.Error("the style sheet asks for something")
	}
	for rest := string(page); ; {
		_, after, ok := strings.Cut(rest, "<svg ")
		if !ok {
			break
		}
		drawing, tail, _ := strings.Cut(after, "</svg>")
		rest = tail
		drawing = "<svg " + drawing + "</svg>"
		if err := xml.Unmarshal([]byte(drawing), new(struct{ XMLName xml.Name })); err != nil {
			t.Errorf("a drawing is not well formed: %v in %s", err, content.Short(drawing, 200))
		}
		if strings.Contains(drawing, "NaN") || strings.Contains(drawing, "Inf") {
			t.Errorf("a drawing has a coordinate that is none: %s", content.Short(drawing, 400))
		}
	}
}

// renderAll renders a document in every form and checks the invariants of all.
func renderAll(t testing.TB, d finding.Document) {
	t.Helper()
	for name, render := range renderers {
		var b bytes.Buffer
		if err := render(&b, d); err != nil {
			if name == "text" {
				t.Errorf("%s: %v", name, err)
			}
			continue // numbers that JSON does not have
		}
		switch name {
		case "text":
			for line := range strings.Lines(b.String()) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > text.Width && !free(line) {
					t.Errorf("%d columns: %s", n, line)
				}
				if strings.ContainsFunc(strings.TrimRight(line, "\n"), message.Unprintable) {
					t.Errorf("a terminal would obey %q", line)
				}
			}
		case "page":
			sound(t, b.Bytes())
		}
	}
}

// free lines may have any length, because they are to be pasted.
func free(line string) bool {
	return strings.HasPrefix(line, "next: ") || strings.HasPrefix(line, "warning: ") || strings.HasPrefix(line, "unknown: ") ||
		strings.HasPrefix(line, "export ") || strings.HasPrefix(line, "ENV ") || strings.HasPrefix(line, "  value: ")
}

func TestHostileText(t *testing.T) {
	for _, d := range []finding.Document{quick(), full(), rising(), batch(), benchmarks(), searched()} {
		d := poisoned(t, d)
		renderAll(t, d)
		results, _ := readBench(t, d)
		for _, r := range results {
			if name, _, _ := strings.Cut(string(r.Name), "/"); name != "Snug" && name != "Decode" && name != "Encode" {
				t.Errorf("a benchmark named %s", r.Name)
			}
		}
	}
}

// TestOddNumbers: no value of a number makes a renderer fail, hang or draw outside the page.
func TestOddNumbers(t *testing.T) {
	for _, x := range []float64{0, -1, 1e-300, 1e300, -1e300, 5e-324, math.MaxFloat64, math.NaN(), math.Inf(1), math.Inf(-1)} {
		t.Run(fmt.Sprint(x), func(t *testing.T) {
			for _, d := range []finding.Document{quick(), full(), rising(), batch(), benchmarks(), searched()} {
				flood(d, x)
				renderAll(t, d)
			}
		})
	}
}

// TestHoles: a document that lacks any part still renders.
func TestHoles(t *testing.T) {
	d := quick()
	d.Cells = append(d.Cells, finding.Cell{})
	d.Cells[0].Stall = &finding.Stall{}
	d.Cells[1].Latency = &finding.Histogram{Seconds: []float64{1}}
	d.Comparisons = append(d.Comparisons, finding.Comparison{Cell: 99, Baseline: -1, Metric: "rps"}, finding.Comparison{Metric: "unheard of", Word: "odd"})
	d.Verdict.Best = ptr(99)
	renderAll(t, d)
	s := searched()
	s.Front, s.Stages[1].Kept = []int{-1, 99, 3, 3}, []int{-7, 99}
	s.Space[0].Values = nil
	s.Confirm.Comparisons[0].Cell = 5
	s.Verdict.Best = ptr(-3)
	renderAll(t, s)
	renderAll(t, &finding.Tune{Confirm: &finding.Confirm{}, Environment: &finding.Environment{}, Cells: make([]finding.Cell, 3), Front: []int{0}})
	renderAll(t, &finding.Bench{Cells: make([]finding.Cell, 30)})
}

// FuzzDocument: everything that decodes renders.
func FuzzDocument(f *testing.F) {
	b, s := quick(), searched()
	for i := range b.Cells {
		b.Cells[i].Rounds = b.Cells[i].Rounds[:1]
	}
	s.Cells = s.Cells[:2]
	for _, c := range []*finding.Cell{&s.Baseline, &s.Confirm.Winner, &s.Confirm.Default, &s.Cells[0], &s.Cells[1]} {
		c.Rounds, c.Latency = nil, &finding.Histogram{Seconds: []float64{.001, .002, .003}, Counts: []int64{500, 300, 200}}
	}
	for _, d := range []finding.Document{b, s} { // small, so that many are tried
		data, err := finding.Encode(d)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"snug":"v1","kind":"bench","cells":[{"load":" users","stall":{"gaps":[[0,0]],"period_seconds":1e-300,"span_seconds":1e300}}]}`))
	f.Add([]byte(`{"snug":"v1","kind":"tune","cells":[{},{}],"front":[0,1],"stages":[{"kept":[5]}],"space":[{"knob":"<b>"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := finding.Decode(data)
		if err != nil {
			return
		}
		switch d.(type) {
		case *finding.Bench, *finding.Tune:
			renderAll(t, d)
		}
	})
}
