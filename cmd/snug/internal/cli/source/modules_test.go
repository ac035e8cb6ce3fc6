// SPDX-License-Identifier: Apache-2.0

package source

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestLoadings: what the go command is asked for. The directory of tests has no go.mod above it.
func TestLoadings(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"loose/a.go": "package a", "mod/go.mod": "module m", "mod/b/b.go": "package b", "mod/vendor/v.go": "package v",
		"mod/in/go.mod": "module in", "mod/in/c.go": "package in", "text/a.txt": "",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mod, in := filepath.Join("mod"), filepath.Join("mod", "in")
	for _, c := range []struct {
		paths []string
		want  []loading
	}{
		{[]string{"text"}, nil},
		{[]string{"loose"}, []loading{{"loose", noModule}}},
		{[]string{"mod"}, []loading{{mod, "./..."}, {in, "./..."}}},
		{[]string{"mod/b/"}, []loading{{filepath.Join("mod", "b"), "./..."}}},
		{[]string{"mod/b", "mod/b/b.go"}, []loading{{filepath.Join("mod", "b"), "./..."}}},
		{[]string{"mod/b/b.go"}, []loading{{filepath.Join("mod", "b"), "."}}},
		{[]string{"mod/in/go.mod"}, []loading{{in, "./..."}}},
		{[]string{"none"}, nil},
	} {
		if got := loadings(c.paths); !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, want %v", c.paths, got, c.want)
		}
	}
}

// TestColumn: a column that is unknown is not 0, which SARIF refuses.
func TestColumn(t *testing.T) {
	for column, want := range map[int]bool{0: false, 1: true} {
		if m := mistake("pool-numcpu", "a.go", 3, &column, "x"); (m.Column != nil) != want {
			t.Errorf("%d: %v", column, m.Column)
		}
	}
}
