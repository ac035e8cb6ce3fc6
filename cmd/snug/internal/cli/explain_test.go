// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
)

// TestWordsOnTheScreen: whatever word stands in an answer of ps, doctor or profile is
// explained.
func TestWordsOnTheScreen(t *testing.T) {
	words := strings.Fields("P BY QUOTA THROTTLED MEMORY LIMIT GOMEMLIMIT GOGC env code quota host info warning error " +
		"votes vote looks look samples perf runtime/pprof schedstat cpu.stat oom_kill sched_getaffinity live-heap over-size")
	words = append(words, "Ps", "worst finding", "for information", "nothing that hurts now", "set by", "Heap Goal", "watched for")
	f := &rules.Facts{}
	fields := reflect.ValueOf(f).Elem()
	figures := 0
	for i := range fields.NumField() {
		if fields.Field(i).Type() == reflect.TypeFor[*rules.Num]() {
			fields.Field(i).Set(reflect.ValueOf(&rules.Num{V: 1}))
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
	source, err := os.ReadFile("../profile/cpuprof/classify.go")
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
	all := explanations()
	for _, w := range words {
		if explained(all, w) == nil {
			t.Errorf("%q is not explained", w)
		}
	}
	if explained(all, "no such word") != nil {
		t.Error("a word that nobody says is explained")
	}
}

// TestWords holds the form of explain_words.md, and that no word means two things.
func TestWords(t *testing.T) {
	of := map[string]string{}
	for _, e := range explanations() {
		if of[e.ID] != "" {
			t.Errorf("%s is explained twice", e.ID)
		}
		of[e.ID] = e.ID
	}
	for _, e := range parseExplanations(wordsText) {
		if e.Title == "" || strings.HasSuffix(e.Title, ".") || len(e.Text) < 40 || e.Class != "term" || !regexp.MustCompile(`^[a-z]+([-.][a-z]+)*$`).MatchString(e.ID) {
			t.Errorf("%s: class %q, title %q, text %q", e.ID, e.Class, e.Title, e.Text)
		}
		for _, w := range shownAs(e.Text) {
			w = strings.ToLower(w)
			if of[w] != "" && of[w] != e.ID {
				t.Errorf("%q is said of %s and of %s", w, of[w], e.ID)
			}
			of[w] = e.ID
		}
	}
}

// TestAlertsExplained: every alert that the chart installs is explained by the title of its
// page, and what it refers to is there.
func TestAlertsExplained(t *testing.T) {
	const top = "../../../../"
	alerts, err := os.ReadFile(top + "deploy/helm/snug/files/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all, want := explanations(), map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^ *- alert: (\w+)$`).FindAllSubmatch(alerts, -1) {
		want[string(m[1])] = true
	}
	if len(want) < 10 {
		t.Fatalf("%d alerts", len(want))
	}
	for _, e := range parseExplanations(alertsText) {
		if e.Class != "alert" || !want[e.ID] {
			t.Errorf("%s, class %q, is no alert of the chart", e.ID, e.Class)
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
			if explained(all, m[1]) == nil {
				t.Errorf("%s refers to %s, which nothing explains", e.ID, m[1])
			}
		}
		for _, word := range []string{e.ID, strings.ToLower(e.ID)} {
			if got := explained(all, word); got == nil || got.ID != e.ID {
				t.Errorf("%s: %v", word, got)
			}
		}
	}
	for name := range want {
		t.Errorf("%s is not explained", name)
	}
}
