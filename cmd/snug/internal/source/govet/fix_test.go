// SPDX-License-Identifier: Apache-2.0

package govet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWithoutGo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Run(t.Context(), "", []string{"."}, Build{})
	if err == nil || err.Error() != "there is no go command, PATH" {
		t.Errorf("%v", err)
	}
}

// TestFixes: two fixes in one file leave an import unused, and a third overlaps one of them.
func TestFixes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.go")
	text := "package a\n\nimport (\n\t\"fmt\"\n\t\"runtime\"\n)\n\nfunc a() {\n\truntime.GC()\n\truntime.Gosched()\n\tfmt.Println()\n}\n"
	if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	cut := func(s string) Found {
		at := strings.Index(text, s)
		return Found{Edits: []Edit{{Filename: file, Start: at, End: at + len(s)}}}
	}
	found := []Found{cut("\truntime.GC()\n"), cut("\truntime.Gosched()\n"), cut("GC()\n\truntime")}
	if err := Fix(found); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := "package a\n\nimport (\n\t\"fmt\"\n)\n\nfunc a() {\n\tfmt.Println()\n}\n"; string(got) != want {
		t.Errorf("%s", got)
	}
	if !found[0].Fixed || !found[1].Fixed || found[2].Fixed {
		t.Errorf("%v %v %v", found[0].Fixed, found[1].Fixed, found[2].Fixed)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestFixWhole: if one file cannot be fixed, none is written.
func TestFixWhole(t *testing.T) {
	const text = "package a\n\nvar n = 1\n"
	a, b := filepath.Join(t.TempDir(), "a.go"), filepath.Join(t.TempDir(), "b.go")
	for _, file := range []string{a, b} {
		if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	at := strings.Index(text, "1")
	good := Found{Edits: []Edit{{Filename: a, Start: at, End: at + 1, New: "2"}}}
	bad := Found{Edits: []Edit{{Filename: b, Start: at, End: at + 1, New: "("}}}
	err := Fix([]Found{good, bad})
	if got, _ := os.ReadFile(a); err == nil || !strings.HasSuffix(err.Error(), ", "+b) || string(got) != text {
		t.Errorf("%v\n%s", err, got)
	}
	if err := Fix([]Found{good}); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(a)
	info, err := os.Stat(a)
	if err != nil || string(got) != "package a\n\nvar n = 2\n" || info.Mode().Perm() != 0o640 {
		t.Errorf("%v %v\n%s", err, info.Mode(), got)
	}
}
