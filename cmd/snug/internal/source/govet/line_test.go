// SPDX-License-Identifier: Apache-2.0

package govet

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestLineDirectives: findings are where the source is, not where it says it comes from;
// except in what cgo makes of source. A comment silences them all the same.
func TestLineDirectives(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")
	const call = "runtime.GOMAXPROCS(runtime.NumCPU())"
	files := map[string]string{
		"go.mod":   "module example.com/m\n\ngo 1.26\n",
		"a/a.go":   "package a\n\nimport \"runtime\"\n\n//line /elsewhere/a.y:700\nfunc A() { " + call + " }\n",
		"ok/ok.go": "package ok\n\nimport \"runtime\"\n\n//line ok.y:90\n//snug:ignore gomaxprocs-numcpu measured\nfunc A() { " + call + " }\n",
	}
	want := []string{"a/a.go:6:12"}
	if _, err := exec.LookPath("gcc"); err == nil && os.Getenv("CGO_ENABLED") != "0" {
		files["c/c.go"] = "package c\n\n// int one() { return 1; }\nimport \"C\"\nimport \"runtime\"\n\nfunc A() { C.one(); " + call + " }\n"
		want = append(want, "c/c.go:7:21")
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Run(t.Context(), "", []string{"./..."}, Build{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range r.Found {
		name, err := filepath.Rel(dir, f.File)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s:%d:%d", filepath.ToSlash(name), f.Line, f.Column))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
