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
		if s.every == (len(s.paths) > 0) {
			t.Errorf("%s: every %v, with paths %q", s.name, s.every, s.paths)
		}
		if s.cpus < 1 || s.cpus > 2 || s.seconds == 0 {
			t.Errorf("%s: %d CPUs, %d seconds", s.name, s.cpus, s.seconds)
		}
		for _, p := range s.paths {
			if strings.HasPrefix(p, ":(") {
				continue // git's pathspec syntax
			}
			if _, err := os.Stat(filepath.Join(root, p)); err != nil {
				t.Errorf("%s has a path that does not exist: %v", s.name, err)
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

// TestPaths: the paths of a stage include all packages that its tests import.
func TestPaths(t *testing.T) {
	const module = "github.com/snug-go/snug/"
	beside := []string{
		"e2e/internal/gate",     // it decides what runs, not how it ends
		"cmd/snug/internal/cli", // the whole tool: the stage tests it with programs of other releases, which other paths read
	}
	for _, s := range stages {
		var dirs []string
		for _, m := range regexp.MustCompile(`gotest [^\n]*`).FindAllString(s.script, -1) {
			for word := range strings.FieldsSeq(m) {
				if dir, ok := strings.CutPrefix(word, "./"); ok && dir != "..." && !slices.Contains(beside, dir) {
					dirs = append(dirs, word)
				}
			}
		}
		if s.every || len(dirs) == 0 {
			continue
		}
		cmd := exec.CommandContext(t.Context(), "go", slices.Concat([]string{"list", "-test", "-deps", "-f", "{{with .Module}}{{$.ImportPath}}{{end}}"}, dirs)...)
		cmd.Dir = root
		imports, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range strings.Fields(string(imports)) {
			dir, ours := strings.CutPrefix(strings.TrimSuffix(name, "_test"), module)
			if !ours || strings.HasSuffix(dir, ".test") || slices.Contains(beside, dir) {
				continue
			}
			if !slices.ContainsFunc(s.paths, func(p string) bool { return p == dir || strings.HasPrefix(dir, p+"/") }) {
				t.Errorf("the tests of %s import %s, which is not in its paths", s.name, dir)
			}
		}
	}
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
	seen := map[string]bool{}
	for file := range strings.SplitSeq(files, "\n") {
		source, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		dir, _, _ := strings.Cut(filepath.Dir(file), "/testdata")
		for _, m := range word.FindAllStringSubmatch(string(source), -1) {
			w := strings.Join(m[1:], "")
			if seen[dir+" "+w] {
				continue
			}
			seen[dir+" "+w] = true
			if !slices.ContainsFunc(stages, func(s stage) bool { return s.has(w) && s.tests(dir) }) {
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

// tests reports whether the script runs the tests of a directory.
func (s stage) tests(dir string) bool {
	return regexp.MustCompile(`gotest .*( work\b|\./` + regexp.QuoteMeta(dir) + `( |$))`).MatchString(strings.ReplaceAll(s.script, "\n", " \n"))
}

// repo maps a commit to the files that have changed since, and to its age in commits.
type repo map[string]struct {
	files []string
	ago   int
}

func (r repo) changed(commit string, paths []string) ([]string, error) {
	var found []string
	for _, f := range r[commit].files {
		if slices.ContainsFunc(paths, func(p string) bool { return strings.HasPrefix(f, p) }) {
			found = append(found, f)
		}
	}
	return found, nil
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
		{name: "made", paths: []string{"made"}, seconds: 1},
		{name: "long", paths: []string{"deploy", "limits"}, seconds: 1, after: []string{"made"}},
		{name: "short", paths: []string{"limits"}, seconds: 1},
		{name: "calm", paths: []string{"docs"}, seconds: 1},
		{name: "new", paths: []string{"docs"}, seconds: 30},
	}
	last := results{
		"made":  {commit: "a", seconds: 300},
		"long":  {commit: "b", seconds: 2700},
		"short": {commit: "a", seconds: 60},
		"calm":  {commit: "a", seconds: 60},
	}
	past := repo{"a": {files: []string{"limits/x.go"}, ago: 3}, "b": {files: []string{"limits/y.go"}, ago: 1}}
	tests := []struct {
		within time.Duration
		chosen string
		left   []string
	}{
		{2 * time.Hour, "always made long short new", []string{"calm: nothing"}},
		{time.Hour, "always short new", []string{"made: nothing", "long: limits/y.go has changed since b, but it takes about 50m0s", "calm: nothing"}},
		{time.Second, "always", []string{"made: nothing", "long: limits/y.go", "short: limits/x.go", "calm: nothing", "new: it has not passed yet, but"}},
	}
	for _, test := range tests {
		chosen, left, err := due(all, last, past, test.within)
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
		chosen, _, err := due(all, results{"a": {commit: "new"}, "b": test.b}, past, time.Hour)
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
