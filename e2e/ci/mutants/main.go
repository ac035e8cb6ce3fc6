// SPDX-License-Identifier: Apache-2.0

// Mutants changes one operator of a package at a time and reports the changes that no test detects.
// It runs the tests of the package first. What they let live is then tried by the packages that import it.
//
//	go run ./e2e/ci/mutants [-out FILE] [-again] [-workers N] [-sample N] [-first REGEXP] [-survivors N] [-importers N] DIR...
//
// SNUG_E2E=root includes the tests that make cgroups.
// FILE is written after each mutant, so -again goes on after an interruption.
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
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// options are what the command line says.
type options struct {
	out       string
	again     bool
	workers   int
	sample    int
	first     string
	survivors int
	importers int
	dirs      []string

	earlier []*mutant // of packages that are done
}

func main() {
	var o options
	flag.StringVar(&o.out, "out", "", "write a line per mutant to this file: position, old and new operator, verdict")
	flag.BoolVar(&o.again, "again", false, "try only the mutants that lived according to the file of -out")
	flag.IntVar(&o.workers, "workers", 1, "number of mutants tried at once")
	flag.IntVar(&o.sample, "sample", 0, "number of mutants of each package, chosen at random and always the same; 0 = all")
	flag.StringVar(&o.first, "first", "", "run these tests of a package before all of them, as they are quick")
	flag.IntVar(&o.survivors, "survivors", 20, "number of survivors of each package that the importers' tests try")
	flag.IntVar(&o.importers, "importers", 8, "number of importers that try a survivor, the nearest ones; quick ones first")
	flag.Parse()
	o.dirs = flag.Args()
	if err := run(context.Background(), &o); err != nil {
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

func run(ctx context.Context, o *options) error {
	if len(o.dirs) == 0 {
		return errors.New("no package: give its directory")
	}
	work, err := os.MkdirTemp("", "snug-mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	none := filepath.Join(work, "none.json")
	if err := os.WriteFile(none, []byte("{}"), 0o644); err != nil {
		return err
	}
	for _, dir := range o.dirs {
		found, err := one(ctx, o, filepath.Clean(dir), work, none)
		if err != nil {
			return err
		}
		o.earlier = append(o.earlier, found...)
		if err := o.save(nil); err != nil {
			return err
		}
	}
	return nil
}

// save writes the verdicts there are, so that -again can go on after an interruption.
func (o *options) save(now []*mutant) error {
	if o.out == "" {
		return nil
	}
	var lines strings.Builder
	for _, m := range slices.Concat(o.earlier, now) {
		if m.verdict != "" {
			fmt.Fprintln(&lines, m)
		}
	}
	return os.WriteFile(o.out, []byte(lines.String()), 0o644)
}

// one tries the mutants of one package, prints its figures and returns those that count, in the order of the file.
func one(ctx context.Context, o *options, dir, work, none string) ([]*mutant, error) {
	found, err := find(dir)
	if err != nil {
		return nil, err
	}
	if o.sample > 0 { // of files whose names and operators stay, the same ones stay
		rand.New(rand.NewPCG(1, 1)).Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	}
	if o.again {
		if err := recall(o.out, found); err != nil {
			return nil, err
		}
	}
	own := tests{packages: []string{"./" + dir}, timeout: 10 * time.Minute}
	began := time.Now()
	if verdict := own.run(ctx, none); verdict != lived {
		return nil, fmt.Errorf("the tests of %s fail without a change (%s): every mutant would count as detected", dir, verdict)
	}
	own.timeout = max(time.Minute, 5*time.Since(began))
	if found, err = tryAll(ctx, o, work, found, own); err != nil {
		return nil, err
	}
	var survivors []*mutant
	for _, m := range found {
		if m.verdict == lived {
			survivors = append(survivors, m)
		}
	}
	survivors = survivors[:min(len(survivors), o.survivors)]
	others, err := seconds(ctx, o, dir, work, none, survivors)
	if err != nil {
		return nil, err
	}
	report(dir, found, len(survivors), others)
	slices.SortFunc(found, inFile)
	return found, nil
}

// report prints the figures of a package.
func report(dir string, found []*mutant, tried, others int) {
	counts := map[string]int{}
	for _, m := range found {
		counts[m.verdict]++
	}
	n := len(found) - counts[broken]
	noticed := counts[killed] + counts[noEnd]
	fmt.Printf("%s: %d of %d noticed by its own tests (%.1f %%); %d of %d survivors noticed by importers; %d do not compile\n",
		dir, noticed, n, 100*float64(noticed)/float64(max(1, n)), others, tried, counts[broken])
}

// tryAll tries mutants by the package's own tests, up to the sample, and returns those that it tried.
func tryAll(ctx context.Context, o *options, work string, all []*mutant, own tests) ([]*mutant, error) {
	first := own
	first.only, first.timeout = o.first, 2*time.Minute
	queue := make(chan *mutant)
	var wait sync.WaitGroup
	var mu sync.Mutex
	counted := 0
	var failed error
	for w := range o.workers {
		wait.Go(func() {
			for m := range queue {
				overlay, err := m.overlay(filepath.Join(work, strconv.Itoa(w)))
				verdict := m.verdict
				if err == nil && verdict == "" && first.only != "" {
					verdict = first.run(ctx, overlay)
				}
				if err == nil && (verdict == "" || verdict == lived) {
					verdict = own.run(ctx, overlay)
				}
				mu.Lock()
				m.verdict = verdict
				failed = cmp.Or(failed, err, o.save(all))
				if m.verdict != broken {
					counted++
				}
				if m.verdict == lived {
					fmt.Printf("%d %v\n", counted, m)
				}
				mu.Unlock()
			}
		})
	}
	tried := 0
	for _, m := range all {
		mu.Lock()
		enough := o.sample > 0 && counted >= o.sample
		mu.Unlock()
		if enough {
			break
		}
		queue <- m
		tried++
	}
	close(queue)
	wait.Wait()
	return upTo(all[:tried], o.sample), failed
}

// upTo removes what several workers tried beyond the sample.
func upTo(all []*mutant, sample int) []*mutant {
	n := 0
	for i, m := range all {
		if m.verdict != broken {
			n++
		}
		if n == sample {
			return all[:i+1]
		}
	}
	return all
}

// recall reads verdicts from a file, except lived.
func recall(file string, all []*mutant) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	verdicts := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Split(line, "\t"); len(f) > 3 && f[3] != lived {
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
	slices.SortFunc(found, inFile)
	return found, nil
}

func inFile(a, b *mutant) int {
	return cmp.Or(strings.Compare(a.file, b.file), a.offset-b.offset, int(a.new)-int(b.new))
}

// isText reports whether an operand is a string literal, which cannot be subtracted.
func isText(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Kind == token.STRING
}

// overlay writes the file with the changed operator, and returns the name of an overlay that puts it in place.
func (m *mutant) overlay(dir string) (string, error) {
	source, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	absolute, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, "mutant.go")
	source = slices.Concat(source[:m.offset], []byte(m.new.String()), source[m.offset+len(m.old.String()):])
	text, _ := json.Marshal(map[string]any{"Replace": map[string]string{absolute: changed}})
	name := filepath.Join(dir, "overlay.json")
	return name, errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(changed, source, 0o644), os.WriteFile(name, text, 0o644))
}
