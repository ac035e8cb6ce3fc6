// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/lint"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/vet"
)

var wanted = regexp.MustCompile(`# want (info|warning|error)( below)?`)

func check(t *testing.T, file string) (*manifest.File, lint.Result, string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f := manifest.Parse(file, text)
	if filepath.Ext(file) == ".service" {
		f = manifest.ParseUnit(manifest.Text{Name: file, Text: text})
	}
	if len(f.Problems) > 0 || len(f.Objects) == 0 {
		t.Fatalf("%s: %d objects, problems %v", file, len(f.Objects), f.Problems)
	}
	return f, lint.Check([]*manifest.File{f}), string(text)
}

// manifests returns the files of a pattern: manifests, compose files and units.
func manifests(pattern string) []string {
	all, _ := filepath.Glob(pattern + ".yaml")
	units, _ := filepath.Glob(pattern + ".service")
	return append(all, units...)
}

// TestFolders: each rule fires on the marked lines of its bad manifests and on none of the
// good ones, and its fixes give the .fixed ones. Every bad manifest with a fix has one.
func TestFolders(t *testing.T) {
	for _, id := range lint.IDs() {
		bad, good := manifests(id+"/bad*"), manifests(id+"/good*")
		bad = slices.DeleteFunc(bad, func(f string) bool { return strings.HasSuffix(f, ".fixed.yaml") })
		if len(bad) == 0 || len(good) == 0 {
			t.Errorf("%s: %d bad manifests, %d good ones", id, len(bad), len(good))
		}
		for _, file := range good {
			_, r, _ := check(t, file)
			for _, f := range r.Found {
				if f.ID == id {
					t.Errorf("%s:%d: %s", file, f.At.Line, f.Message)
				}
			}
		}
		for _, file := range bad {
			f, r, text := check(t, file)
			var want, got []string
			for i, line := range strings.Split(text, "\n") {
				if m := wanted.FindStringSubmatch(line); m != nil {
					at := i + 1
					if m[2] != "" {
						at++
					}
					want = append(want, fmt.Sprintf("%d %s", at, m[1]))
				}
			}
			var edits []manifest.Edit
			for _, g := range r.Found {
				if g.ID != id {
					continue
				}
				got = append(got, fmt.Sprintf("%d %s", g.At.Line, g.Severity))
				edits = append(edits, g.Edits...)
				if g.Message == "" || g.Fix == "" && id != "gogc-zero" && id != "godebug-harmful" && id != "godebug-no-quota" && id != "gomemlimit-malformed" && id != "gomaxprocs-malformed" {
					t.Errorf("%s:%d: message %q, fix %q", file, g.At.Line, g.Message, g.Fix)
				}
				for _, s := range []string{g.Message, g.Fix} {
					if strings.HasSuffix(s, ".") || strings.Contains(s, "  ") {
						t.Errorf("%s:%d: %q", file, g.At.Line, s)
					}
				}
			}
			if len(got) == 0 || strings.Join(got, ", ") != strings.Join(want, ", ") {
				t.Errorf("%s: found in lines %s; want %s", file, strings.Join(got, ", "), strings.Join(want, ", "))
			}
			fixed := strings.TrimSuffix(file, ".yaml") + ".fixed.yaml"
			golden, err := os.ReadFile(fixed)
			if (err == nil) != (len(edits) > 0) {
				t.Errorf("%s: %d edits, and %v", file, len(edits), err)
			}
			if err != nil || len(edits) == 0 {
				continue
			}
			after, err := f.Apply(edits)
			if err != nil || string(after.Text) != string(golden) {
				t.Errorf("%s: %v, made\n%s", fixed, err, after.Text)
				continue
			}
			left := 0
			for _, g := range lint.Check([]*manifest.File{after}).Found {
				if g.ID == id && len(g.Edits) > 0 {
					left++
				}
			}
			if left > 0 {
				t.Errorf("%s: still %d to fix", fixed, left)
			}
		}
	}
}

// TestFixIsPlan: a fix names no other number than snug's. The runtime's own is 2 below one core.
func TestFixIsPlan(t *testing.T) {
	for cpu, want := range map[string]string{
		"500m":  "GOMAXPROCS=1; then measure",
		"1":     "GOMAXPROCS=2, or none for programs of Go 1.26 and later; then measure",
		"1100m": "GOMAXPROCS=2, or none for programs of Go 1.26 and later; then measure",
	} {
		text := "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - {name: a, image: a, resources: {limits: {cpu: " + cpu +
			"}}, env: [{name: GOMAXPROCS, value: \"16\"}]}\n"
		found := lint.Check([]*manifest.File{manifest.Parse("p.yaml", []byte(text))}).Found
		if f := found[len(found)-1]; f.ID != "procs-above-quota" || f.Fix != want {
			t.Errorf("a limit of %s: %s, the fix %q, want %q", cpu, f.ID, f.Fix, want)
		}
	}
}

