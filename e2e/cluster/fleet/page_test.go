// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/internal/gate"
)

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		name, printed, want string
		matches             bool
	}{
		{"the same", "a b\nc\n", "a b\nc\n", true},
		{"another number", "12 pods", "3000 pods", true},
		{"a number of another width", "   7 a   b\n  12 c", "  12 a b\n 120 c", true},
		{"another word", "12 pods", "12 nodes", false},
		{"more", "a\nb", "a", false},
		{"less", "a", "a\nb", false},
		{"any lines, none", "b\n", "...\nb\n", true},
		{"any lines, some", "x\ny\nb\n", "...\nb\n", true},
		{"any lines, and then another", "x\nc\n", "...\nb\n", false},
		{"dots are dots", "axb", "a.b", false},
		{"nothing", "", "a", false},
	} {
		if matches(c.printed, c.want) != c.matches {
			t.Errorf("%s: want %v", c.name, c.matches)
		}
	}
}

// TestQueries: the page's queries are valid, and use only metrics of the alerts and the dashboard,
// whose own tests take them from a real agent.
func TestQueries(t *testing.T) {
	gate.Need(t, "fleet")
	read := func(path ...string) string {
		text, err := os.ReadFile(filepath.Join(append([]string{"..", "..", ".."}, path...)...))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	known := read("deploy", "helm", "snug", "files", "alerts.yaml") + read("deploy", "helm", "snug", "files", "dashboard.json")
	rules := "groups:\n- name: page\n  rules:\n"
	queries := regexp.MustCompile("(?m)^\\| [A-Za-z ]+ \\| `([^`]*snug_[^`]*)` \\|").FindAllStringSubmatch(read("docs", "rollout.md"), -1)
	if len(queries) < 4 {
		t.Fatalf("%d queries on the page", len(queries))
	}
	for i, q := range queries {
		rules += "  - {record: 'page:query" + strconv.Itoa(i) + "', expr: " + strconv.Quote(q[1]) + "}\n"
		for _, metric := range regexp.MustCompile(`\bsnug_[a-z_]+`).FindAllString(q[1], -1) {
			if !strings.Contains(known, metric) {
				t.Errorf("neither an alert nor the dashboard uses %s", metric)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, []byte(rules), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "promtool", "check", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
