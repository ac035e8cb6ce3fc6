// SPDX-License-Identifier: Apache-2.0

package browser

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/internal/gate"
)

// rules is the expression that checks a page.
//
//go:embed rules.js
var rules string

// wrong breaks every rule once.
const wrong = `<!DOCTYPE html>
<meta name="viewport" content="width=device-width">
<style>body { background: #fff }</style>
<h1>one</h1><h1>two</h1><h4>too deep</h4>
<p style="font-size: 9px">small</p>
<p style="color: #aaa">faint</p>
<div style="width: 2000px; height: 5px"></div>
<svg viewBox="0 0 300 100" width="300"><text x="280" y="50">leaves its drawing</text><text x="10" y="50">first</text><text x="12" y="52">second</text></svg>
<svg viewBox="0 0 9 9" width="9" height="9" aria-label="dot"><title>dot</title></svg>
<div style="overflow-x: auto"><table><tr><td style="min-width: 2000px">cell</table></div>
<script>console.log("hello"); fetch("data:text/plain,x"); setTimeout(() => { throw new Error("thrown") });</script>
<footer>end</footer>`

// TestRules: each rule finds its violation.
func TestRules(t *testing.T) {
	gate.Need(t, "browser")
	file := filepath.Join(t.TempDir(), "wrong.html")
	if err := os.WriteFile(file, []byte(wrong), 0o644); err != nil {
		t.Fatal(err)
	}
	p := load(t, open(t), file, screens[2])
	found := strings.Join(ask[[]string](t, p, rules), "\n")
	for _, want := range []string{
		"scrolls sideways", "there is a script", "no language", "no title", "not one h1", "follows a heading", "a drawing without a name",
		"svg \"dot\" is 9 by 9", "leaves its drawing", "lie over each other", "px high", "contrast of", "is cut off",
	} {
		if !strings.Contains(found, want) {
			t.Errorf("not found: %s; found:\n%s", want, found)
		}
	}
	dark := strings.Join(ask[[]string](t, load(t, open(t), file, screens[1]), rules), "\n")
	if !strings.Contains(dark, "in the dark") {
		t.Errorf("white paper on a dark screen is not found:\n%s", dark)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	said := strings.Join(p.trouble, "\n")
	if !strings.Contains(said, "console: log") || !strings.Contains(said, "exception: ") {
		t.Errorf("the browser reports %q", said)
	}
	if len(p.requests) < 2 {
		t.Errorf("requests: %q", p.requests)
	}
}
