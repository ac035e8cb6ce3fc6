// SPDX-License-Identifier: Apache-2.0

// Mutants changes one operator of a package at a time and tells which changes its tests do
// not notice: those of the package first, then those of the whole library.
//
//	go run ./e2e/ci/mutants [-out FILE] [-workers N] DIR...
//
// A mutant is noticed when a test fails, does not end, or the code does not compile because
// of it any more after the operator was legal ("not viable": not counted). Only lines that
// the tests run are changed; the others are listed as not covered. The operators and what
// becomes of them are those that gremlins changes by default.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

func main() {
	out := flag.String("out", "", "file for a line of each mutant: where, what it was and became, verdict")
	workers := flag.Int("workers", 1, "how many are tried at once")
	flag.Parse()
	if err := run(context.Background(), *out, *workers, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutants: error:", err)
		os.Exit(1)
	}
}

// becomes is what each operator is changed to, one mutant each.
var becomes = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL}, token.REM: {token.MUL},
	token.INC: {token.DEC}, token.DEC: {token.INC},
}

// mutant is one changed operator.
type mutant struct {
	file         string // from the root
	line, column int
	offset       int
	old, new     token.Token
	text         string // the line as it was
	verdict      string
}

func run(ctx context.Context, out string, workers int, dirs []string) error {
	if len(dirs) == 0 {
		return errors.New("which package? mutants DIR...")
	}
	work, err := os.MkdirTemp("", "snug-mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	var all []*mutant
	for _, dir := range dirs {
		dir = filepath.Clean(dir)
		found, err := find(dir)
		if err != nil {
			return err
		}
		if err := markUncovered(ctx, work, dir, found); err != nil {
			return err
		}
		all = append(all, found...)
	}
	queue := make(chan *mutant)
	var wait sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for w := range workers {
		wait.Go(func() {
			for m := range queue {
				if m.verdict == "" {
					m.verdict = try(ctx, filepath.Join(work, strconv.Itoa(w)), m)
				}
				mu.Lock()
				if done++; m.verdict == "lived" {
					fmt.Printf("%d/%d %v\n", done, len(all), m)
				}
				mu.Unlock()
			}
		})
	}
	for _, m := range all {
		queue <- m
	}
	close(queue)
	wait.Wait()

	var lines strings.Builder
	counts := map[string]map[string]int{}
	for _, m := range all {
		fmt.Fprintln(&lines, m)
		dir := filepath.Dir(m.file)
		if counts[dir] == nil {
			counts[dir] = map[string]int{}
		}
		counts[dir][m.verdict]++
	}
	for _, dir := range dirs {
		c := counts[filepath.Clean(dir)]
		killed := c["killed"] + c["killed by others"] + c["no end"]
		fmt.Printf("%s: %d of %d noticed (%.1f %%), %d of them by other packages; %d not covered, %d not viable\n",
			dir, killed, killed+c["lived"], 100*float64(killed)/float64(max(1, killed+c["lived"])), c["killed by others"], c["not covered"], c["not viable"])
	}
	if out == "" {
		return nil
	}
	return os.WriteFile(out, []byte(lines.String()), 0o644)
}

func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d:%d\t%v\t%v\t%s\t%s", m.file, m.line, m.column, m.old, m.new, m.verdict, m.text)
}

// find are the mutants of the files of a package that are built here.
func find(dir string) ([]*mutant, error) {
	pkg, err := build.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	var found []*mutant
	for _, name := range pkg.GoFiles {
		path := filepath.Join(dir, name)
		source, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, source, 0)
		if err != nil {
			return nil, err
		}
		lines := strings.Split(string(source), "\n")
		add := func(pos token.Pos, op token.Token, to ...token.Token) {
			p := fset.Position(pos)
			for _, t := range to {
				found = append(found, &mutant{file: path, line: p.Line, column: p.Column, offset: p.Offset, old: op, new: t, text: strings.TrimSpace(lines[p.Line-1])})
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if !isText(n.X) && !isText(n.Y) {
					add(n.OpPos, n.Op, becomes[n.Op]...)
				}
			case *ast.IncDecStmt:
				add(n.TokPos, n.Tok, becomes[n.Tok]...)
			case *ast.UnaryExpr:
				if n.Op == token.SUB {
					add(n.OpPos, n.Op, token.ADD)
				}
			}
			return true
		})
	}
	slices.SortFunc(found, func(a, b *mutant) int {
		return cmp.Or(strings.Compare(a.file, b.file), a.offset-b.offset, int(a.new)-int(b.new))
	})
	return found, nil
}

// isText tells whether an operand is a literal text, which has no difference.
func isText(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Kind == token.STRING
}

// markUncovered sets the verdict of mutants that no test of the library runs.
func markUncovered(ctx context.Context, work, dir string, all []*mutant) error {
	profile := filepath.Join(work, "cover")
	if text, err := exec.CommandContext(ctx, "go", "test", "-coverprofile", profile, "-coverpkg", "./"+dir, "./...").CombinedOutput(); err != nil {
		return fmt.Errorf("tests fail without a change: %w\n%s", err, text)
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		return err
	}
	for _, m := range all {
		m.verdict = "not covered"
	}
	for line := range strings.Lines(string(text)) {
		name, rest, _ := strings.Cut(line, ":")
		var b struct{ line, column, endLine, endColumn, statements, count int }
		if n, _ := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.line, &b.column, &b.endLine, &b.endColumn, &b.statements, &b.count); n != 6 || b.count == 0 {
			continue // the first line has no block
		}
		for _, m := range all {
			if strings.HasSuffix(name, "/"+m.file) && !before(m.line, m.column, b.line, b.column) && before(m.line, m.column, b.endLine, b.endColumn) {
				m.verdict = ""
			}
		}
	}
	return nil
}

func before(line, column, line2, column2 int) bool {
	return line < line2 || line == line2 && column < column2
}

// try runs the tests with a mutant in place of its file.
func try(ctx context.Context, dir string, m *mutant) string {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err.Error()
	}
	source, err := os.ReadFile(m.file)
	if err != nil {
		return err.Error()
	}
	changed := filepath.Join(dir, "mutant.go")
	source = slices.Concat(source[:m.offset], []byte(m.new.String()), source[m.offset+len(m.old.String()):])
	if err := os.WriteFile(changed, source, 0o644); err != nil {
		return err.Error()
	}
	absolute, err := filepath.Abs(m.file)
	if err != nil {
		return err.Error()
	}
	overlay, _ := json.Marshal(map[string]any{"Replace": map[string]string{absolute: changed}})
	overlayFile := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o644); err != nil {
		return err.Error()
	}
	own := "./" + filepath.Dir(m.file)
	switch verdict := test(ctx, overlayFile, []string{own}); {
	case verdict != "lived":
		return verdict
	case test(ctx, overlayFile, []string{"./..."}) != "lived":
		return "killed by others"
	}
	return "lived"
}

// test is what becomes of a mutant under the tests of packages.
func test(ctx context.Context, overlay string, packages []string) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	text, err := exec.CommandContext(ctx, "go", slices.Concat([]string{"test", "-failfast", "-vet=off", "-timeout", "60s", "-overlay", overlay}, packages)...).CombinedOutput()
	switch {
	case err == nil:
		return "lived"
	case ctx.Err() != nil || strings.Contains(string(text), "panic: test timed out"):
		return "no end"
	case strings.Contains(string(text), "[build failed]"):
		return "not viable"
	}
	return "killed"
}
