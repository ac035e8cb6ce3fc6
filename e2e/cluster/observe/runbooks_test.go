// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/programs"
)

// page is a runbook.
type page struct{ name, text string }

func pages(t *testing.T) []page {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(runbooks, "*.md"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d pages, %v", len(files), err)
	}
	var all []page
	for _, file := range files {
		all = append(all, page{filepath.Base(file), read(t, file)})
	}
	return all
}

var fence = regexp.MustCompile("(?ms)^ *```([a-z]+)\n(.*?)^ *```$")

// blocks returns the lines of all blocks in a language.
func (p page) blocks(language string) []string {
	var lines []string
	for _, m := range fence.FindAllStringSubmatch(p.text, -1) {
		if m[1] != language {
			continue
		}
		for line := range strings.Lines(m[2]) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// TestPages: each page is short and has its parts, and its links exist.
func TestPages(t *testing.T) {
	names := []string{}
	for _, p := range pages(t) {
		names = append(names, p.name)
	}
	for _, p := range pages(t) {
		t.Run(p.name, func(t *testing.T) {
			for _, m := range regexp.MustCompile(`\]\(([A-Za-z]+\.md)[#)]`).FindAllStringSubmatch(p.text, -1) {
				if !slices.Contains(names, m[1]) {
					t.Errorf("no page %s", m[1])
				}
			}
			if p.name == "README.md" {
				return
			}
			if !strings.HasPrefix(p.text, "# "+strings.TrimSuffix(p.name, ".md")+"\n\n**") {
				t.Error("it does not begin with its name and its meaning")
			}
			at := 0
			for _, part := range []string{"## Confirm", "## Fix", "## Ignore when"} {
				i := strings.Index(p.text, "\n"+part+"\n")
				if i < at {
					t.Errorf("%q is missing, or not in its place", part)
				}
				at = i
			}
			if n := strings.Count(p.text, "\n"); n > 60 {
				t.Errorf("%d lines, want at most 60", n)
			}
			if len(p.blocks("promql")) == 0 {
				t.Error("no query")
			}
		})
	}
}

// TestCommands: the snug commands of the pages exist, with their flags, and so do the ids for
// snug explain.
func TestCommands(t *testing.T) {
	gate.Need(t, "prometheus")
	exe := filepath.Join(t.TempDir(), "snug")
	if err := programs.BuildTool(programs.Root(t), exe); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, p := range pages(t) {
		for _, m := range regexp.MustCompile("(?m)(?:`|^ *\\$ |\\| )snug ([a-z]+)([^`|\n]*)").FindAllStringSubmatch(p.text, -1) {
			found++
			args := []string{m[1], "--help"}
			if id := strings.Fields(m[2]); m[1] == "explain" && len(id) == 1 && id[0] != "ID" {
				args = []string{"explain", id[0]}
			}
			out, err := exec.Command(exe, args...).CombinedOutput()
			if err != nil {
				t.Errorf("%s: snug %s: %v\n%s", p.name, strings.Join(args, " "), err, out)
			}
			for _, flag := range regexp.MustCompile(`--[a-z-]+`).FindAllString(m[2], -1) {
				if !strings.Contains(string(out), flag+" ") {
					t.Errorf("%s: snug %s has no %s", p.name, m[1], flag)
				}
			}
		}
	}
	if found < 5 {
		t.Errorf("%d commands", found)
	}
}
