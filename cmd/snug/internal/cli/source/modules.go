// SPDX-License-Identifier: Apache-2.0

package source

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/linter"
)

// loading is a request to the go command: packages, from a directory.
type loading struct{ dir, pattern string }

// noModule is the pattern for Go files that no go.mod is above: the go command cannot load them.
const noModule = ""

// maxEntries bounds how many files and directories are looked at for Go source.
const maxEntries = 500_000

// goFile reports whether a file belongs to the source of a program.
func goFile(path string) bool {
	return strings.HasSuffix(path, ".go") || filepath.Base(path) == "go.mod"
}

// loadings returns the Go packages below paths: those of every module, and those of a directory
// inside a module. It follows the rules of the go command for "...": directories that are hidden,
// vendored or test data have none.
func loadings(paths []string) (all []loading) {
	add := func(l loading) {
		if !slices.Contains(all, l) {
			all = append(all, l)
		}
	}
	for _, path := range paths {
		path = filepath.Clean(path)
		info, err := os.Stat(path)
		switch {
		case err != nil || slices.ContainsFunc(paths, func(other string) bool { return inside(path, other) }):
		case !info.IsDir():
			switch {
			case filepath.Base(path) == "go.mod":
				add(loading{filepath.Dir(path), "./..."})
			case goFile(path):
				add(loading{filepath.Dir(path), "."})
			}
		default:
			for _, l := range below(path) {
				add(l)
			}
		}
	}
	return all
}

// inside reports whether a path is below a directory.
func inside(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	info, bad := os.Stat(dir)
	return err == nil && bad == nil && info.IsDir() && rel != "." && filepath.IsLocal(rel)
}

// below returns the loadings for a directory.
func below(dir string) (all []loading) {
	source, entries := false, 0 // source: Go files that belong to a module above dir
	var nested []string
	_ = filepath.WalkDir(linter.Followed(dir), func(path string, d fs.DirEntry, err error) error {
		if entries++; err != nil || entries > maxEntries {
			return nil // the walk for manifests reports it
		}
		name, top := d.Name(), filepath.Clean(path) == dir
		if d.IsDir() {
			if !top && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "vendor" || name == "testdata" ||
				name == "node_modules") {
				return fs.SkipDir
			}
			if regular(filepath.Join(path, "go.mod")) {
				all = append(all, loading{filepath.Clean(path), "./..."})
				nested = append(nested, filepath.Clean(path))
			}
			return nil
		}
		source = source || strings.HasSuffix(name, ".go") &&
			!slices.ContainsFunc(nested, func(m string) bool { return inside(path, m) })
		return nil
	})
	switch {
	case source && inModule(dir):
		all = append([]loading{{dir, "./..."}}, all...)
	case source:
		all = append(all, loading{dir, noModule})
	}
	return all
}

// inModule reports whether a directory above dir has a go.mod.
func inModule(dir string) bool {
	dir, err := filepath.Abs(dir)
	for err == nil && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
		if regular(filepath.Join(dir, "go.mod")) {
			return true
		}
	}
	return false
}

func regular(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
