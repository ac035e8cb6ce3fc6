// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/lint"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/vet"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/internal/watch"
	"github.com/snug-go/snug/limits"
)

// TestWordsOnTheScreen checks that every word in the output of ps, doctor and profile is
// explained.
func TestWordsOnTheScreen(t *testing.T) {
	words := strings.Fields("P BY QUOTA THROTTLED MEMORY LIMIT GOMEMLIMIT GOGC env code quota host info warning error " +
		"votes vote looks look samples perf runtime/pprof schedstat cpu.stat oom_kill sched_getaffinity live-heap over-size")
	words = append(words, "Ps", "worst finding", "for information", "nothing that hurts now", "set by", "Heap Goal", "watched for")
	f := &rules.Facts{}
	fields := reflect.ValueOf(f).Elem()
	figures := 0
	for i := range fields.NumField() {
		if fields.Field(i).Type() == reflect.TypeFor[figure.Of[float64]]() {
			fields.Field(i).Set(reflect.ValueOf(figure.New(1.0, "")))
			figures++
		}
	}
	seen := f.Seen()
	if len(seen) != figures {
		t.Errorf("%d figures seen of %d", len(seen), figures)
	}
	for _, e := range seen {
		words = append(words, e.What)
	}
	source, err := os.ReadFile("../../profile/cpuprof/classify.go")
	if err != nil {
		t.Fatal(err)
	}
	classes := regexp.MustCompile(`Class = "([^"]+)"`).FindAllSubmatch(source, -1)
	if len(classes) < 20 {
		t.Errorf("%d classes of CPU time", len(classes))
	}
	for _, c := range classes {
		words = append(words, string(c[1]))
	}
	all := All()
	for _, w := range words {
		if Find(all, w) == nil {
			t.Errorf("%q is not explained", w)
		}
	}
	if Find(all, "no such word") != nil {
		t.Error("a word that snug never shows is explained")
	}
}

// TestWords checks the format of words.md, and that no word has two meanings.
func TestWords(t *testing.T) {
	of := map[string]string{}
	for _, e := range All() {
		if of[e.ID] != "" {
			t.Errorf("%s is explained twice", e.ID)
		}
		of[e.ID] = e.ID
	}
	for _, e := range Parse(wordsText) {
		if e.Title == "" || strings.HasSuffix(e.Title, ".") || len(e.Text) < 40 || e.Class != "term" || !regexp.MustCompile(`^[a-z]+([-.][a-z]+)*$`).MatchString(e.ID) {
			t.Errorf("%s: class %q, title %q, text %q", e.ID, e.Class, e.Title, e.Text)
		}
		for _, w := range shownAs(e.Text) {
			w = strings.ToLower(w)
			if of[w] != "" && of[w] != e.ID {
				t.Errorf("%q is shown by %s and by %s", w, of[w], e.ID)
			}
			of[w] = e.ID
		}
	}
}

// TestAlertsExplained checks that every alert of the chart is explained under the title of
// its runbook, and that the ids it refers to exist.
func TestAlertsExplained(t *testing.T) {
	const top = "../../../../../"
	alerts, err := os.ReadFile(top + "deploy/helm/snug/files/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all, want := All(), map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^ *- alert: (\w+)$`).FindAllSubmatch(alerts, -1) {
		want[string(m[1])] = true
	}
	if len(want) < 10 {
		t.Fatalf("%d alerts", len(want))
	}
	for _, e := range Parse(alertsText) {
		if e.Class != "alert" || !want[e.ID] {
			t.Errorf("%s, class %q, is not an alert of the chart", e.ID, e.Class)
			continue
		}
		delete(want, e.ID)
		page, err := os.ReadFile(top + "docs/runbooks/" + e.ID + ".md")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(page), "\n**")
		title, _, _ := strings.Cut(rest, ".**")
		if title = strings.ReplaceAll(title, "\n", " "); title != e.Title {
			t.Errorf("%s: %q, and its page says %q", e.ID, e.Title, title)
		}
		if !strings.HasSuffix(e.Text, "\n\nRunbook: docs/runbooks/"+e.ID+".md\n") || len(e.Text) < 100 {
			t.Errorf("%s: %s", e.ID, e.Text)
		}
		for _, m := range regexp.MustCompile(`See also\s+([a-z-]+)\.`).FindAllStringSubmatch(e.Text, -1) {
			if Find(all, m[1]) == nil {
				t.Errorf("%s refers to %s, which nothing explains", e.ID, m[1])
			}
		}
		for _, word := range []string{e.ID, strings.ToLower(e.ID)} {
			if got := Find(all, word); got == nil || got.ID != e.ID {
				t.Errorf("%s: %v", word, got)
			}
		}
	}
	for name := range want {
		t.Errorf("%s is not explained", name)
	}
}

