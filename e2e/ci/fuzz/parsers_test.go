// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// exceptions are parsers without a target, and why; a folder stands for all in it.
var exceptions = map[string]string{
	"cmd/snug/internal/cli/explain":                  "what the operator types",
	"cmd/snug/internal/cli/prove":                    "what the operator types",
	"cmd/snug/internal/prove/lab":                    "what the operator types",
	"cmd/snug/internal/prove/search":                 "what the operator types",
	"cmd/snug/internal/diagnose/size.ParsePrice":     "what the operator types",
	"cmd/snug/internal/cluster/learned.ParseAgents":  "what the operator types",
	"cmd/snug/internal/flagvalue.ParseGOGC":          "what the operator types",
	"internal/follow.ParsePoll":                      "a variable of the operator's",
	"internal/plan.ParseLog":                         "a variable of the operator's",
	"internal/plan.ParseSwitch":                      "a variable of the operator's",
	"internal/measure":                               "a variable of the operator's",
	"cmd/snug/internal/report/units.ParseGoBytes":    "it is that of package plan, which has a target",
	"cmd/snug/internal/cli/cluster":                  "passes on to package policy, which has targets",
	"cmd/snug/internal/diagnose/examine.readMetrics": "passes on to package promtext, which has targets",
}

// others are parsers whose names do not say so.
var others = []function{
	{"cmd/snug/internal/cluster/agent/names", "linked"},
	{"cmd/snug/internal/cluster/fleet", "readNode"},
	{"cmd/snug/internal/cluster/fleet", "query"},
	{"cmd/snug/internal/cluster/guard", "ask"},
	{"cmd/snug/internal/process/holders", "Heap"},
	{"cmd/snug/internal/process/holders", "Goroutines"},
	{"cmd/snug/internal/process/proc", "presentIn"},
}

// function is a function or a method of the repository, by its folder and name.
type function struct{ dir, name string }

func (f function) String() string { return f.dir + "." + f.name }

// tree is what functions mention, which of them are parsers, and which are targets.
type tree struct {
	mentions         map[function][]function
	parsers, targets map[function]bool
}

const module = "github.com/snug-go/snug/"

var parserName = regexp.MustCompile(`^(?i:parse|decode|read|sniff|unmarshal)`)

// TestEveryParser: each parser of what others write is reached by a target. The parsers are the functions whose name says so
// and that take a text or a reader, and nothing that they open themselves.
func TestEveryParser(t *testing.T) {
	all := readTree(t, "../../..")
	for _, f := range others {
		if all.parsers[f] = true; all.mentions[f] == nil {
			t.Errorf("%s is not in the tree", f)
		}
	}
	reached := map[function]bool{}
	queue := slices.Collect(maps.Keys(all.targets))
	for len(queue) > 0 {
		f := queue[0]
		queue = queue[1:]
		if !reached[f] {
			reached[f] = true
			queue = append(queue, all.mentions[f]...)
		}
	}
	used := map[string]bool{}
	for _, f := range slices.SortedFunc(maps.Keys(all.parsers), func(a, b function) int { return strings.Compare(a.String(), b.String()) }) {
		name := f.String()
		if exceptions[name] == "" {
			name = f.dir
		}
		switch {
		case exceptions[name] != "":
			used[name] = used[name] || !reached[f]
		case !reached[f]:
			t.Errorf("%s has no fuzz target", f)
		}
	}
	for name := range exceptions {
		if !used[name] {
			t.Errorf("%s has a target: remove the exception", name)
		}
	}
	if len(all.parsers) < 100 || len(all.targets) < 50 {
		t.Errorf("%d parsers and %d targets are found", len(all.parsers), len(all.targets))
	}
}

func readTree(t *testing.T, root string) tree {
	all := tree{map[function][]function{}, map[function]bool{}, map[function]bool{}}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		dir, _ := filepath.Rel(root, filepath.Dir(name))
		switch base := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (base == "testdata" || base == "e2e" || base == "contrib" || base == "experiments" || base == "site" || strings.HasPrefix(base, ".") && name != root):
			return fs.SkipDir
		case !strings.HasSuffix(base, ".go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err == nil {
			all.add(filepath.ToSlash(dir), file, strings.HasSuffix(name, "_test.go"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (all *tree) add(dir string, file *ast.File, test bool) {
	imports := map[string]string{}
	for _, i := range file.Imports {
		text, _ := strconv.Unquote(i.Path.Value)
		if to, ours := strings.CutPrefix(text, module); ours {
			as := path.Base(to)
			if i.Name != nil {
				as = i.Name.Name
			}
			imports[as] = to
		}
	}
	for _, d := range file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		f := function{dir, fn.Name.Name}
		if strings.HasPrefix(f.name, "Fuzz") && test {
			all.targets[f] = true
		}
		if !test && isParser(fn) {
			all.parsers[f] = true
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				to := dir
				if p, ok := n.X.(*ast.Ident); ok && imports[p.Name] != "" {
					to = imports[p.Name]
				}
				all.mentions[f] = append(all.mentions[f], function{to, n.Sel.Name})
			case *ast.Ident:
				all.mentions[f] = append(all.mentions[f], function{dir, n.Name})
			}
			return true
		})
	}
}

// isParser reports whether a function is a parser by its name and one of its parameters. Methods are those of readers.
func isParser(fn *ast.FuncDecl) bool {
	if fn.Recv != nil || !parserName.MatchString(fn.Name.Name) {
		return false
	}
	return slices.ContainsFunc(fn.Type.Params.List, func(p *ast.Field) bool {
		switch x := p.Type.(type) {
		case *ast.Ident:
			return x.Name == "string" && !slices.ContainsFunc(p.Names, func(n *ast.Ident) bool { return slices.Contains(names, n.Name) })
		case *ast.ArrayType:
			of, ok := x.Elt.(*ast.Ident)
			return ok && of.Name == "byte"
		case *ast.SelectorExpr:
			return slices.Contains([]string{"Reader", "ReaderAt", "ReadCloser"}, x.Sel.Name)
		}
		return false
	})
}

// names are parameters that are the name of a file or a directory, or a value that the operator types.
var names = []string{"path", "name", "file", "dir", "exe", "pagemap", "list", "unit", "target"}
