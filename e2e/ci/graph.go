// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// graph holds the packages of the workspace by directory, relative to the root; "." is the library's.
type graph map[string]*node

// node is a package. Its lists are directories in the graph.
type node struct {
	module  string   // the directory of its go.mod
	imports []string // by the package
	tests   []string // by its tests
}

const modulePath = "github.com/snug-go/snug"

// load reads the packages of go.work with the go command.
func load(ctx context.Context, root string) (graph, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-e", "-json=Dir,ImportPath,Imports,TestImports,XTestImports,Module", "work")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	g := graph{}
	dirOf := func(importPath string) (string, bool) {
		rest, ours := strings.CutPrefix(importPath, modulePath)
		return path.Join(".", rest), ours
	}
	ours := func(lists ...[]string) (dirs []string) {
		for _, name := range slices.Concat(lists...) {
			if dir, ok := dirOf(name); ok && !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
		return dirs
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir, ImportPath                    string
			Imports, TestImports, XTestImports []string
			Module                             struct{ Dir string }
		}
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return g, nil
		case err != nil:
			return nil, err
		}
		dir, err := filepath.Rel(root, p.Dir)
		if err != nil {
			return nil, err
		}
		module, err := filepath.Rel(root, p.Module.Dir)
		if err != nil {
			return nil, err
		}
		g[dir] = &node{module: module, imports: ours(p.Imports), tests: ours(p.TestImports, p.XTestImports)}
	}
}

// named returns the directories that a pattern of the go command stands for, relative to the root: ./x and ./x/...
func (g graph) named(pattern string) (dirs []string) {
	dir := path.Clean(pattern)
	below, all := strings.CutSuffix(dir, "/...")
	for name := range g {
		if name == dir || all && (name == below || strings.HasPrefix(name, below+"/")) {
			dirs = append(dirs, name)
		}
	}
	return dirs
}

// needs is what a stage depends on.
type needs struct {
	g       graph
	tested  map[string]bool // packages whose tests it runs
	used    map[string]bool // these, and all that they and the programs import
	modules map[string]bool
	files   []string
}

// needs derives what a stage depends on.
func (g graph) needs(s stage) (n needs, err error) {
	n = needs{g: g, tested: map[string]bool{}, used: map[string]bool{}, modules: map[string]bool{}, files: s.files}
	var use func(dir string)
	use = func(dir string) {
		p := g[dir]
		if p == nil || n.used[dir] {
			return
		}
		n.used[dir], n.modules[p.module] = true, true
		for _, d := range p.imports {
			use(d)
		}
	}
	for _, pattern := range slices.Concat(s.tests, s.programs) {
		dirs := g.named(pattern)
		if len(dirs) == 0 {
			return n, fmt.Errorf("%s: no package %s", s.name, pattern)
		}
		for _, dir := range dirs {
			use(dir)
			if slices.Contains(s.tests, pattern) {
				n.tested[dir] = true
				for _, d := range g[dir].tests {
					use(d)
				}
			}
		}
	}
	return n, nil
}

// depends returns a function that reports whether a stage depends on a file.
func (g graph) depends(all []stage) (func(stage, string) bool, error) {
	of := map[string]needs{}
	for _, s := range all {
		n, err := g.needs(s)
		if err != nil {
			return nil, err
		}
		of[s.name] = n
	}
	return func(s stage, file string) bool { return of[s.name].has(file) }, nil
}

// has reports whether a stage depends on a file, which is relative to the root.
func (n needs) has(file string) bool {
	dir, name := path.Split(file)
	for _, f := range n.files {
		is, _ := path.Match(f, name) // of any folder
		if is && strings.Contains(f, "*") || file == f || strings.HasPrefix(file, f+"/") && !strings.HasSuffix(name, "_test.go") {
			return true
		}
	}
	dir = path.Clean(dir)
	if name == "go.mod" || name == "go.sum" {
		return n.modules[dir]
	}
	// A file without a package of its own belongs to the nearest one above.
	owner := dir
	for owner != "." && n.g[owner] == nil {
		owner = path.Dir(owner)
	}
	if owner == "." && (dir != "." || !strings.HasSuffix(name, ".go")) {
		return false // neither code nor data of the library's package
	}
	if strings.HasSuffix(name, "_test.go") || strings.Contains("/"+dir+"/", "/testdata/") {
		return n.tested[owner]
	}
	return n.used[owner]
}
