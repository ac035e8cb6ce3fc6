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
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/lint"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/vet"
	"github.com/snug-go/snug/internal/measure"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// TestWordsOnTheScreen checks that every word in the output of ps, doctor and profile is
// explained.
func TestWordsOnTheScreen(t *testing.T) {
	words := strings.Fields("P BY QUOTA THROTTLED MEMORY LIMIT GOMEMLIMIT GOGC env code quota host info warning error " +
		"votes vote looks look samples perf runtime/pprof schedstat cpu.stat oom_kill sched_getaffinity live-heap over-size")
	words = append(words, "Ps", "worst finding", "for information", "nothing that hurts now", "set by", "Heap Goal", "watched for",
		"STW", "stall", "effective GOGC", "run queue", "headroom", "period", "throttled", "live heap", "knob", "cgroup", "stop the world", "COLLECTIONS/S", "GC CPU", "PRICE", "not seen")
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

// TestWords checks the format of all texts, and that no word has two meanings.
func TestWords(t *testing.T) {
	of := map[string]string{}
	for _, e := range All() {
		if of[e.ID] != "" {
			t.Errorf("%s is explained twice", e.ID)
		}
		of[e.ID] = e.ID
		if e.Topic == "" || e.Title == "" || strings.HasSuffix(e.Title, ".") || len(e.Text) < 40 {
			t.Errorf("%s: topic %q, title %q, text %q", e.ID, e.Topic, e.Title, e.Text)
		}
		if e.Class == "term" && !regexp.MustCompile(`^[a-z]+([-.][a-z]+)*$`).MatchString(e.ID) {
			t.Errorf("the term %s is not in small letters", e.ID)
		}
	}
	for _, e := range All() {
		for _, w := range shownAs(e.Text) {
			w = strings.ToLower(w)
			if of[w] != "" && of[w] != e.ID {
				t.Errorf("%q is shown by %s and by %s", w, of[w], e.ID)
			}
			of[w] = e.ID
		}
	}
}

// TestTopics checks that each topic has a file, a title and entries, that none is named like an
// id or a word, and that Index and Under group by them.
func TestTopics(t *testing.T) {
	files, err := filepath.Glob("texts/*.md")
	if err != nil || len(files) != len(topics) {
		t.Errorf("%d files of %d topics, %v", len(files), len(topics), err)
	}
	all := All()
	index := Index(all)
	if len(index.Topics) != len(topics) {
		t.Errorf("%d of %d topics have entries", len(index.Topics), len(topics))
	}
	seen := map[string]int{}
	for _, e := range all {
		seen[e.Topic]++
	}
	for _, topic := range index.Topics {
		if topic.Title == "" || strings.Contains(topic.Title, "\n") || strings.HasPrefix(topic.Text, "#") {
			t.Errorf("%+v", topic)
		}
		if e := Find(all, topic.ID); e != nil {
			t.Errorf("the topic %s is also a word of %s", topic.ID, e.ID)
		}
		if got := len(Under(all, topic.ID)); got != seen[topic.ID] {
			t.Errorf("%s: %d entries of %d", topic.ID, got, seen[topic.ID])
		}
	}
	for prefix, want := range map[string][]string{
		"gomaxprocs-n": {"gomaxprocs-numcpu"}, "effective": {"effective-gogc"}, "STW": {"stop-the-world", "stw_total_seconds", "stw_max_seconds"}, "no such": nil,
	} {
		var got []string
		for _, e := range Under(all, prefix) {
			got = append(got, e.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", prefix, got, want)
		}
	}
	if got := Index(Under(all, "json:p")); len(got.Topics) != 1 || len(got.Entries) != 5 || got.Next != "snug explain json:plan" {
		t.Errorf("%+v", got)
	}
}

// TestMetricsExplained checks that every metric of experiments, its column and its name are
// explained.
func TestMetricsExplained(t *testing.T) {
	all := All()
	of := map[string]bool{}
	for _, m := range metric.Metrics {
		of[m.Key] = true
		for _, word := range []string{m.Key, m.Head, m.Words} {
			if Find(all, word) == nil {
				t.Errorf("%s of %s is not explained", word, m.Key)
			}
		}
	}
	for _, e := range Under(all, "metrics") {
		if e.Class != "metric" || !of[e.ID] {
			t.Errorf("%s, class %s, is no metric", e.ID, e.Class)
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
	for _, e := range Under(all, "alerts") {
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

// TestEveryCodeIsExplained compares the reasons and warnings with the constants of packages
// plan, law, limits, search, lab and finding.
func TestEveryCodeIsExplained(t *testing.T) {
	codes := map[string]string{}
	collectCodes(t, codes, "../../../../../internal/plan", func(string) bool { return true })
	collectCodes(t, codes, "../../../../../internal/law", func(string) bool { return true })
	collectCodes(t, codes, "../../../../../limits", func(name string) bool { return strings.HasPrefix(name, "Warn") })
	warns := func(name string) bool { return strings.HasPrefix(name, "Warn") }
	collectCodes(t, codes, "../../prove/search", warns)
	collectCodes(t, codes, "../../prove/lab", warns)
	collectCodes(t, codes, "../../report/finding", func(name string) bool { return strings.HasPrefix(name, "Size") || strings.HasPrefix(name, "Silent") })
	if len(codes) < 30 {
		t.Fatalf("found only %d codes", len(codes))
	}
	explained := map[string]bool{}
	for _, e := range ofLibrary() {
		explained[e.ID] = true
		if codes[e.ID] == "" {
			t.Errorf("%s is explained and nothing gives it", e.ID)
		}
	}
	for code, name := range codes {
		if !explained[code] {
			t.Errorf("%s (%s) has no section in texts/", code, name)
		}
	}
}

// ofLibrary returns the reasons and warnings of the library and of experiments.
func ofLibrary() []finding.Entry {
	var of []finding.Entry
	for _, e := range All() {
		switch e.Class {
		case "reason", "warning", "reason, warning":
			if e.Topic != "pods" { // TestLintIDs, and podpatch compares its own
				of = append(of, e)
			}
		}
	}
	return of
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
	for _, e := range ofLibrary() {
		from := limits.Source{File: "FILE", Level: "LEVEL", Raw: "RAW"}
		if strings.Contains(e.Class, "reason") && e.Topic != "sizes" { // content has a test of its own
			if text := measure.Text(plan.Reason{Code: e.ID, Number: 3, Source: from}, 2); text == e.ID {
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
		var explained []finding.Entry
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
