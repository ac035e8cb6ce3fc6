// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/snug-go/snug/cmd/snug/internal/source/envfiles"
	"github.com/snug-go/snug/cmd/snug/internal/source/govet"
	"github.com/snug-go/snug/cmd/snug/vet"
)

// planted is a small program with one mistake, or with none.
type planted struct {
	name   string
	mod    string   // the go line and godebug lines of its module; "" = go 1.26
	tests  bool     // its test files are checked
	want   []string // FILE:LINE ID; of go.mod without the line
	missed []string // of mistakes that are known not to be found
}

// module names the module that has the case: those of one go line share it, and are loaded at once.
func (p *planted) module() string { return fmt.Sprint(p.mod, p.tests) }

// readPlanted extracts testdata/planted of package vet below a directory for each module: a folder for
// each case, whose file want says in the first line why, and then what is found.
func readPlanted(t *testing.T, root string) (all []*planted, dirs map[string]string) {
	t.Helper()
	files, _ := filepath.Glob("../../../vet/testdata/planted/*.txtar")
	dirs = map[string]string{}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		cases := map[string]*planted{}
		for _, f := range archive.Files {
			name, base, _ := strings.Cut(f.Name, "/")
			c := cases[name]
			if c == nil {
				c = &planted{name: name, mod: "go 1.26\n"}
				cases[name] = c
				all = append(all, c)
			}
			switch base {
			case "mod":
				c.mod = string(f.Data)
			case "tests":
				c.tests = true
			case "want":
				for line := range strings.Lines(string(f.Data)) {
					line = strings.TrimSpace(line)
					if known, ok := strings.CutPrefix(line, "missed "); ok {
						c.missed = append(c.missed, known)
					} else if !strings.HasPrefix(line, "#") {
						c.want = append(c.want, line)
					}
				}
			}
		}
		for _, f := range archive.Files {
			name, base, _ := strings.Cut(f.Name, "/")
			c := cases[name]
			if base == "mod" || base == "tests" || base == "want" {
				continue
			}
			dir := dirs[c.module()]
			if dir == "" {
				dir = filepath.Join(root, fmt.Sprint("m", len(dirs)))
				dirs[c.module()] = dir
				write(t, filepath.Join(dir, "go.mod"), "module example.com/planted\n\n"+c.mod)
			}
			write(t, filepath.Join(dir, name, filepath.FromSlash(base)), string(f.Data))
		}
	}
	return all, dirs
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// foundIn returns the findings in a module, by case: FILE:LINE ID.
func foundIn(t *testing.T, dir string, tests bool) (all map[string][]string, source []govet.Found) {
	t.Helper()
	r, err := govet.Run(t.Context(), dir, []string{"./..."}, govet.Build{Tests: tests})
	if err != nil {
		t.Fatal(err)
	}
	all = map[string][]string{}
	add := func(file string, line int, id string) {
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			t.Fatal(err)
		}
		name, base, of := strings.Cut(filepath.ToSlash(rel), "/")
		if !of {
			name, base = "", "go.mod"
		}
		all[name] = append(all[name], fmt.Sprintf("%s:%d %s", base, line, id))
	}
	for _, f := range r.Found {
		add(f.File, f.Line, f.ID)
	}
	beside, _ := envfiles.Scan(t.Context(), dir, true)
	for _, f := range beside {
		add(f.File, f.Line, f.ID)
	}
	return all, r.Found
}

// TestPlanted counts what is found of mistakes that are planted, and what is found where there are
// none. After its fixes nothing is found that was not found before.
func TestPlanted(t *testing.T) {
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-mod=mod")
	all, dirs := readPlanted(t, t.TempDir())
	mistakes, found, clean, quiet := 0, 0, 0, 0
	for module, dir := range dirs {
		tests := strings.HasSuffix(module, "true")
		got, source := foundIn(t, dir, tests)
		for _, c := range all {
			if c.module() != module {
				continue
			}
			want := slices.DeleteFunc(slices.Clone(c.want), func(w string) bool { return w == "go.mod "+vet.GoLineOld })
			if len(want) < len(c.want) && len(got[""]) != 1 {
				t.Errorf("%s: go.mod: %q", c.name, got[""])
			}
			mistakes += len(c.want) + len(c.missed)
			if len(c.want)+len(c.missed) == 0 {
				clean++
			}
			switch here := slices.Sorted(slices.Values(got[c.name])); {
			case !slices.Equal(here, slices.Sorted(slices.Values(want))):
				t.Errorf("%s: found %q, want %q", c.name, here, want)
			case len(c.want)+len(c.missed) == 0:
				quiet++
			default:
				found += len(c.want)
			}
		}
		if err := govet.Fix(source); err != nil {
			t.Fatal(err)
		}
		again, _ := foundIn(t, dir, tests)
		for name := range again {
			if len(again[name]) > len(got[name]) {
				t.Errorf("%s: after the fixes %q, before %q", name, again[name], got[name])
			}
			before := map[string]int{}
			for _, f := range got[name] {
				_, id, _ := strings.Cut(f, " ")
				before[id]++
			}
			for _, f := range again[name] {
				_, id, _ := strings.Cut(f, " ")
				if before[id]--; before[id] < 0 {
					t.Errorf("%s: a fix wrote %s, before it %q", name, f, slices.Collect(maps.Keys(before)))
				}
			}
		}
	}
	t.Logf("%d cases; %d of %d mistakes found; nothing found in %d of %d cases without", len(all), found, mistakes, quiet, clean)
	if len(all) < 40 || mistakes < 20 || clean < 15 {
		t.Errorf("%d cases, %d mistakes, %d without", len(all), mistakes, clean)
	}
}
