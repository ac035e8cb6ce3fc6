// SPDX-License-Identifier: Apache-2.0

package govet

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// object is what a vet tool prints of a package in which it has found something.
func object(id, posn, edited string) string {
	return fmt.Sprintf("{\n\t%q: {\n\t\t\"a\": [\n\t\t\t{\n\t\t\t\t\"category\": %q,\n\t\t\t\t\"posn\": %q,\n\t\t\t\t\"message\": \"m\",\n"+
		"\t\t\t\t\"suggested_fixes\": [{\"message\": \"f\", \"edits\": [{\"filename\": %q, \"start\": 1, \"end\": 2, \"new\": \"n\"}]}]\n"+
		"\t\t\t}\n\t\t]\n\t}\n}\n", "example.com/m", id, posn, edited)
}

// TestRead: what vet tools find and what the go command says come as one text.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain, c := at("a.go", "package a\n"), at("c.go", "package a\n\nimport \"C\"\n")
	old, silenced := at("old.mod", "module a\n\n\ngo 1.24\n"), at("go.mod", "module a\n\n//snug:ignore go-line-old why\ngo 1.24\n")
	for _, c := range []struct {
		name, out, found, said string
		broken                 bool
	}{
		{"nothing", "{}\n{}\n", "", "", false},
		{"of Go 1.25 and older", "# m\n" + object("x", plain+":3:4", plain) + "# n\n{}\n", "a.go:3:4 x f 1", "# m\n# n\n", false},
		{"an error between", object("y", plain+":9:1", plain) + "# m\n./a.go:1:2: undefined: b\n" + object("x", plain+":3:4", plain),
			"a.go:3:4 x f 1, a.go:9:1 y f 1", "# m\n./a.go:1:2: undefined: b\n", false},
		{"twice", object("x", plain+":3:4", plain) + object("x", plain+":3:4", plain), "a.go:3:4 x f 1", "", false},
		{"a file of cgo", object("x", c+":3:4", c), "c.go:3:4 x f 0", "", false},
		{"lines of Windows", strings.ReplaceAll(object("x", plain+":3:4", plain), "\n", "\r\n"), "a.go:3:4 x f 1", "", false},
		{"a go line that has moved", object("go-line-old", old+":3:1", plain), "old.mod:4:1 go-line-old f 1", "", false},
		{"a go line that is silenced since", object("go-line-old", silenced+":3:1", plain), "", "", false},
		{"an analyzer that fails", "{\n\t\"m\": {\n\t\t\"a\": {\n\t\t\t\"error\": \"why\"\n\t\t}\n\t}\n}\n", "", "", true},
		{"no object", "{\nx\n}\n", "", "", true},
	} {
		found, said, broken := read([]byte(c.out))
		var all []string
		for _, f := range found {
			all = append(all, fmt.Sprintf("%s:%d:%d %s %s %d", filepath.Base(f.File), f.Line, f.Column, f.ID, f.Fix, len(f.Edits)))
		}
		if got := strings.Join(all, ", "); got != c.found || said != c.said || (broken != nil) != c.broken {
			t.Errorf("%s: %s\n%q, %v", c.name, got, said, broken)
		}
	}
}

// TestFirstLine: what is said first may not be what is wrong.
func TestFirstLine(t *testing.T) {
	for said, want := range map[string]string{
		"": "",
		"go: downloading x v1\n# m\n./a.go:5:12: undefined: b\n":          "./a.go:5:12: undefined: b",
		"go: warning: \"./a...\" matched no packages\nno packages to vet": "no packages to vet",
		"go: errors parsing go.mod:\n/a/go.mod:3: unknown directive: x\n": "errors parsing go.mod: /a/go.mod:3: unknown directive: x",
	} {
		if got := firstLine(said); got != want {
			t.Errorf("%q: %q", said, got)
		}
	}
}
