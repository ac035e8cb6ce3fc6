// SPDX-License-Identifier: Apache-2.0

package linter

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLintFixMeanwhile: a change that another process makes between read and write is not lost.
func TestLintFixMeanwhile(t *testing.T) {
	const text = "kind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: a, image: i, env: [{name: GOMEMLIMIT, value: 512Mi}]}]}\n"
	t.Chdir(t.TempDir())
	if err := os.WriteFile("a.yaml", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	l := New(Options{Mend: true, Note: func(format string, args ...any) { fmt.Fprintf(&said, format+"\n", args...) }})
	if err := l.Gather([]string{"."}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("a.yaml", []byte(text+"# and more\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	l.Check()
	got, err := os.ReadFile("a.yaml")
	if err != nil || string(got) != text+"# and more\n" || !strings.Contains(said.String(), "a.yaml: not fixed: it has changed since it was read") {
		t.Errorf("%v, %q, %q", err, got, said.String())
	}
	if d := l.Document(); len(d.Findings) != 1 || d.Findings[0].Fixed || l.Left() == nil {
		t.Errorf("%+v", d.Findings)
	}
	left, err := filepath.Glob(".snug-*")
	if err != nil || len(left) > 0 {
		t.Errorf("%v, left behind: %v", err, left)
	}
}
