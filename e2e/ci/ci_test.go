// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const root = "../.."

// TestStages checks that the table is consistent and that the paths it names exist.
func TestStages(t *testing.T) {
	names := map[string]bool{}
	for i, s := range stages {
		if names[s.name] {
			t.Errorf("two stages %s", s.name)
		}
		if !s.every && len(s.tests)+len(s.programs)+len(s.files) == 0 || s.every && len(s.programs)+len(s.files) > 0 {
			t.Errorf("%s: every %v, with programs %q and files %q", s.name, s.every, s.programs, s.files)
		}
		if s.seconds > 480 && !s.long && s.keeps == "" {
			t.Errorf("%s: %d seconds: only a long stage may take over eight minutes", s.name, s.seconds)
		}
		if s.cpus < 1 || s.cpus > 2 || s.seconds == 0 {
			t.Errorf("%s: %d CPUs, %d seconds", s.name, s.cpus, s.seconds)
		}
		for _, p := range s.files {
			if strings.Contains(p, "*") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, p)); err != nil {
				t.Errorf("%s has a file that does not exist: %v", s.name, err)
			}
		}
		for _, a := range s.after {
			if !names[a] {
				t.Errorf("%s comes after %s, which does not precede it", s.name, a)
			}
		}
		names[s.name] = true
		if i == 0 && s.name != "packages" {
			t.Errorf("the first stage is %s", s.name)
		}
	}
}

// loaded returns the packages of this tree.
func loaded(t *testing.T) graph {
	t.Helper()
	abs, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	g, err := load(t.Context(), abs)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestGraph: stages depend on what their packages import and read, and on no tests but their own.
func TestGraph(t *testing.T) {
	g := loaded(t)
	n, err := g.needs(stage{name: "x", tests: []string{"./cmd/snug/internal/cluster/policy"}, programs: []string{"./e2e/fit/pool"}, files: []string{"docs", "*_windows.go"}})
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]bool{
		"cmd/snug/internal/cluster/policy/config.go":         true,
		"cmd/snug/internal/cluster/policy/policy_test.go":    true,
		"cmd/snug/internal/cluster/policy/testdata/x.yaml":   true,
		"cmd/snug/internal/cluster/policy/default.yaml":      true,
		"deploy/helm/snug/files/policy/values.yaml.tmpl":     true, // embedded by an import
		"deploy/helm/snug/values.yaml":                       false,
		"internal/plan/procs.go":                             true, // an import of an import
		"internal/plan/procs_test.go":                        false,
		"cmd/snug/internal/cluster/webhook/webhook.go":       false, // imports it
		"e2e/fit/pool/main.go":                               true,
		"snug.go":                                            true, // an import of the program
		"fit_test.go":                                        false,
		"README.md":                                          false,
		"go.mod":                                             true,
		"cmd/snug/go.sum":                                    true,
		"contrib/otel/go.mod":                                false,
		"docs/cluster.md":                                    true,
		"cmd/snug/internal/process/proc/anything_windows.go": true,
	} {
		if got := n.has(file); got != want {
			t.Errorf("%s: %v, want %v", file, got, want)
		}
	}
	if _, err := g.depends(stages); err != nil {
		t.Error(err)
	}
	if _, err := g.needs(stage{tests: []string{"./none/..."}}); err == nil {
		t.Error("a package that does not exist")
	}
	// Each package with tests has a stage that runs them for every change or for a change to it.
	for dir := range g {
		tests, _ := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
		if len(tests) > 0 && !slices.ContainsFunc(stages, func(s stage) bool { return !s.long && s.runs(g, dir) }) {
			t.Errorf("no stage of .ci/run tests ./%s", dir)
		}
	}
}

// runs reports whether a stage runs the tests of a directory.
func (s stage) runs(g graph, dir string) bool {
	return slices.ContainsFunc(s.tests, func(p string) bool { return slices.Contains(g.named(p), dir) })
}

