// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/snug-go/snug/e2e/internal/gate"
)

// flameRules complains about a flame graph: its labels must be legible on the colour of their frames,
// a click must zoom, and the search must count.
const flameRules = `(() => {
  const bad = [];
  const root = document.scrollingElement;
  if (root.scrollWidth > innerWidth) bad.push("the page scrolls sideways: " + root.scrollWidth);
  if (document.querySelectorAll("h1").length !== 1) bad.push("not one h1");
  const light = c => { const [r, g, b] = c.match(/[\d.]+/g).map(Number).map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b; };
  const colours = new Set();
  for (const f of document.querySelectorAll("#flame .f")) {
    const text = f.querySelector("text"), fill = getComputedStyle(f.querySelector("rect")).fill;
    colours.add(fill);
    if (!text) continue;
    const a = light(getComputedStyle(text).fill), b = light(fill), contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (contrast < 4.5) bad.push(f.getAttribute("class") + " has a contrast of " + contrast.toFixed(1));
  }
  if (colours.size < 3) bad.push(colours.size + " colours");
  const click = e => e.dispatchEvent(new MouseEvent("click", {bubbles: true}));
  const hidden = () => document.querySelectorAll("#flame .f.off").length;
  click([...document.querySelectorAll("#flame .f")].find(f => f.querySelector("title").textContent.startsWith("main.parse\n")).querySelector("rect"));
  if (!hidden()) bad.push("a click does not zoom");
  if (!document.getElementById("detail").textContent.startsWith("main.parse")) bad.push("no detail");
  click(document.getElementById("reset"));
  if (hidden()) bad.push("it stays zoomed");
  const search = document.getElementById("search");
  search.value = "json";
  search.dispatchEvent(new Event("input"));
  if (!/^[\d.]+ % of the CPU time in \d+ frames$/.test(document.getElementById("found").textContent)) bad.push("found: " + document.getElementById("found").textContent);
  search.value = "";
  search.dispatchEvent(new Event("input"));
  return bad;
})()`

// TestFlamePage checks the flame graph of a profile, and of two that are compared.
func TestFlamePage(t *testing.T) {
	gate.Need(t, "browser")
	exe, chromium, dir := build(t), open(t), t.TempDir()
	const profiles = "../../../cmd/snug/testdata/profiles/"
	for name, of := range map[string][]string{"flame": {profiles + "many.pprof"}, "flames": {profiles + "few.pprof", profiles + "many.pprof"}} {
		page := filepath.Join(dir, name+".html")
		if out, err := exec.Command(exe, append([]string{"profile", "--html", page}, of...)...).CombinedOutput(); err != nil {
			t.Fatalf("snug profile --html: %v\n%s", err, out)
		}
		for _, s := range screens {
			t.Run(name+"/"+s.name, func(t *testing.T) {
				p := load(t, chromium, page, s)
				shot(t, p, name+"-"+s.name)
				for _, complaint := range ask[[]string](t, p, flameRules) {
					t.Error(complaint)
				}
				p.quiet(t, page)
			})
		}
	}
}
