// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"encoding/json"
	"html"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/chromedp/chromedp"

	"github.com/snug-go/snug/e2e/internal/gate"
)

const (
	root       = "../../.."
	repository = "https://github.com/snug-go/snug/"
)

// TestSite builds the site from its lock file and checks it as a reader would: links and anchors,
// that it says what snug explain says, how it looks on every screen, and its search.
func TestSite(t *testing.T) {
	gate.Need(t, "site")
	dir := filepath.Join(t.TempDir(), "site")
	for _, line := range [][]string{{"npm", "ci"}, {"npm", "run", "build", "--", "--outDir", dir}} {
		cmd := exec.Command(line[0], line[1:]...)
		cmd.Dir = filepath.Join(root, "site")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s in site/: %v\n%s", strings.Join(line, " "), err, out)
		}
	}
	pages := pagesOf(t, dir)
	if len(pages) < 40 {
		t.Fatalf("%d pages", len(pages))
	}
	t.Run("links", func(t *testing.T) { siteLinks(t, dir, pages) })
	t.Run("explain", func(t *testing.T) { siteExplains(t, pages) })

	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	chromium := open(t)
	for _, page := range []string{"index", "docs/config", "docs/bench", "docs/json", "docs/rollout", "docs/experiments", "docs/runbooks/GoOOMSoon", "explain/index", "explain/processes", "explain/limits"} {
		for _, s := range siteScreens {
			t.Run(page+"/"+s.name, func(t *testing.T) {
				p := visit(t, chromium, server.URL+"/"+page+".html", ".vp-doc h1", s)
				for _, complaint := range ask[[]string](t, p, siteRules) {
					t.Error(complaint)
				}
				shot(t, p, "site-"+strings.ReplaceAll(page, "/", "-")+"-"+s.name)
				p.stays(t, server.URL)
			})
		}
	}
	for _, s := range siteScreens {
		t.Run("search/"+s.name, func(t *testing.T) {
			p := visit(t, chromium, server.URL+"/", ".vp-doc h1", s)
			const result = ".VPLocalSearchBox .result"
			if err := chromedp.Do(p, chromedp.Click(chromedp.CSS("#local-search button")), chromedp.WaitReady(chromedp.CSS("#localsearch-input")),
				chromedp.SendKeys(chromedp.CSS("#localsearch-input"), "throttled"), chromedp.WaitReady(chromedp.CSS(result))); err != nil {
				t.Fatal(err)
			}
			shot(t, p, "site-search-"+s.name)
			found := ask[[]string](t, p, `[...document.querySelectorAll("`+result+`")].map(a => a.getAttribute("href"))`)
			if !strings.Contains(strings.Join(found, " "), "/explain/limits.html#throttled") {
				t.Errorf("the search for throttled finds %q, not its explanation", found)
			}
			p.stays(t, server.URL)
		})
	}
}

var siteScreens = []screen{
	{"wide", 1280, 1, "light", ""},
	{"wide-dark", 1280, 1, "dark", ""},
	{"narrow", 400, 2, "light", ""},
	{"narrow-dark", 400, 2, "dark", ""},
}

// siteRules is what holds for every page of the site on every screen; the answer is a list of
// complaints.
const siteRules = `(() => {
  const bad = [];
  const root = document.scrollingElement;
  if (root.scrollWidth > innerWidth) bad.push("the page scrolls sideways: " + root.scrollWidth + " > " + innerWidth);
  if (document.querySelectorAll("h1").length !== 1) bad.push("not one h1");
  for (const i of document.images) if (!i.naturalWidth || !i.alt) bad.push("a picture is missing or has no text: " + i.src);
  const light = c => { const [r, g, b] = c.match(/[\d.]+/g).slice(0, 3).map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b; };
  const below = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor, n = c.match(/[\d.]+/g); if ((n[3] ?? 1) > 0.5) return c; } return "rgb(255,255,255)"; };
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  if (dark !== light(below(document.body)) < .2) bad.push("paper of " + below(document.body) + " on a " + (dark ? "dark" : "light") + " screen");
  const seen = new Set();
  const walk = document.createTreeWalker(document.querySelector(".vp-doc"), NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement, b = e.getBoundingClientRect(), style = getComputedStyle(e);
    if (!walk.currentNode.data.trim() || seen.has(e) || !b.width || e.closest("svg, .header-anchor, button, .lang")) continue;
    seen.add(e);
    const x = light(style.color), y = light(below(e)), contrast = (Math.max(x, y) + .05) / (Math.min(x, y) + .05);
    if (contrast < 4.5) bad.push("\"" + e.textContent.trim().slice(0, 40) + "\" has a contrast of " + contrast.toFixed(1));
    if (parseFloat(style.fontSize) < 11) bad.push("\"" + e.textContent.trim().slice(0, 40) + "\" is " + style.fontSize + " high");
  }
  return bad;
})()`

// stays checks that all requests went to the site and that the browser logged nothing.
func (p *tab) stays(t *testing.T, site string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.requests {
		if !strings.HasPrefix(r, site+"/") && !strings.HasPrefix(r, "data:") {
			t.Errorf("a request leaves the site: %s", r)
		}
	}
	for _, m := range p.trouble {
		t.Errorf("the browser reports: %s", m)
	}
}

