// SPDX-License-Identifier: Apache-2.0

package cpuprof

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
)

func page(t *testing.T, p *profile.Profile) string {
	t.Helper()
	var b bytes.Buffer
	if err := FlameHTML(&b, p, "CPU profile of a<b>"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFlameHTML(t *testing.T) {
	got := page(t, stacked(10,
		"example.com/x/y.(*T[example.com/z.U]).work main.main", "example.com/x/y.(*T[example.com/z.U]).work main.main",
		"runtime.mallocgc main.main", "runtime.gcDrain runtime.gcBgMarkWorker"))
	for _, want := range []string{
		"CPU profile of a&lt;b&gt;", "40 ms of CPU time", "4 samples",
		`<title>main.main` + "\n" + `75 %, 30 ms; user</title>`,
		`<title>example.com/x/y.(*T[example.com/z.U]).work` + "\n" + `50 %, 20 ms; itself 50 %; user</title>`,
		`>y.(*T[example.com/z.U]).work</text>`,
		`>alloc: runtime.mallocgc</text>`, `>gc.mark: runtime.gcBgMarkWorker</text>`,
		`<th scope="row" class="text">gc.mark</th>`,
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
	got := page(t, p)
	if strings.Contains(got, "<script>alert") || strings.Contains(got, "<img") || strings.Contains(got, "\x1b") || len(got) > 64<<10 {
		t.Errorf("%d bytes:\n%s", len(got), got[:min(len(got), 1000)])
	}
}

func TestFlameHTMLOfNothing(t *testing.T) {
	if got := page(t, stacked(10)); !strings.Contains(got, "no CPU time") || strings.Contains(got, "<script>") {
		t.Error(got)
	}
	if err := FlameHTML(&bytes.Buffer{}, &profile.Profile{}, "x"); !errors.Is(err, ErrNotCPU) {
		t.Error(err)
	}
}

// TestFlameIsBounded: whatever the profile, so many frames, each inside the one
// above it.
func TestFlameIsBounded(t *testing.T) {
	wide := make([]string, 0, 20000)
	for i := range 20000 {
		wide = append(wide, fmt.Sprintf("main.f%d main.g%d main.main", i, i%1500))
	}
	deep := strings.TrimSpace(strings.Repeat("main.again ", 5000))
	for name, p := range map[string]*profile.Profile{"wide": stacked(1, wide...), "deep": stacked(1, deep), "both": stacked(1, append(wide, deep)...)} {
		value, err := cpuValues(p)
		if err != nil {
			t.Fatal(err)
		}
		tree := newTree(p, value)
		frames := tree.frames()
		if len(frames) < 2 || len(frames) > maxFrames {
			t.Errorf("%s: %d frames", name, len(frames))
		}
		self := 0.0
		var above [maxDepth + 2]frame
		for _, f := range frames {
			if f.depth > 0 {
				if a := above[f.depth-1]; f.start < a.start-1e-9 || f.start+f.size > a.start+a.size+1e-9 {
					t.Fatalf("%s: %+v is not within %+v", name, f, a)
				}
			}
			above[f.depth] = f
			self += f.self
		}
		if self > 1+1e-6 {
			t.Errorf("%s: frames themselves are %v of all", name, self)
		}
		if n := len(page(t, p)); n > 3<<20 {
			t.Errorf("%s: %d bytes", name, n)
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
	if got := shortName("example.com/a/b.F[example.com/c/d.T]"); got != "b.F[example.com/c/d.T]" {
		t.Error(got)
	}
}