// TestEveryCodeIsExplained compares explain.md with the constants of packages
// plan and limits.
func TestEveryCodeIsExplained(t *testing.T) {
	codes := map[string]string{}
	collectCodes(t, codes, "../../../../../internal/plan", func(string) bool { return true })
	collectCodes(t, codes, "../../../../../internal/law", func(string) bool { return true })
	collectCodes(t, codes, "../../../../../limits", func(name string) bool { return strings.HasPrefix(name, "Warn") })
	warns := func(name string) bool { return strings.HasPrefix(name, "Warn") }
	collectCodes(t, codes, "../../prove/search", warns)
	collectCodes(t, codes, "../../prove/lab", warns)
	if len(codes) < 30 {
		t.Fatalf("found only %d codes", len(codes))
	}
	explained := map[string]bool{}
	for _, e := range Parse(explainText) {
		if explained[e.ID] {
			t.Errorf("%s is explained twice", e.ID)
		}
		explained[e.ID] = true
		if codes[e.ID] == "" && e.Class != "term" {
			t.Errorf("%s is explained and nothing gives it", e.ID)
		}
		if e.Title == "" || len(e.Text) < 40 || strings.HasSuffix(e.Title, ".") || !regexp.MustCompile(`^(reason|warning|reason, warning|term)$`).MatchString(e.Class) {
			t.Errorf("%s: class %q, title %q, text %q", e.ID, e.Class, e.Title, e.Text)
		}
	}
	for code, name := range codes {
		if !explained[code] {
			t.Errorf("%s (%s) has no section in explain.md", code, name)
		}
	}
}

// collectCodes finds the string constants of a package that look like codes.
func collectCodes(t *testing.T, codes map[string]string, dir string, want func(name string) bool) {
	t.Helper()
	code := regexp.MustCompile(`^[a-z]+(-[a-z0-9]+)*$`)
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no Go files in %s: %v", dir, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			g, ok := decl.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				for i, name := range v.Names {
					if i >= len(v.Values) || !name.IsExported() || !want(name.Name) {
						continue
					}
					if lit, ok := v.Values[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
						if text, err := strconv.Unquote(lit.Value); err == nil && code.MatchString(text) {
							codes[text] = filepath.Base(dir) + "." + name.Name
						}
					}
				}
			}
		}
	}
}

// TestEveryCodeHasText checks that no reason and no warning is printed as its bare code.
func TestEveryCodeHasText(t *testing.T) {
	for _, e := range Parse(explainText) {
		from := limits.Source{File: "FILE", Level: "LEVEL", Raw: "RAW"}
		if strings.Contains(e.Class, "reason") {
			if text := watch.Text(plan.Reason{Code: e.ID, Number: 3, Source: from}, 2); text == e.ID {
				t.Errorf("reason %s has no text", e.ID)
			}
		}
		ofExperiment := strings.HasPrefix(e.ID, "bench-") || strings.HasPrefix(e.ID, "tune-") // brings its own text
		if strings.Contains(e.Class, "warning") && !ofExperiment {
			if text := plan.WarningText(limits.Warning{Code: e.ID, Source: from}); strings.HasPrefix(text, e.ID) {
				t.Errorf("warning %s has no text", e.ID)
			}
		}
	}
}

// TestRulesExplained checks that each rule's id has exactly one explanation, its own.
func TestRulesExplained(t *testing.T) {
	for _, r := range rules.All() {
		var explained []finding.Explanation
		for _, e := range All() {
			if e.ID == r.ID {
				explained = append(explained, e)
			}
		}
		if len(explained) != 1 || explained[0].Title != r.Title || explained[0].Class != "rule" {
			t.Errorf("%s: %+v, want the rule's own text", r.ID, explained)
		}
	}
}

// TestLintIDs checks that each id of snug lint is explained once.
func TestLintIDs(t *testing.T) {
	count := map[string]int{}
	for _, e := range All() {
		count[e.ID]++
	}
	for _, id := range lint.IDs() {
		if count[id] != 1 {
			t.Errorf("%s is explained %d times", id, count[id])
		}
	}
	for _, code := range []string{podpatch.MemoryShare, podpatch.ProcsFollow, podpatch.EnvOpaque} {
		if count[code] != 1 {
			t.Errorf("%s is explained %d times", code, count[code])
		}
	}
}

// TestVetIDs checks that each id of package vet is explained once.
func TestVetIDs(t *testing.T) {
	count := map[string]int{}
	for _, e := range All() {
		count[e.ID]++
	}
	for _, c := range vet.Checks() {
		if count[c.ID] != 1 {
			t.Errorf("%s is explained %d times", c.ID, count[c.ID])
		}
	}
}
