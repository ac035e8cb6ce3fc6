// SPDX-License-Identifier: Apache-2.0

package linter

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

var plant = regexp.MustCompile(`# (want|unknown|missed)\b ?(.*)$`)

// TestPlanted counts what is found of faults that are planted in manifests. A warning or an error that was not planted is
// wrong. Experiment lint-recall publishes the figures. After --fix nothing is said of what it mended.
func TestPlanted(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/planted/planted.txtar")
	if err != nil {
		t.Fatal(err)
	}
	faults, found, unknown, clean, quiet := 0, 0, 0, 0, 0
	for _, file := range archive.Files {
		path := filepath.Join(t.TempDir(), file.Name)
		if err := os.WriteFile(path, file.Data, 0o644); err != nil {
			t.Fatal(err)
		}
		var want []string
		planted, missed := 0, 0
		n := 0
		for line := range strings.Lines(string(file.Data)) {
			n++
			m := plant.FindStringSubmatch(strings.TrimSpace(line))
			if m == nil {
				continue
			}
			planted++
			switch m[1] {
			case "missed":
				missed++
			case "unknown":
				unknown++
				want = append(want, fmt.Sprintf("%d unknown", n))
			default:
				for id := range strings.SplitSeq(m[2], ", ") {
					want = append(want, fmt.Sprintf("%d %s", n, id))
				}
			}
		}
		faults += planted
		before := lintOne(t, path, false)
		got := said(before, path, want)
		slices.Sort(want)
		if ok := slices.Equal(got, want); !ok {
			t.Errorf("%s: %q, want %q", file.Name, got, want)
		} else if planted == 0 {
			clean, quiet = clean+1, quiet+1
		} else {
			found += planted - missed
		}
		mended := lintOne(t, path, true)
		for _, f := range lintOne(t, path, false).Findings {
			if f.Severity == finding.SeverityInfo {
				continue
			}
			if slices.ContainsFunc(mended.Findings, func(m finding.LintMistake) bool { return m.Fixed && m.Line == f.Line }) &&
				!slices.ContainsFunc(before.Findings, func(b finding.LintMistake) bool { return b.ID == f.ID && b.Line == f.Line }) {
				t.Errorf("%s:%d: a fix caused %s: %s", file.Name, f.Line, f.ID, f.Message)
			}
		}
	}
	t.Logf("%d cases; %d of %d faults found, %d of them as unknown; nothing wrong in %d of %d cases without", len(archive.Files), found, faults, unknown, quiet, clean)
	if faults < 80 || found*100 < faults*95 || clean < 10 {
		t.Errorf("%d faults, %d found, %d cases without", faults, found, clean)
	}
}

func lintOne(t *testing.T, path string, mend bool) *finding.Lint {
	t.Helper()
	var notes bytes.Buffer
	l := New(Options{Mend: mend, Note: func(format string, args ...any) { fmt.Fprintf(&notes, format, args...) }})
	if err := l.Gather([]string{path}); err != nil {
		t.Fatal(err)
	}
	l.Check()
	return l.Document()
}

// said returns what a run says: LINE ID, or LINE unknown. Of findings for information only those in want count.
func said(d *finding.Lint, path string, want []string) []string {
	var all []string
	for _, f := range d.Findings {
		if s := fmt.Sprintf("%d %s", f.Line, f.ID); f.Severity != finding.SeverityInfo || slices.Contains(want, s) {
			all = append(all, s)
		}
	}
	for _, g := range d.Unknown {
		all = append(all, strings.TrimPrefix(g.File, path+":")+" unknown")
	}
	slices.Sort(all)
	return slices.Compact(all)
}
