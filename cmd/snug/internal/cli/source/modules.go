// SPDX-License-Identifier: Apache-2.0

package source

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// loading is what the go command is asked for: packages, from a directory.
type loading struct{ dir, pattern string }

// maxEntries bounds how many files and directories are looked at for Go source.
const maxEntries = 500_000

// loadings returns the Go packages below paths: those of every module, and those of a directory
// inside a module. It follows the rules of the go command for "...": directories that are hidden,
// vendored or test data have none.
func loadings(paths []string) (all []loading) {
	seen := map[loading]bool{}
	add := func(l loading) {
		if !seen[l] {
			seen[l] = true
			all = append(all, l)
		}
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
		case !info.IsDir():
			if strings.HasSuffix(path, ".go") || filepath.Base(path) == "go.mod" {
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

// below returns the loadings for a directory.
func below(dir string) (all []loading) {
	source, entries := false, 0 // source: Go files that belong to a module above dir
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if entries++; err != nil || entries > maxEntries {
			return nil // the walk for manifests reports it
		}
		name := d.Name()
		if d.IsDir() {
			if path != dir && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "vendor" || name == "testdata" || name == "node_modules") {
				return fs.SkipDir
			}
			if regular(filepath.Join(path, "go.mod")) {
				all = append(all, loading{path, "./..."})
			}
			return nil
		}
		source = source || strings.HasSuffix(name, ".go") && len(all) == 0
		return nil
	})
	if source && inModule(dir) {
		all = append([]loading{{dir, "./..."}}, all...)
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
