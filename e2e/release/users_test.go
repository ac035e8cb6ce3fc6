// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// action is an action of GitHub, as far as this repository's use it.
type action struct {
	Name, Description string
	Branding          map[string]string
	Inputs            map[string]struct {
		Description, Default string
		Required             bool
	}
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using string
		Steps []struct {
			Name, ID, If, Shell, Run string
			Env                      map[string]string
		}
	}
}

// clone is a checkout of this tree as runners and pre-commit have it. If it has a release, it
// contains the checksums of the release.
func clone(t *testing.T, hasRelease bool) string {
	t.Helper()
	dir, tr := t.TempDir(), theTree(t)
	names := []string{"install.sh", "contrib/snug.sh", "check/action.yml", "bench/action.yml", ".pre-commit-hooks.yaml"}
	for _, name := range names {
		if err := copyFile(filepath.Join(dir, name), filepath.Join(tr.root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if hasRelease {
		put(t, filepath.Join(dir, pinFile), string(read(t, filepath.Join(released(t).dir, sumsFile))))
	}
	return dir
}

// runner is a machine of GitHub's.
type runner struct {
	clone   string            // of the action
	dir     string            // the user's checkout
	context map[string]string // "github.event_name"
	env     []string
}

// run runs an action's steps with these inputs, as a runner does it. It returns the last result, the
// action's outputs and the summary of the job.
func (r runner) run(t *testing.T, name string, inputs map[string]string) (last result, outputs map[string]string, summary string) {
	t.Helper()
	var a action
	d := yaml.NewDecoder(bytes.NewReader(read(t, filepath.Join(r.clone, name, "action.yml"))))
	d.KnownFields(true)
	if err := d.Decode(&a); err != nil {
		t.Fatal(err)
	}
	if a.Runs.Using != "composite" {
		t.Fatalf("%+v", a.Runs)
	}
	context := map[string]string{}
	for name, value := range r.context {
		context[name] = value
	}
	for name, input := range a.Inputs {
		context["inputs."+name] = r.expand(t, context, input.Default)
	}
	for name, value := range inputs {
		if _, ok := a.Inputs[name]; !ok {
			t.Fatalf("no input %s", name)
		}
		context["inputs."+name] = value
	}
	temp := t.TempDir()
	summaryFile := put(t, filepath.Join(temp, "summary"), "")
	for i, step := range a.Runs.Steps {
		if step.If != "" && !holds(t, context, step.If) {
			continue
		}
		if strings.Contains(step.Run, "${{") {
			t.Errorf("%s: an input becomes part of the script: a file name could run commands", step.Name)
		}
		file := put(t, filepath.Join(temp, fmt.Sprint("output", i)), "")
		env := append([]string{"GITHUB_ACTION_PATH=" + filepath.Join(r.clone, name), "RUNNER_TEMP=" + temp, "GITHUB_OUTPUT=" + file, "GITHUB_STEP_SUMMARY=" + summaryFile}, r.env...)
		for name, value := range step.Env {
			env = append(env, name+"="+r.expand(t, context, value))
		}
		last = try(t, r.dir, env, step.Shell, "--noprofile", "--norc", "-eo", "pipefail", put(t, filepath.Join(temp, "step.sh"), step.Run))
		if last.code != 0 {
			break
		}
		for line := range strings.Lines(string(read(t, file))) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			context["steps."+step.ID+".outputs."+name] = value
		}
	}
	outputs = map[string]string{}
	for name, o := range a.Outputs {
		outputs[name] = r.expand(t, context, o.Value)
	}
	return last, outputs, string(read(t, summaryFile))
}

var expression = regexp.MustCompile(`\$\{\{ ([a-z_.-]+) \}\}`)

func (r runner) expand(t *testing.T, context map[string]string, text string) string {
	return expression.ReplaceAllStringFunc(text, func(e string) string { return context[expression.FindStringSubmatch(e)[1]] })
}

// holds evaluates a condition: comparisons with ==, joined by &&.
func holds(t *testing.T, context map[string]string, condition string) bool {
	t.Helper()
	for _, part := range strings.Split(condition, " && ") {
		name, want, ok := strings.Cut(part, " == ")
		if !ok {
			t.Fatalf("condition %q", condition)
		}
		if context[name] != strings.Trim(want, "'") {
			return false
		}
	}
	return true
}

// project is a user's repository with mistakes in manifests.
func project(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":           "module example.com/shop\n\ngo 1.26\n",
		"main.go":          "package main\n\nfunc main() {}\n",
		"good/pod.yaml":    "kind: Pod\nspec: {containers: [{name: a, image: i, env: [{name: GOGC, value: '200'}]}]}\n",
		"bad dir/bad.yaml": "kind: Pod\nspec: {containers: [{name: a, image: i, env: [{name: GOMEMLIMIT, value: 512Mi}]}]}\n",
	} {
		put(t, filepath.Join(dir, name), text)
	}
	return dir
}

// TestCheckAction: the action downloads the release once, checks, annotates and writes SARIF.
func TestCheckAction(t *testing.T) {
	downloads := 0
	releases := counted(t, &downloads)
	r := runner{clone: clone(t, true), dir: project(t), env: []string{"SNUG_RELEASES=" + releases}}
	last, _, _ := r.run(t, "check", map[string]string{"paths": "good\n"})
	if last.code != 0 || !strings.Contains(last.out, version) || strings.Contains(last.out, "::error") {
		t.Errorf("good: %+v", last)
	}
	last, _, _ = r.run(t, "check", map[string]string{"sarif": "snug.sarif"})
	if last.code != 3 || !strings.Contains(last.out, "::error file=bad dir/bad.yaml,line=2,col=73,title=gomemlimit-malformed::") {
		t.Errorf("bad: %+v", last)
	}
	var log struct{ Runs []struct{ Results []any } }
	if err := json.Unmarshal(read(t, filepath.Join(r.dir, "snug.sarif")), &log); err != nil || len(log.Runs) != 1 || len(log.Runs[0].Results) != 1 {
		t.Errorf("%+v, %v", log, err)
	}
	if last, _, _ = r.run(t, "check", map[string]string{"paths": "bad dir", "fail-on": "never"}); last.code != 0 || !strings.Contains(last.out, "::error") {
		t.Errorf("never: %+v", last)
	}
	if downloads != 1 {
		t.Errorf("%d downloads, want 1", downloads)
	}
	wrong := runner{clone: clone(t, true), dir: r.dir, env: []string{"SNUG_RELEASES=" + serve(t, map[string]string{archiveName(version, system{"linux", "amd64"}): "x"})}}
	if last, _, _ := wrong.run(t, "check", nil); last.code != 1 || !strings.Contains(last.stderr, "wrong checksum") {
		t.Errorf("another archive: %+v", last)
	}
}

// counted is serve that counts the archives downloaded.
func counted(t *testing.T, downloads *int) string {
	base, err := url.Parse(serve(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(base) // no redirect: install.sh follows those to https alone
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*downloads++
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestBuildsWithoutRelease: a commit without a release is built, and without Go that is an error.
func TestBuildsWithoutRelease(t *testing.T) {
	released(t) // needs the word
	dir, tr := clone(t, false), theTree(t)
	for _, sub := range []string{".", "cmd/snug"} {
		names, err := tr.files(t.Context(), sub)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if sub != "." || strings.HasSuffix(name, ".go") || strings.HasSuffix(name, ".tmpl") || name == "go.mod" {
				if err := copyFile(filepath.Join(dir, sub, name), filepath.Join(tr.root, sub, name)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, name := range []string{"go.work", "go.work.sum", "e2e/go.mod", "contrib/golangci/go.mod", "contrib/otel/go.mod", "contrib/prometheus/go.mod"} {
		if err := copyFile(filepath.Join(dir, name), filepath.Join(tr.root, name)); err != nil {
			t.Fatal(err)
		}
	}
	r := runner{clone: dir, dir: project(t), env: []string{"PATH=/usr/bin:/bin"}}
	if last, _, _ := r.run(t, "check", map[string]string{"paths": "good"}); last.code != 1 || !strings.Contains(last.stderr, "there is no go command to build it") {
		t.Errorf("without Go: %+v", last)
	}
	r.env = []string{"GOFLAGS="}
	if last, _, _ := r.run(t, "check", map[string]string{"paths": "good"}); last.code != 0 {
		t.Errorf("%+v", last)
	}
}

// comments is a server with the comments of a pull request, as GitHub's.
type comments struct {
	*httptest.Server
	all    []map[string]any
	forbid bool // writing
}

func newComments(t *testing.T) *comments {
	c := &comments{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const list, one = "/repos/you/shop/issues/7/comments", "/repos/you/shop/issues/comments/"
		if r.Header.Get("Authorization") != "Bearer secret" || c.forbid && r.URL.Path != "/graphql" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		var body map[string]any
		if r.Method != "GET" {
			json.NewDecoder(r.Body).Decode(&body)
		}
		switch {
		case r.Method == "POST" && r.URL.Path == "/graphql":
			json.NewEncoder(w).Encode(c.page(body["variables"].(map[string]any)["after"]))
		case r.Method == "POST" && r.URL.Path == list:
			body["id"], body["mine"] = len(c.all)+1, true
			c.all = append(c.all, body)
		case r.Method == "PATCH" && strings.HasPrefix(r.URL.Path, one):
			for _, old := range c.all {
				if one+fmt.Sprint(old["id"]) == r.URL.Path {
					old["body"] = body["body"]
				}
			}
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// page is the answer to the action's query: 100 comments after a cursor.
func (c *comments) page(after any) any {
	from := 0
	fmt.Sscanf(fmt.Sprint(after), "after %d", &from)
	to := min(from+100, len(c.all))
	nodes := []any{}
	for _, one := range c.all[from:to] {
		nodes = append(nodes, map[string]any{"url": fmt.Sprintf("%s/you/shop/pull/7#issuecomment-%v", c.URL, one["id"]), "body": one["body"], "viewerDidAuthor": one["mine"] == true})
	}
	type m = map[string]any
	return m{"data": m{"repository": m{"pullRequest": m{"comments": m{"nodes": nodes, "pageInfo": m{"hasNextPage": to < len(c.all), "endCursor": fmt.Sprint("after ", to)}}}}}}
}

// TestBenchComment: the action replaces its own comment, wherever it is, and nobody else's.
func TestBenchComment(t *testing.T) {
	var a action
	if err := yaml.Unmarshal(read(t, filepath.Join(theTree(t).root, "bench", "action.yml")), &a); err != nil {
		t.Fatal(err)
	}
	script := ""
	for _, step := range a.Runs.Steps {
		if step.Name == "Comment" {
			script = step.Run
		}
	}
	const mark = "<!-- snug bench: spin -->"
	c := newComments(t)
	for i := range 250 {
		text := "looks good"
		if i%50 == 0 {
			text = mark + "\nof somebody else"
		}
		c.all = append(c.all, map[string]any{"id": i + 1, "body": text})
	}
	c.all[170]["mine"] = true // by the same token, about something else
	event := put(t, filepath.Join(t.TempDir(), "event.json"), `{"pull_request": {"number": 7}}`)
	for _, text := range []string{"first", "second"} {
		comment := put(t, filepath.Join(t.TempDir(), "comment.md"), mark+"\n"+text)
		env := []string{"GITHUB_API_URL=" + c.URL, "GITHUB_GRAPHQL_URL=" + c.URL + "/graphql", "GITHUB_REPOSITORY=you/shop", "GITHUB_EVENT_PATH=" + event,
			"SNUG_TOKEN=secret", "SNUG_NAME=spin", "SNUG_COMMENT=" + comment}
		r := try(t, t.TempDir(), env, "bash", "--noprofile", "--norc", "-eo", "pipefail", put(t, filepath.Join(t.TempDir(), "step.sh"), script))
		if r.code != 0 || r.out != "" || len(c.all) != 251 || c.all[250]["body"] != mark+"\n"+text {
			t.Fatalf("%s: %+v, %d comments, the last %v", text, r, len(c.all), c.all[len(c.all)-1])
		}
	}
	for i, one := range c.all[:250] {
		if text := one["body"]; text != "looks good" && text != mark+"\nof somebody else" {
			t.Errorf("comment %d was changed: %q", i, text)
		}
	}
}

// TestBenchAction measures a command for which another setting is much better. Its first run fails
// the job and comments; a run with the stored document does not fail, and replaces the comment.
func TestBenchAction(t *testing.T) {
	c := newComments(t)
	c.all = []map[string]any{{"id": 1, "body": "looks good"}}
	dir := project(t)
	event := put(t, filepath.Join(t.TempDir(), "event.json"), `{"pull_request": {"number": 7}}`)
	r := runner{clone: clone(t, true), dir: dir, env: []string{
		"SNUG_RELEASES=" + serve(t, nil), "GITHUB_API_URL=" + c.URL, "GITHUB_GRAPHQL_URL=" + c.URL + "/graphql", "GITHUB_REPOSITORY=you/shop", "GITHUB_EVENT_PATH=" + event, "GOGC=", "GOMAXPROCS=", "GOMEMLIMIT=",
	}, context: map[string]string{"github.token": "secret", "github.event_name": "pull_request"}}
	// It does much less with GOGC=50; snug does not look inside.
	work := "i=0; n=30000; [ \"$GOGC\" != 50 ] || n=1000; while [ $i -lt $n ]; do i=$((i+1)); done"
	inputs := map[string]string{
		"args":     "--no-limit\n--gogc\n100,50\n--rounds\n8\n--\nsh\n-c\n" + work + "\n",
		"baseline": "stored.json", "output": "new.json", "name": "spin",
	}
	last, outputs, summary := r.run(t, "bench", inputs)
	if last.code != 3 || outputs["verdict"] != "better" || !strings.Contains(summary, "### snug bench: spin") || !strings.Contains(summary, "| GOGC=50 |") {
		t.Errorf("%+v, %v\n%s", last, outputs, summary)
	}
	if len(c.all) != 2 || c.all[1]["body"] != summary {
		t.Errorf("comments: %v, want the second as the summary:\n%s", c.all, summary)
	}
	if err := os.Rename(filepath.Join(dir, "new.json"), filepath.Join(dir, "stored.json")); err != nil {
		t.Fatal(err)
	}
	last, outputs, summary = r.run(t, "bench", inputs)
	if last.code != 0 || outputs["verdict"] != "known" || !strings.Contains(summary, "The baseline says the same") || !strings.Contains(summary, " → ") {
		t.Errorf("%+v, %v\n%s", last, outputs, summary)
	}
	if len(c.all) != 2 || c.all[1]["body"] != summary {
		t.Errorf("comments: %v, want the second replaced by\n%s", c.all, summary)
	}
	// A pull request of a fork: the token may not write. And a setting that cannot win.
	c.forbid = true
	inputs["args"] = "--no-limit\n--gogc\n100,99\n--rounds\n8\n--\nsh\n-c\ntrue\n"
	delete(inputs, "baseline")
	last, outputs, _ = r.run(t, "bench", inputs)
	if last.code != 0 || outputs["verdict"] != "keep" || !strings.Contains(last.out, "::warning::the comment could not be written") {
		t.Errorf("%+v, %v", last, outputs)
	}
	inputs["args"] = "--rounds\nmany\n"
	if last, outputs, _ = r.run(t, "bench", inputs); last.code != 2 || !strings.Contains(last.stderr+last.out, "many") {
		t.Errorf("%+v, %v", last, outputs)
	}
}

// TestHooks runs the hooks by pre-commit itself.
func TestHooks(t *testing.T) {
	releases := serve(t, nil)
	venv := filepath.Join(t.TempDir(), "venv")
	out(t, "python3", "-m", "venv", venv)
	out(t, filepath.Join(venv, "bin", "pip"), "install", "--quiet", "--disable-pip-version-check", preCommit)
	source, dir := clone(t, true), project(t)
	for _, repo := range []string{source, dir} {
		commit(t, repo)
	}
	revision := strings.TrimSpace(out(t, "git", "-C", source, "rev-parse", "HEAD"))
	put(t, filepath.Join(dir, ".pre-commit-config.yaml"), "repos:\n- repo: "+source+"\n  rev: "+revision+"\n  hooks:\n  - id: snug-check\n  - id: snug-lint\n  - id: snug-lint-fix\n")
	commit(t, dir)
	env := []string{"SNUG_RELEASES=" + releases, "PRE_COMMIT_HOME=" + t.TempDir(), "GOFLAGS="}
	hook := func(id string, args ...string) result {
		return try(t, dir, env, append([]string{filepath.Join(venv, "bin", "pre-commit"), "run", "--color=never", id}, args...)...)
	}
	for id, args := range map[string][]string{"snug-lint": {"--files", "good/pod.yaml"}} {
		if r := hook(id, args...); r.code != 0 || !strings.Contains(r.out, "Passed") {
			t.Errorf("%s on good files: %+v", id, r)
		}
	}
	for _, id := range []string{"snug-check", "snug-lint"} {
		if r := hook(id, "--all-files"); r.code != 1 || !strings.Contains(r.out, "- exit code: 3") || !strings.Contains(r.out, "gomemlimit-malformed") {
			t.Errorf("%s: %+v", id, r)
		}
	}
	if r := hook("snug-lint-fix", "--all-files"); r.code != 1 || !strings.Contains(r.out, "- files were modified by this hook") {
		t.Errorf("fix: %+v", r)
	}
	if r := hook("snug-check", "--all-files"); r.code != 0 {
		t.Errorf("after the fix: %+v", r)
	}
}

// preCommit is the release in use.
const preCommit = "pre-commit==4.7.0"

// commit makes a commit of all files of a directory.
func commit(t *testing.T, dir string) {
	t.Helper()
	script := "[ -e .git ] || git init -q; git add -A; git -c user.name=you -c user.email=you@example.com -c commit.gpgsign=false commit -qm all"
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", script)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(errors.Join(err, errors.New(string(text))))
	}
}

// TestScripts: the shell scripts and the workflows have no mistake that shellcheck or actionlint
// finds.
func TestScripts(t *testing.T) {
	released(t) // needs the word
	root := theTree(t).root
	if r := try(t, root, nil, "shellcheck", "install.sh", "contrib/snug.sh"); r.code != 0 {
		t.Errorf("%s%s", r.out, r.stderr)
	}
	if r := try(t, root, nil, kubebuild.Command(t, "actionlint")); r.code != 0 {
		t.Errorf("%s%s", r.out, r.stderr)
	}
}