// pagesOf returns the HTML of each page by its path.
func pagesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	pages := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, _ fs.DirEntry, err error) error {
		if err == nil && path.Ext(name) == ".html" {
			text, err := os.ReadFile(filepath.Join(dir, name))
			pages[name] = string(text)
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// attribute returns a pattern for the values of an attribute.
func attribute(name string) *regexp.Regexp { return regexp.MustCompile(`\s` + name + `="([^"]*)"`) }

// siteLinks checks that every link and source leads to a file of the site and an anchor in it, or,
// for the repository's address, to a file of this tree.
func siteLinks(t *testing.T, dir string, pages map[string]string) {
	anchors := map[string]bool{}
	for name, text := range pages {
		for _, m := range attribute("id").FindAllStringSubmatch(text, -1) {
			anchors[name+"#"+html.UnescapeString(m[1])] = true
		}
	}
	checked := 0
	for name, text := range pages {
		if name == "404.html" {
			continue
		}
		if strings.Contains(text, "&lt;!--") {
			t.Errorf("%s shows a comment of its source", name)
		}
		base := &url.URL{Path: "/" + name}
		for _, m := range regexp.MustCompile(`\s(?:href|src)="([^"]*)"`).FindAllStringSubmatch(text, -1) {
			to, err := base.Parse(html.UnescapeString(m[1]))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if in, ok := strings.CutPrefix(to.String(), repository); ok {
				kind, file, _ := strings.Cut(in, "/main/")
				file, anchor, _ := strings.Cut(file, "#")
				info, err := os.Stat(filepath.Join(root, file))
				switch {
				case err != nil || info.IsDir() != (kind == "tree") || kind != "tree" && kind != "blob":
					t.Errorf("%s links %s: no such file here", name, to)
				case anchor != "" && !shownHeading(filepath.Join(root, file), info.IsDir(), anchor):
					t.Errorf("%s links %s: no such heading", name, to)
				}
				checked++
				continue
			}
			if to.Host != "" || to.Scheme != "" {
				continue
			}
			file := strings.TrimPrefix(to.Path, "/")
			if file == "" || strings.HasSuffix(file, "/") {
				file += "index.html"
			}
			if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
				t.Errorf("%s links %s: %v", name, to, err)
			} else if to.Fragment != "" && !anchors[file+"#"+to.Fragment] {
				t.Errorf("%s links %s: no such anchor", name, to)
			}
			checked++
		}
	}
	if checked < 1000 {
		t.Errorf("only %d links", checked)
	}
}

// shownHeading reports whether a page in Markdown, or the README of a folder, has a heading with
// this anchor, as a repository's page makes them.
func shownHeading(file string, folder bool, anchor string) bool {
	if folder {
		file = filepath.Join(file, "README.md")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	drop := regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	for line := range strings.Lines(string(text)) {
		hashes, title, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && strings.Trim(hashes, "#") == "" && strings.ReplaceAll(strings.ToLower(drop.ReplaceAllString(title, "")), " ", "-") == anchor {
			return true
		}
	}
	return false
}

// siteExplains checks that the pages below explain/ have exactly the entries of snug explain, each
// at its id, and that they say the same, letter by letter.
func siteExplains(t *testing.T, pages map[string]string) {
	cmd := exec.Command("go", "run", "./cmd/snug", "explain", "--json")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Entries []struct{ ID, Topic, Title, Text string }
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.Entries) < 200 {
		t.Fatalf("%d entries", len(answer.Entries))
	}
	heading := regexp.MustCompile(`<h2 id="([^"]*)"`)
	sections := 0
	for name, text := range pages {
		if path.Dir(name) == "explain" && name != "explain/index.html" {
			sections += len(heading.FindAllString(text, -1))
		}
	}
	if sections != len(answer.Entries) {
		t.Errorf("%d sections for %d entries", sections, len(answer.Entries))
	}
	for _, e := range answer.Entries {
		page := pages["explain/"+e.Topic+".html"]
		_, section, ok := strings.Cut(page, `<h2 id="`+e.ID+`"`)
		if !ok {
			t.Errorf("%s: no section on the page %s", e.ID, e.Topic)
			continue
		}
		_, section, _ = strings.Cut(section, ">")
		section, _, _ = strings.Cut(section, "<h2 ")
		section, _, _ = strings.Cut(section, "</main>")
		if got, want := plain(tags.ReplaceAllString(section, "")), plain(e.ID+e.Title+e.Text); got != want {
			t.Errorf("%s: the site says\n%s\nand snug explain\n%s", e.ID, got, want)
		}
		if !strings.Contains(pages["explain/index.html"], `#`+e.ID+`"`) {
			t.Errorf("%s is not in the index", e.ID)
		}
	}
}

var tags = regexp.MustCompile(`<span class="lang">\w*</span>|<[^>]*>`)

// plain returns a text without space, and without the marks of code and lists, which the site shows
// by its layout.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || strings.ContainsRune("`-\u200b", r) {
			return -1
		}
		return r
	}, html.UnescapeString(text))
}
