// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// Verdicts on a mutant. One that an importer detects has "killed by" and its directory instead.
const (
	lived  = "lived"
	killed = "killed"
	noEnd  = "no end"
	broken = "does not compile"
)

// tests are what may detect a mutant.
type tests struct {
	packages []string
	only     string // -run
	timeout  time.Duration
}

// run returns the verdict of the tests on an overlay.
func (t tests) run(ctx context.Context, overlay string) string {
	ctx, cancel := context.WithTimeout(ctx, t.timeout+5*time.Minute) // for the build
	defer cancel()
	args := []string{"test", "-failfast", "-vet=off", "-count=1", "-timeout", t.timeout.String(), "-overlay", overlay}
	if t.only != "" {
		args = append(args, "-run", t.only)
	}
	text, err := exec.CommandContext(ctx, "go", slices.Concat(args, t.packages)...).CombinedOutput()
	switch {
	case err == nil:
		return lived
	case ctx.Err() != nil || bytes.Contains(text, []byte("panic: test timed out")):
		return noEnd
	case bytes.Contains(text, []byte("[build failed]")):
		return broken
	}
	return killed
}

// seconds tries survivors by the packages that import theirs, and returns how many are detected. It stops at the
// first importer that detects one.
func seconds(ctx context.Context, o *options, dir, work, none string, survivors []*mutant) (detected int, err error) {
	if len(survivors) == 0 || o.importers == 0 {
		return 0, nil
	}
	all, err := importers(ctx, dir)
	if err != nil {
		return 0, err
	}
	all = quick(ctx, all, o.importers, none)
	for _, m := range survivors {
		overlay, err := m.overlay(filepath.Join(work, "importers"))
		if err != nil {
			return 0, err
		}
		for _, p := range all {
			t := tests{packages: []string{"./" + p.dir}, timeout: max(2*time.Minute, 3*p.took)}
			if verdict := t.run(ctx, overlay); verdict == killed || verdict == noEnd {
				m.verdict = "killed by " + p.dir
				detected++
				break
			}
		}
		fmt.Println("importers:", m)
	}
	return detected, nil
}

// importer is a package that has another one in its tests.
type importer struct {
	dir      string
	distance int // 1 = imports it
	took     time.Duration
}

// importers returns the packages of the workspace whose tests contain the one in dir, the nearest first.
func importers(ctx context.Context, dir string) ([]importer, error) {
	text, err := exec.CommandContext(ctx, "go", "list", "-e", "-json=ImportPath,Dir,Imports,TestImports,XTestImports,TestGoFiles,XTestGoFiles", "work").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	type listed struct {
		ImportPath, Dir                    string
		Imports, TestImports, XTestImports []string
		TestGoFiles, XTestGoFiles          []string
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		all = append(all, p)
	}
	root, err := filepath.Abs(".")
	if err != nil {
		return nil, err
	}
	contained := map[string]bool{} // the package, and what imports it outside of tests
	for _, p := range all {
		contained[p.ImportPath] = p.Dir == filepath.Join(root, dir)
	}
	in := func(path string) bool { return contained[path] }
	var found []importer
	has := map[string]bool{}
	for distance := 1; ; distance++ {
		var next []string
		for _, p := range all {
			direct := slices.ContainsFunc(p.Imports, in)
			if contained[p.ImportPath] || !direct && !slices.ContainsFunc(p.TestImports, in) && !slices.ContainsFunc(p.XTestImports, in) {
				continue
			}
			if rel, err := filepath.Rel(root, p.Dir); err == nil && !has[rel] && len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 {
				has[rel] = true
				found = append(found, importer{dir: rel, distance: distance})
			}
			if direct {
				next = append(next, p.ImportPath)
			}
		}
		if len(next) == 0 {
			return found, nil
		}
		for _, path := range next {
			contained[path] = true
		}
	}
}

// quick returns the n nearest importers whose tests pass without a change, those first that are soon done.
func quick(ctx context.Context, all []importer, n int, none string) []importer {
	var good []importer
	for _, p := range all[:min(len(all), n)] {
		t := tests{packages: []string{"./" + p.dir}, timeout: 15 * time.Minute}
		began := time.Now()
		verdict := t.run(ctx, none)
		if p.took = time.Since(began); verdict == lived {
			good = append(good, p)
			continue
		}
		fmt.Printf("importers: the tests of %s fail without a change (%s), so they are no judge\n", p.dir, verdict)
	}
	slices.SortStableFunc(good, func(a, b importer) int { return cmp.Or(a.distance-b.distance, cmp.Compare(a.took, b.took)) })
	return good
}
