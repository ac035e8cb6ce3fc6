// SPDX-License-Identifier: Apache-2.0

// Mutants changes one operator of a package at a time and reports the changes that no test detects.
// It runs the tests of the package first, then those of the whole library.
//
//	go run ./e2e/ci/mutants [-out FILE] [-again] [-workers N] DIR...
//
// SNUG_E2E=root includes the tests that make cgroups.
//
// A mutant is detected when a test fails or does not end. Code that no test runs is changed too.
// Mutants that do not compile are not counted. The changes of operators are the defaults of
// gremlins.
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
	out := flag.String("out", "", "write a line per mutant to this file: position, old and new operator, verdict")
	again := flag.Bool("again", false, "try only the mutants that lived according to the file of -out")
	workers := flag.Int("workers", 1, "number of mutants tried at once")
	flag.Parse()
	if err := run(context.Background(), *out, *again, *workers, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutants: error:", err)
		os.Exit(1)
	}
}

// becomes maps each operator to its replacements, one mutant each.
var becomes = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL}, token.REM: {token.MUL},
	token.INC: {token.DEC}, token.DEC: {token.INC},
}

// mutant is one changed operator.
type mutant struct {
	file         string // relative to the root
	line, column int
	offset       int
	old, new     token.Token
	text         string // the original line
	verdict      string
}

func run(ctx context.Context, out string, again bool, workers int, dirs []string) error {
	if len(dirs) == 0 {
		return errors.New("no package: give its directory")
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
		all = append(all, found...)
	}
	if again {
		if err := recall(out, all); err != nil {
			return err
		}
	}
	none := filepath.Join(work, "none.json")
	if err := os.WriteFile(none, []byte("{}"), 0o644); err != nil {
		return err
	}
	if verdict := test(ctx, none, []string{"./..."}); verdict != "lived" {
		return fmt.Errorf("the tests fail without a change (%s): every mutant would count as detected", verdict)
	}
	queue := make(chan *mutant)
	var wait sync.WaitGroup
	var mu sync.Mutex
	done := 0
	var failed error
	for w := range workers {
		wait.Go(func() {
			for m := range queue {
				var err error
				if m.verdict == "" {
					m.verdict, err = try(ctx, filepath.Join(work, strconv.Itoa(w)), m)
				}
				mu.Lock()
				failed = cmp.Or(failed, err)
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
	if failed != nil {
		return failed
	}

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
		fmt.Printf("%s: %d of %d detected (%.1f %%), %d of them by other packages; %d do not compile\n",
			dir, killed, killed+c["lived"], 100*float64(killed)/float64(max(1, killed+c["lived"])), c["killed by others"], c["does not compile"])
	}
	if out == "" {
		return nil
	}
	return os.WriteFile(out, []byte(lines.String()), 0o644)
}

// recall reads verdicts from a file, except "lived".
func recall(file string, all []*mutant) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	verdicts := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Split(line, "\t"); len(f) > 3 && f[3] != "lived" {
			verdicts[strings.Join(f[:3], "\t")] = f[3]
		}
	}
	for _, m := range all {
		m.verdict = verdicts[fmt.Sprintf("%s:%d:%d\t%v\t%v", m.file, m.line, m.column, m.old, m.new)]
	}
	return nil
}

func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d:%d\t%v\t%v\t%s\t%s", m.file, m.line, m.column, m.old, m.new, m.verdict, m.text)
}

// find returns the mutants of those files of a package that are built on this system.
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

// isText reports whether an operand is a string literal, which cannot be subtracted.
func isText(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Kind == token.STRING
}

// try runs the tests with a mutant in place of its file.
func try(ctx context.Context, dir string, m *mutant) (verdict string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	source, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, "mutant.go")
	source = slices.Concat(source[:m.offset], []byte(m.new.String()), source[m.offset+len(m.old.String()):])
	if err := os.WriteFile(changed, source, 0o644); err != nil {
		return "", err
	}
	absolute, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	overlay, _ := json.Marshal(map[string]any{"Replace": map[string]string{absolute: changed}})
	overlayFile := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o644); err != nil {
		return "", err
	}
	own := "./" + filepath.Dir(m.file)
	switch verdict := test(ctx, overlayFile, []string{own}); {
	case verdict != "lived":
		return verdict, nil
	case test(ctx, overlayFile, []string{"./..."}) != "lived":
		return "killed by others", nil
	}
	return "lived", nil
}

// test returns the verdict on a mutant from the tests of packages.
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
		return "does not compile"
	}
	return "killed"
}