// word matches the ways in which a test names its word of SNUG_E2E.
var word = regexp.MustCompile(`gate\.(?:Need|Root|On)\(t, "([a-z]+)"\)|set SNUG_E2E=([a-z]+) to |SNUG_E2E=([a-z]+) needs|\[!e2e:([a-z]+)\]`)

// TestEveryWord: for each package and word of its tests, a stage runs that package with that word,
// and CONTRIBUTING.md describes the word.
func TestEveryWord(t *testing.T) {
	files, err := git(t.Context(), root, "grep", "-l", "--untracked", "-E", `gate\.(Need|Root|On)\(|SNUG_E2E=|\[!e2e:`, "--", "*_test.go", "*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	g := loaded(t)
	seen := map[string]bool{}
	for file := range strings.SplitSeq(files, "\n") {
		source, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		dir, _, _ := strings.Cut(filepath.Dir(file), "/testdata")
		dir = strings.TrimPrefix(dir, "./")
		for _, m := range word.FindAllStringSubmatch(string(source), -1) {
			w := strings.Join(m[1:], "")
			if seen[dir+" "+w] {
				continue
			}
			seen[dir+" "+w] = true
			if !slices.ContainsFunc(stages, func(s stage) bool { return s.has(w) && s.runs(g, dir) }) {
				t.Errorf("no stage runs ./%s with SNUG_E2E=%s", dir, w)
			}
			if !strings.Contains(string(text), "\n| "+w+" | ") {
				t.Errorf("CONTRIBUTING.md does not say what SNUG_E2E=%s needs", w)
			}
		}
	}
	if len(seen) < 20 {
		t.Errorf("found %d pairs of package and word, want 20 or more", len(seen))
	}
}

// has reports whether SNUG_E2E contains the word.
func (s stage) has(word string) bool { return slices.Contains(strings.Split(s.words, ","), word) }

// repo maps a commit to the files that have changed since, and to its age in commits.
type repo map[string]struct {
	files []string
	ago   int
}

func (r repo) changed(commit string) ([]string, error) { return r[commit].files, nil }

// below reports whether a file is below those of a stage.
func below(s stage, file string) bool {
	return slices.ContainsFunc(s.files, func(p string) bool { return strings.HasPrefix(file, p) })
}

func (r repo) behind(commit string) (int, error) {
	if _, ok := r[commit]; !ok {
		return 0, errors.New("unknown revision")
	}
	return r[commit].ago, nil
}

func TestDue(t *testing.T) {
	all := []stage{
		{name: "always", every: true, seconds: 600},
		{name: "made", files: []string{"made"}, seconds: 1},
		{name: "long", files: []string{"deploy", "limits"}, seconds: 1, after: []string{"made"}},
		{name: "short", files: []string{"limits"}, seconds: 1},
		{name: "calm", files: []string{"docs"}, seconds: 1},
		{name: "new", files: []string{"docs"}, seconds: 30},
		{name: "endless", files: []string{"limits"}, long: true},
	}
	last := results{
		"made":    {commit: "a", seconds: 300},
		"long":    {commit: "b", seconds: 2700},
		"short":   {commit: "a", seconds: 60},
		"endless": {commit: "a", seconds: 2},
		"calm":    {commit: "a", seconds: 60},
	}
	past := repo{"a": {files: []string{"limits/x.go"}, ago: 3}, "b": {files: []string{"limits/y.go"}, ago: 1}}
	tests := []struct {
		within time.Duration
		chosen string
		left   []string
	}{
		{2 * time.Hour, "always made long short new", []string{"calm: nothing", "endless: limits/x.go has changed since a; it takes about 2s"}},
		{time.Hour, "always short new", []string{"made: nothing", "long: limits/y.go has changed since b, but it takes about 50m0s", "calm: nothing", "endless: limits/x.go has changed since a; it takes about 2s"}},
		{time.Second, "always", []string{"made: nothing", "long: limits/y.go", "short: limits/x.go", "calm: nothing", "new: it has not passed yet, but", "endless: limits/x.go has changed since a; it takes about 2s"}},
	}
	for _, test := range tests {
		chosen, left, err := due(all, last, past, below, test.within)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range chosen {
			names = append(names, s.name)
		}
		if strings.Join(names, " ") != test.chosen || !slices.EqualFunc(left, test.left, strings.HasPrefix) {
			t.Errorf("within %v: %q, left out %q", test.within, names, left)
		}
	}
}

// TestOldResults: a stage whose result is too old runs again; if it does not fit, that is an error.
func TestOldResults(t *testing.T) {
	all := []stage{{name: "always", every: true}, {name: "a"}, {name: "b"}}
	past := repo{"new": {ago: maxBehind}, "old": {ago: maxBehind + 1}}
	for name, test := range map[string]struct {
		b      result
		chosen string // or the end of the error
	}{
		"in time":       {result{commit: "new"}, "always"},
		"too old":       {result{commit: "old", seconds: 60}, "always b"},
		"a lost commit": {result{commit: "rebased", seconds: 60}, "always b"},
		"does not fit":  {result{commit: "old", seconds: 3601}, "run .ci/full b and commit that file"},
	} {
		chosen, _, err := due(all, results{"a": {commit: "new"}, "b": test.b}, past, below, time.Hour)
		var names []string
		for _, s := range chosen {
			names = append(names, s.name)
		}
		got := strings.Join(names, " ")
		if err != nil {
			got = err.Error()
		}
		if !strings.HasSuffix(got, test.chosen) {
			t.Errorf("%s: %q, want %q", name, got, test.chosen)
		}
	}
}

func TestResults(t *testing.T) {
	want := results{
		"machines": {commit: "0123456789ab", date: "2026-11-22", seconds: 812, tests: 14, skipped: []string{"vm.TestA", "vm.TestB/c"}},
		"node":     {commit: "0123456789ab", date: "2026-11-22", seconds: 200, tests: 3},
	}
	order := []stage{{name: "node"}, {name: "machines"}, {name: "never"}}
	text := want.text(order)
	got, err := parseResults(text)
	if err != nil || got.text(order) != text || len(got) != 2 || !slices.Equal(got["machines"].skipped, want["machines"].skipped) {
		t.Errorf("%v, %v from\n%s", got, err, text)
	}
	for _, bad := range []string{"node 0123456 2026-11-22 200 3", "node 0123456 2026-11-22 long 3 -", "node --stat 2026-11-22 200 3 -"} {
		if _, err := parseResults("# head\n" + bad); err == nil || !strings.Contains(err.Error(), ".ci/full.txt:2: ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestMayStart(t *testing.T) {
	all := []stage{{name: "a", cpus: 2}, {name: "b", cpus: 1}, {name: "c", cpus: 1, after: []string{"b"}}, {name: "d", cpus: 1, after: []string{"not chosen"}}}
	for name, test := range map[string]struct {
		state []progress
		want  string
	}{
		"all may, each alone":      {[]progress{waits, waits, waits, waits}, "abd"},
		"one that needs all":       {[]progress{runs, waits, waits, waits}, ""},
		"beside one":               {[]progress{waits, runs, waits, waits}, "d"},
		"what it needs has ended":  {[]progress{waits, ended, waits, runs}, "c"},
		"two are enough":           {[]progress{waits, runs, waits, runs}, ""},
		"nothing that has started": {[]progress{ended, ended, ended, ended}, ""},
	} {
		got := ""
		for i := range all {
			if mayStart(all, test.state, i) {
				got += all[i].name
			}
		}
		if got != test.want {
			t.Errorf("%s: %q may start, want %q", name, got, test.want)
		}
	}
}

// TestRunner runs stages that pass, fail and skip tests.
func TestRunner(t *testing.T) {
	var out strings.Builder
	r := &runner{root: t.TempDir(), dir: t.TempDir(), out: &out}
	var passed []string
	outcomes := r.all(t.Context(), []stage{
		{name: "good", cpus: 1, words: "a,b", script: `
echo "words $SNUG_E2E"
cat >"$CI_STAGE/1.json" <<END
{"Action":"pass","Package":"m/x","Test":"TestA"}
{"Action":"pass","Package":"m/x","Test":"TestA/sub"}
{"Action":"skip","Package":"m/x","Test":"TestB"}
{"Action":"skip","Package":"m/empty"}
{"Action":"pass","Package":"m/x"}
END`},
		{name: "bad", cpus: 2, script: "echo before; false; echo after"},
		{name: "next", cpus: 2, after: []string{"bad"}, script: "true"},
		{name: "empty", cpus: 2, script: "gotest() { true; }; gotest ./..."},
	}, func(o outcome) {
		if o.err == nil {
			passed = append(passed, o.name)
		}
	})
	good, bad, next := outcomes[0], outcomes[1], outcomes[2]
	if good.err != nil || good.tests != 1 || !slices.Equal(good.skipped, []string{"x.TestB"}) {
		t.Errorf("good: %+v", good)
	}
	if bad.err == nil || next.err != nil {
		t.Errorf("bad: %v, next: %v", bad.err, next.err)
	}
	if slices.Sort(passed); !slices.Equal(passed, []string{"good", "next"}) {
		t.Errorf("passed: %q", passed)
	}
	for _, want := range []string{"== empty FAILED: no test has passed", "words a,b\n== good passed", "before\n== bad FAILED: exit status 1"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "after\n") {
		t.Error("a script continued after a failure")
	}
	if text := table(outcomes, nil, time.Minute); !regexp.MustCompile(`(?m)^bad +[0-9]+ .*FAILED`).MatchString(text) {
		t.Errorf("table\n%s", text)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if o := r.all(ctx, []stage{{name: "late", cpus: 1, script: "true"}}, func(outcome) {}); !errors.Is(o[0].err, context.Canceled) {
		t.Errorf("after cancel: %v", o[0].err)
	}
}

func TestKeep(t *testing.T) {
	root := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	run("init", "-q")
	if err := os.MkdirAll(root+"/.ci", 0o755); err != nil {
		t.Fatal(err)
	}
	run("commit", "-q", "--allow-empty", "-m", "one")
	kept := func(name string) bool {
		text, _ := os.ReadFile(root + "/" + resultFile)
		return strings.Contains(string(text), "\n"+name+" ")
	}
	ctx, cancel := context.WithCancel(t.Context())
	keep, err := keeper(ctx, root, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	cancel() // results are still kept
	keep(outcome{stage: stage{name: "node"}, took: time.Minute})
	keep(outcome{stage: stage{name: "vet", every: true}})
	keep(outcome{stage: stage{name: "fleet"}, tests: 3})
	if !kept("node") || !kept("fleet") || kept("vet") {
		t.Errorf("kept node %v, fleet %v, vet %v; want all but vet, which .ci/run always runs", kept("node"), kept("fleet"), kept("vet"))
	}
	if keep(outcome{stage: stage{name: "fleet"}, err: errors.New("exit status 1")}); kept("fleet") || !kept("node") {
		t.Error("a failed stage keeps its result")
	}
	// A result with an uncommitted file belongs to no commit.
	if err := os.WriteFile(root+"/new.go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if keep(outcome{stage: stage{name: "kube"}}); kept("kube") {
		t.Error("kept despite an uncommitted file")
	}
	run("add", "new.go")
	run("commit", "-q", "-m", "two")
	if keep(outcome{stage: stage{name: "kube"}}); kept("kube") {
		t.Error("kept although HEAD had changed")
	}
}

func TestPlain(t *testing.T) {
	got := plain([]string{"PATH=/bin", "SNUG=off", "SNUG_LOG=1", "GOMAXPROCS=1", "GOPROXY=x", "CDPATH=/", "GIT_DIR=/x", "SNUG_LAB=lab"})
	if !slices.Equal(got, []string{"PATH=/bin", "GOPROXY=x", "SNUG_LAB=lab"}) {
		t.Errorf("%q", got)
	}
}