// TestIDs: each id is explained exactly once, here or in package vet or rules, and each folder
// belongs to a rule.
func TestIDs(t *testing.T) {
	known := map[string]int{}
	for _, r := range lint.Rules() {
		known[r.ID]++
		if r.Title == "" || strings.HasSuffix(r.Title, ".") || !strings.Contains(r.Text, "\n\nFix: ") || !strings.Contains(r.Text, "\n\nSource: ") {
			t.Errorf("%s/rule.md: title %q, want a title, a fix and a source", r.ID, r.Title)
		}
	}
	for _, r := range rules.All() {
		known[r.ID]++
	}
	for _, c := range vet.Checks() {
		known[c.ID]++
	}
	for _, id := range lint.IDs() {
		if known[id] != 1 {
			t.Errorf("%s is explained %d times", id, known[id])
		}
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != "testdata" && !slices.Contains(lint.IDs(), e.Name()) {
			t.Errorf("%s is no rule", e.Name())
		}
	}
}

var update = flag.Bool("update", false, "rewrite README.md")

// TestPage: README.md is up to date with the rules.
func TestPage(t *testing.T) {
	var b strings.Builder
	b.WriteString("# What `snug lint` finds\n\nGenerated from the folders beside it by `go test ./cmd/snug/internal/cluster/lint -update`. Each folder\n" +
		"has manifests in which the rule fires, and others in which it does not.\n\n")
	all := lint.Rules()
	for _, r := range all {
		fmt.Fprintf(&b, "- [%s](#%s): %s\n", r.ID, r.ID, r.Title)
	}
	b.WriteString("\nRules that `snug vet` or `snug doctor` has too; `snug explain ID` explains them:\n")
	for _, id := range lint.IDs() {
		if !slices.ContainsFunc(all, func(r lint.Rule) bool { return r.ID == id }) {
			fmt.Fprintf(&b, "[%s](%s), ", id, id)
		}
	}
	page := strings.TrimSuffix(b.String(), ", ") + ".\n"
	b.Reset()
	for _, r := range all {
		fmt.Fprintf(&b, "\n## %s\n\n**%s.**\n\n%s", r.ID, r.Title, r.Text)
	}
	page += b.String()
	if *update {
		if err := os.WriteFile("README.md", []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile("README.md"); err != nil || string(text) != page {
		t.Errorf("README.md is stale (%v): go test ./cmd/snug/internal/cluster/lint -update", err)
	}
}

// TestSilenced: annotations and comments silence the ids they name, if they give a reason.
func TestSilenced(t *testing.T) {
	const text = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: d
  annotations:
    snug.dev/ignore: |
      gogc-zero a test of the collector
spec:
  template:
    %s
    spec:
      containers:
      - name: app
        image: app
        env:
        - {name: GOGC, value: "0"}
        - name: GOMAXPROCS
          # snug:ignore gomaxprocs-malformed read by a script
          value: auto
        - name: GOMEMLIMIT
          value: "512" # snug:ignore gomemlimit-tiny
`
	for _, c := range []struct {
		name, template, want string
		ignored              int
	}{
		{"by the object and a comment", "", "gomemlimit-tiny ignore-without-reason", 2},
		{"by the pod as well", "metadata: {annotations: {snug.dev/ignore: gomemlimit-tiny small on purpose}}", "ignore-without-reason", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := manifest.Parse("a.yaml", []byte(fmt.Sprintf(text, c.template)))
			r := lint.Check([]*manifest.File{f})
			var said []string
			for _, g := range r.Found {
				said = append(said, g.ID)
			}
			if got := strings.Join(said, " "); got != c.want || r.Ignored != c.ignored {
				t.Errorf("found %q, %d silenced; want %q, %d", got, r.Ignored, c.want, c.ignored)
			}
		})
	}
}

// TestOrders: which comments and annotations silence a finding of GOGC=0, and the findings
// about the others.
func TestOrders(t *testing.T) {
	const pod = "kind: Pod\nmetadata:\n  name: p\n  annotations: {%s}\nspec:\n  containers:\n  - name: app\n    image: app\n    env:\n%s"
	many := ""
	for i := range 300 {
		many += fmt.Sprintf("example.org/%d: x, snug.dev/x%d: y, ", i, i)
	}
	const gogc = "    - name: GOGC\n      value: \"0\"\n"
	for _, c := range []struct {
		name, annotations, env string
		want                   string // ids and fixes
		ignored                int
	}{
		{"above the item", "", "    # snug:ignore gogc-zero a test\n" + gogc, "", 1},
		{"above the value", "", "    - name: GOGC\n      # snug:ignore gogc-zero a test\n      value: \"0\"\n", "", 1},
		{"after the value", "", "    - name: GOGC\n      value: \"0\" # snug:ignore gogc-zero a test\n", "", 1},
		{"after the name", "", "    - name: GOGC # snug:ignore gogc-zero a test\n      value: \"0\"\n", "", 1},
		{"the upper of two", "", "    # snug:ignore gogc-zero a test\n    # and of others\n    # snug:ignore gogc-malformed a test\n" + gogc, "", 1},
		{"after the item above", "", "    - {name: A, value: b} # snug:ignore gogc-zero a test\n" + gogc, "gogc-zero", 0},
		{"another line between", "", "    # snug:ignore gogc-zero a test\n    - {name: A, value: b}\n" + gogc, "gogc-zero", 0},
		{"in a string", "", "    - name: A\n      value: \"# snug:ignore gogc-zero sneaky\"\n" + gogc, "gogc-zero", 0},
		{"in a string of several lines", "", "    - name: A\n      value: 'a\n        # snug:ignore gogc-zero sneaky'\n" + gogc, "gogc-zero", 0},
		{"in a block", "", "    - name: A\n      value: |\n        a\n\n        # snug:ignore gogc-zero sneaky\n" + gogc, "gogc-zero", 0},
		{"after a block", "", "    - name: A\n      value: |-\n        # a\n    # snug:ignore gogc-zero a test\n" + gogc, "", 1},
		{"of a flow style", "", "    # snug:ignore gogc-zero a test\n    - {name: GOGC, value: \"0\"}\n", "", 1},
		{"with a colon", "", "    # snug:ignore gogc-zero: a test\n" + gogc, "ignore-without-reason(# snug:ignore gogc-zero reason) gogc-zero", 0},
		{"of two at once", "", "    # snug:ignore gogc-zero,gogc-malformed a test\n" + gogc, "ignore-without-reason(# snug:ignore gogc-zero reason, and # snug:ignore gogc-malformed reason) gogc-zero", 0},
		{"of none", "", "    # snug:ignore\n" + gogc, "ignore-without-reason(# snug:ignore ID reason) gogc-zero", 0},

		{"an annotation after many", many + "snug.dev/ignore: gogc-zero a test", gogc, "", 1},
		{"a reason with a semicolon", "snug.dev/ignore: gogc-zero a test; of the collector", gogc, "", 1},
		{"a reason of two lines", "snug.dev/ignore: \"gogc-zero a\\ntest\"", gogc, "", 1},
		{"a reason of the next line", "snug.dev/ignore: \"gogc-zero\\na test\"", gogc, "", 1},
		{"an annotation with a colon", "snug.dev/ignore: \"gogc-zero: a test\"", gogc, "ignore-without-reason(snug.dev/ignore: \"gogc-zero reason\") gogc-zero", 0},
		{"an annotation of two at once", "snug.dev/ignore: \"gogc-zero,gogc-malformed a test\"", gogc, "ignore-without-reason(snug.dev/ignore: \"gogc-zero reason; gogc-malformed reason\") gogc-zero", 0},
		{"an annotation followed by a wrong one", "snug.dev/ignore: gogc-zero a test; gogc-nought too", gogc, "ignore-without-reason(snug.dev/ignore: \"ID reason\")", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := manifest.Parse("a.yaml", []byte(fmt.Sprintf(pod, c.annotations, c.env)))
			r := lint.Check([]*manifest.File{f})
			var said []string
			for _, g := range r.Found {
				word := g.ID
				if g.ID == "ignore-without-reason" {
					word += "(" + g.Fix + ")"
				}
				said = append(said, word)
			}
			if got := strings.Join(said, " "); got != c.want || r.Ignored != c.ignored {
				t.Errorf("found %q, %d silenced; want %q, %d", got, r.Ignored, c.want, c.ignored)
			}
		})
	}
}

// TestFixes: fixes that depend on more than the value.
func TestFixes(t *testing.T) {
	const pod = "kind: Pod\nmetadata: {name: p}\nspec:\n  %s\n  containers:\n  - {name: c, image: i, env: [{name: GOMEMLIMIT, %s}], resources: {limits: {%s}}}\n%s"
	const limit, reference = "memory: 1Gi", "valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: \"1\"}}"
	const shared, other = "resources: {limits: {memory: 1Gi}}", "  - {name: d, image: i}\n"
	const together = "a memory limit for the container; or GOMEMLIMITs whose sum leaves a tenth of the pod's limit"
	for _, c := range []struct{ name, pod, variable, limit, other, id, want string }{
		{"a share", "", `value: "90%"`, limit, "", "gomemlimit-malformed", "write 921MiB"},
		{"an exponent", "", `value: "1e9"`, limit, "", "gomemlimit-malformed", "write 921MiB"},
		{"a fraction", "", `value: "0.5GiB"`, limit, "", "gomemlimit-malformed", "write 921MiB"},
		{"a blank", "", `value: " 512MiB"`, limit, "", "gomemlimit-malformed", "write 921MiB"},
		{"a share of an unknown limit", "", `value: "90%"`, "", "", "gomemlimit-malformed", ""},
		{"another unit is likely", "", `value: "512Mi"`, limit, "", "gomemlimit-malformed", "write 512MiB"},
		{"the pod's limit alone", shared, reference, "", "", "gomemlimit-at-limit", "GOMEMLIMIT=921MiB as a literal"},
		{"the pod's limit, shared", shared, reference, "", other, "gomemlimit-at-limit", together},
		{"a literal above the pod's limit, shared", shared, "value: 2GiB", "", other, "gomemlimit-above-limit", together},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := manifest.Parse("a.yaml", []byte(fmt.Sprintf(pod, c.pod, c.variable, c.limit, c.other)))
			for _, g := range lint.Check([]*manifest.File{f}).Found {
				if g.ID == c.id {
					if g.Fix != c.want {
						t.Errorf("%s: %q; want %q", g.ID, g.Fix, c.want)
					}
					return
				}
			}
			t.Errorf("no %s", c.id)
		})
	}
}

// FuzzCheck: with any YAML, nothing panics, findings are at positions in the text, and fixes
// either give the intended text or are refused.
func FuzzCheck(f *testing.F) {
	files := manifests("*/*")
	if len(files) < 60 {
		f.Fatalf("%d seeds", len(files))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		file := manifest.Parse("a.yaml", []byte(text))
		r := lint.Check([]*manifest.File{file, manifest.ParseUnit(manifest.Text{Name: "a.service", Text: []byte(text)}), manifest.ParseEnvFile(manifest.Text{Name: "a.env", Text: []byte(text)})})
		lines := strings.Count(text, "\n") + 1
		var edits []manifest.Edit
		for _, g := range r.Found {
			if g.At.Line < 1 || g.At.Line > lines || g.At.Column < 1 || g.Severity.Level() < finding.SeverityInfo.Level() {
				t.Errorf("%+v", g)
			}
			if g.Object.Form != manifest.Compose && g.Object.Form != manifest.Kubernetes && len(g.Edits) > 0 {
				t.Errorf("edits of a unit: %+v", g)
			}
			if !slices.ContainsFunc(edits, func(e manifest.Edit) bool { return slices.ContainsFunc(g.Edits, e.Overlaps) }) {
				edits = append(edits, g.Edits...)
			}
		}
		if len(edits) == 0 {
			return
		}
		if after, err := file.Apply(edits); err == nil {
			if again := manifest.Parse("a.yaml", after.Text); len(again.Objects) != len(after.Objects) {
				t.Errorf("read back otherwise:\n%s", after.Text)
			}
		}
	})
}

// TestWorst: of too many findings the most severe stay, in the order of the text, whatever order they are found in.
func TestWorst(t *testing.T) {
	text := "kind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n"
	for i := range 300 {
		value := "1GiB"
		if i%10 == 9 {
			value = "x" // an error
		}
		text += "  - {name: c, env: [{name: GOMEMLIMIT, value: " + value + "}, {name: GOMAXPROCS, value: \"99\"}], resources: {limits: {cpu: 1}}}\n"
	}
	f := manifest.Parse("p.yaml", []byte(text))
	all := lint.Check([]*manifest.File{f})
	count := func(r lint.Result) map[finding.Severity]int {
		n := map[finding.Severity]int{}
		for _, f := range r.Found {
			n[f.Severity]++
		}
		return n
	}
	errors := count(all)[finding.SeverityError]
	for _, most := range []int{1, errors, errors + 10, len(all.Found), len(all.Found) + 1} {
		r := lint.Worst([]*manifest.File{f}, most)
		if want := min(most, len(all.Found)); len(r.Found) != want || r.Left != len(all.Found)-want || r.Ignored != all.Ignored {
			t.Errorf("at most %d: %d and %d left, of %d", most, len(r.Found), r.Left, len(all.Found))
		}
		if got := count(r)[finding.SeverityError]; got != min(most, errors) {
			t.Errorf("at most %d: %d errors, of %d", most, got, errors)
		}
		if !slices.IsSortedFunc(r.Found, func(a, b lint.Found) int { return a.At.Line - b.At.Line }) {
			t.Errorf("at most %d: not in order", most)
		}
	}
}
