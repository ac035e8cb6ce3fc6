// SPDX-License-Identifier: Apache-2.0

package vet_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/vet"
)

// wants are the comments of testdata that say what is to be found.
var wants = regexp.MustCompile("// want.*")

// TestConcerns: no package in which something is to be found passes for one in which there
// is nothing.
func TestConcerns(t *testing.T) {
	expects, concerns := map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir("testdata", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		dir := filepath.Dir(path)
		expects[dir] = expects[dir] || wants.Match(text)
		concerns[dir] = concerns[dir] || vet.Concerns(wants.ReplaceAll(text, nil))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, found := range expects {
		if found && !concerns[dir] {
			t.Errorf("%s: nothing to be found, by its text", dir)
		}
	}
	if len(expects) < 20 {
		t.Errorf("only %d packages", len(expects))
	}
}

func TestConcernsText(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"nothing", "package a\n\nfunc a() { println(1) }", false},
		{"a knob in a text", `const help = "set GOGC=off"`, true},
		{"another variable", `os.Setenv("HOME", "x")`, false},
		{"a variable by a name", `os.Setenv(name, "x")`, true},
		{"a variable by a name, after another", "os.Setenv(`A`, b)\nos.Setenv(\n\tname, b)", true},
		{"a small slice", "b = make([]byte, 4096)", false},
		{"a small slice, worked out", "b = make([]byte, 0, 32*1024)", false},
		{"a large slice", "var b = make([]byte, 1<<30)", true},
		{"a large slice with a capacity", "b = make([]byte, 0, 1<<30)", true},
		{"a slice of a size with a name", "b = make([]uint8, size)", true},
		{"a slice as long as another", "b = make([]byte, len(a))", false},
		{"a slice of another type", "b = make([]int, 1<<30)", false},
		{"a large slice of one function", "b := make([]byte, 1<<30)", false},
		{"a large slice that is kept", "b := make([]byte, 1<<30)\nruntime.KeepAlive(b)", true},
		{"the second of two", "a, b = 1, make([]byte, 1<<30)", true},
		{"without an end", "b = make([]byte, (1<<30", false},
		{"a number without an end", "b = make([]byte, " + strings.Repeat("9", 1<<16) + ")", false},
	} {
		if got := vet.Concerns([]byte(c.text)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// FuzzConcerns: what comes before or behind hides nothing.
func FuzzConcerns(f *testing.F) {
	f.Add([]byte("b = make([]byte, 1<<30)\nos.Setenv(x, y)"))
	f.Add([]byte("make([]byte,((("))
	f.Fuzz(func(t *testing.T, text []byte) {
		if vet.Concerns(text) && !vet.Concerns(bytes.Join([][]byte{[]byte("x = make([]byte, 1)"), text, []byte("x")}, []byte("\n"))) {
			t.Errorf("%q", text)
		}
	})
}
