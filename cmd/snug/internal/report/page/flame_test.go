// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/snug-go/snug/cmd/snug/internal/profile/cpuprof"
)

// stacked returns a profile of stacks of functions, innermost first, each with one sample
// of ms milliseconds.
func stacked(ms int64, stacks ...string) *profile.Profile {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     ms * 1e6,
	}
	locations := map[string]*profile.Location{}
	for _, stack := range stacks {
		s := &profile.Sample{Value: []int64{1, ms * 1e6}}
		for _, name := range strings.Fields(stack) {
			l := locations[name]
			if l == nil {
				f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name, SystemName: name}
				l = &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f, Line: 1}}}
				p.Function, p.Location = append(p.Function, f), append(p.Location, l)
				locations[name] = l
			}
			s.Location = append(s.Location, l)
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

func flame(t *testing.T, p *profile.Profile) string {
	t.Helper()
	g, err := cpuprof.GraphOf(p)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Flame(&b, g, "CPU profile of a<b>"); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(b.String(), "\u00a0", " ")
}

func TestFlameHTML(t *testing.T) {
	got := flame(t, stacked(10,
		"example.com/x/y.(*T[example.com/z.U]).work main.main", "example.com/x/y.(*T[example.com/z.U]).work main.main",
		"runtime.mallocgc main.main", "runtime.gcDrain runtime.gcBgMarkWorker"))
	for _, want := range []string{
		"CPU profile of a&lt;b&gt;", "40 ms of CPU time", "4 samples",
		`<title>main.main` + "\n" + `75 %, 30 ms; user</title>`,
		`<title>example.com/x/y.(*T[example.com/z.U]).work` + "\n" + `50 %, 20 ms; itself 50 %; user</title>`,
		`>y.(*T[example.com/z.U]).work</text>`,
		`>alloc: runtime.mallocgc</text>`, `>gc.mark: runtime.gcBgMarkWorker</text>`,
		`<rect class="g" width="14" height="14"/></svg> gc.mark</th>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q", want)
		}
	}
	if m := regexp.MustCompile(`https?://|src=|@import|url\(`).FindAllString(strings.ReplaceAll(got, `"http://www.w3.org/2000/svg"`, ""), -1); m != nil {
		t.Errorf("the page asks for %q", m)
	}
	script := regexp.MustCompile(`(?s)<script>(.*)</script>`).FindStringSubmatch(got)
	if script == nil {
		t.Fatal("no script")
	}
	digest := sha256.Sum256([]byte(script[1]))
	if !strings.Contains(html.UnescapeString(got), "'sha256-"+base64.StdEncoding.EncodeToString(digest[:])+"'") {
		t.Error("the page does not let its own script run")
	}
}

func TestFlameHTMLHostileNames(t *testing.T) {
	p := stacked(10, "main.main")
	p.Function[0].Name = "</title></svg><script>alert(1)</script>\x1b[31m\xff" + strings.Repeat("x", 1<<20)
	p.Comments = []string{"<img src=x>"}
	got := flame(t, p)
	if strings.Contains(got, "<script>alert") || strings.Contains(got, "<img") || strings.Contains(got, "\x1b") || len(got) > 64<<10 {
		t.Errorf("%d bytes:\n%s", len(got), got[:min(len(got), 1000)])
	}
}

func TestFlameHTMLOfNothing(t *testing.T) {
	if got := flame(t, stacked(10)); !strings.Contains(got, "no CPU time") || strings.Contains(got, "<script>") {
		t.Error(got)
	}
	if _, err := cpuprof.GraphOf(&profile.Profile{}); !errors.Is(err, cpuprof.ErrNotCPU) {
		t.Error(err)
	}
}

// TestFlameIsBounded: the page of any profile is at most a few MiB.
func TestFlameIsBounded(t *testing.T) {
	stacks := []string{strings.TrimSpace(strings.Repeat("main.again ", 5000))}
	for i := range 20000 {
		stacks = append(stacks, fmt.Sprintf("main.f%d main.g%d main.main", i, i%1500))
	}
	if n := len(flame(t, stacked(1, stacks...))); n > 3<<20 {
		t.Errorf("%d bytes", n)
	}
}

// TestClassesHaveColours: every class has exactly one.
func TestClassesHaveColours(t *testing.T) {
	colours := map[cpuprof.Class]int{}
	for _, g := range groups {
		for _, c := range g.classes {
			colours[c]++
		}
	}
	for _, c := range cpuprof.Classes() {
		if colours[c] != 1 {
			t.Errorf("%s has %d colours", c, colours[c])
		}
	}
}

func TestFit(t *testing.T) {
	for _, tt := range []struct {
		text  string
		width float64
		want  string
	}{
		{"runtime.mallocgc", 200, "runtime.mallocgc"},
		{"runtime.mallocgc", 80, "mallocgc"},
		{"runtime.mallocgc", 50, "mallo…"},
		{"runtime.mallocgc", 20, ""},
		{"main.ä", 50, "main.ä"},
		{"x", 0, ""},
		{"", 0, ""},
	} {
		if got := fit(tt.text, tt.width); got != tt.want {
			t.Errorf("%q in %v: %q, want %q", tt.text, tt.width, got, tt.want)
		}
	}
}

// TestFewSamples: a function of one sample is not among the largest.
func TestFewSamples(t *testing.T) {
	page := flame(t, stacked(10, "main.hot main.main", "main.hot main.main", "main.hot main.main", "main.rare main.other"))
	if !strings.Contains(page, `stay">main.hot</th>`) || strings.Contains(page, `stay">main.rare</th>`) || !strings.Contains(page, " Left out, with fewer than 3 samples: 1.") {
		t.Error(page)
	}
}
