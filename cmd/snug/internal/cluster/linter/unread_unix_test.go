// SPDX-License-Identifier: Apache-2.0

//go:build unix

package linter

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// TestUnread: what has the name of something to check and cannot be read is unknown.
func TestUnread(t *testing.T) {
	dir := t.TempDir()
	compose := "services: {a: {image: x, env_file: [folder, none, pipe]}}\n"
	if err := os.WriteFile(filepath.Join(dir, "compose.yaml"), []byte(compose), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"folder": os.Mkdir(filepath.Join(dir, "folder"), 0o700), "pipe": syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
		"b.yaml":   syscall.Mkfifo(filepath.Join(dir, "b.yaml"), 0o600),
		".#c.yaml": os.Symlink("me@host.1", filepath.Join(dir, ".#c.yaml")), "c.yaml": os.Symlink("nowhere", filepath.Join(dir, "c.yaml")), "d.yaml": os.Symlink("d.yaml", filepath.Join(dir, "d.yaml")),
	} {
		if err != nil {
			t.Fatal(name, err)
		}
	}
	l := New(Options{Note: func(string, ...any) {}})
	if err := l.Gather([]string{dir}); err != nil {
		t.Fatal(err)
	}
	l.Check()
	var got []string
	for _, g := range l.Document().Unknown {
		got = append(got, filepath.Base(g.File)+": "+g.Why)
	}
	slices.Sort(got)
	want := []string{
		"b.yaml: not a regular file", "c.yaml: no such file or directory", "d.yaml: too many levels of symbolic links",
		"folder: not a regular file", "pipe: not a regular file",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
