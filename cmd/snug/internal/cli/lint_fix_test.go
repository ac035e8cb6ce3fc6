// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/message"
)

// fixPod is a pod with one container.
const fixPod = "kind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: a\n    image: go\n    resources: {limits: {cpu: \"2\", memory: 1Gi}}\n"

// TestLintFixLeaves checks that a fix that would harm others or cannot be made is left out, and
// that the other fixes are made.
func TestLintFixLeaves(t *testing.T) {
	gogc := "    - name: GOGC\n      value: \"150\"\n"
	memlimit := "    - name: GOMEMLIMIT\n      value: 900MiB\n"
	for _, c := range []struct {
		name, text, want string // "" = nothing changes
		ids, talk        string
	}{
		{"set twice, the first used between them", fixPod + "    env:\n    - name: GOMEMLIMIT\n      value: 700MiB\n    - name: LOG\n      value: limit=$(GOMEMLIMIT)\n" + memlimit, "", "env-duplicate", ""},
		{"set twice, used behind them", fixPod + "    args: [$(GOMEMLIMIT)]\n    env:\n    - name: GOMEMLIMIT\n      value: 700MiB\n" + memlimit + "    - name: LOG\n      value: limit=$(GOMEMLIMIT)\n",
			fixPod + "    args: [$(GOMEMLIMIT)]\n    env:\n" + memlimit + "    - name: LOG\n      value: limit=$(GOMEMLIMIT)\n", "*env-duplicate", ""},
		{"env shared with a container that uses it", fixPod + "    env: &e\n" + gogc + "    - name: LOG\n      value: gogc\n" + gogc + "  - name: b\n    image: old\n    args: [$(GOGC)]\n    env: *e\n",
			fixPod + "    env: &e\n    - name: LOG\n      value: gogc\n" + gogc + "  - name: b\n    image: old\n    args: [$(GOGC)]\n    env: *e\n", "*env-duplicate", ""},
		{"a value shared with a container of another limit", fixPod + "    env: &e\n    - name: GOMEMLIMIT\n      value: 1Gi\n  - name: b\n    image: old\n    resources: {limits: {memory: 2Gi}}\n    env: *e\n", "", "gomemlimit-malformed", ""},
		{"a value shared with a container of the same limit", fixPod + "    env: &e\n    - name: GOMEMLIMIT\n      value: 1Gi\n  - name: b\n    image: old\n    resources: {limits: {memory: 1Gi}}\n    env: *e\n",
			fixPod + "    env: &e\n    - name: GOMEMLIMIT\n      value: 921MiB\n  - name: b\n    image: old\n    resources: {limits: {memory: 1Gi}}\n    env: *e\n", "*gomemlimit-malformed", ""},
		{"a reference shared with another variable", fixPod + "    env:\n    - name: CPU_MILLI\n      valueFrom: &cpu\n        resourceFieldRef:\n          resource: limits.cpu\n          divisor: 1m\n    - name: GOMAXPROCS\n      valueFrom: *cpu\n" + memlimit, "", "gomaxprocs-divisor", ""},
		{"an anchor that is used later", fixPod + "    env:\n    - &g\n      name: GOGC\n      value: \"100\"\n    - name: GOGC\n      value: 200\n" + memlimit + "  - name: b\n    env:\n    - *g\n",
			fixPod + "    env:\n    - &g\n      name: GOGC\n      value: \"100\"\n    - name: GOGC\n      value: \"200\"\n" + memlimit + "  - name: b\n    env:\n    - *g\n", "env-duplicate *env-value-type", ""},
		{"one that makes something worse", "kind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: a\n    image: i\n    resources: {requests: {cpu: 2}}\n    env:\n    - name: GOMEMLIMIT\n      valueFrom:\n        resourceFieldRef: {resource: requests.cpu, divisor: \"1\"}\n    - name: GOGC\n      value: 50\n",
			"kind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: a\n    image: i\n    resources: {requests: {cpu: 2}}\n    env:\n    - name: GOMEMLIMIT\n      valueFrom:\n        resourceFieldRef: {resource: requests.cpu, divisor: \"1\"}\n    - name: GOGC\n      value: \"50\"\n",
			"reference-wrong-resource *env-value-type", "pod.yaml:11: not fixed (reference-wrong-resource): the fix would cause reference-without-request"},
		{"a bomb of aliases beside it", fixPod + "    env:\n    - name: GOMEMLIMIT\n      value: 512Mi\nx:\n  a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9]\n" + aliasBomb(), "", "", ""}, // refused whole
		{"a divisor of nothing", fixPod + "    env:\n    - name: GOMAXPROCS\n      valueFrom:\n        resourceFieldRef:\n          resource: limits.cpu\n          divisor: # later\n" + memlimit + "    args: [$(GOMAXPROCS)]\n",
			fixPod + "    env:\n    - name: GOMAXPROCS\n      valueFrom:\n        resourceFieldRef:\n          resource: limits.cpu\n          divisor: \"1\" # later\n" + memlimit + "    args: [$(GOMAXPROCS)]\n", "*divisor-missing gomaxprocs-pins", ""},
		{"a divisor of null", fixPod + "    env:\n    - name: GOMAXPROCS\n      valueFrom: {resourceFieldRef: {divisor: ~, resource: limits.cpu}}\n" + memlimit + "    args: [$(GOMAXPROCS)]\n",
			fixPod + "    env:\n    - name: GOMAXPROCS\n      valueFrom: {resourceFieldRef: {divisor: \"1\", resource: limits.cpu}}\n" + memlimit + "    args: [$(GOMAXPROCS)]\n", "*divisor-missing gomaxprocs-pins", ""},
		{"comments of what is removed", fixPod + "    env:\n    # of all\n    - name: GOGC\n      # of it\n      value: \"150\"\n      # of it, too\n    # of the next\n    - name: GOGC\n      value: \"150\"\n" + memlimit,
			fixPod + "    env:\n    # of all\n    # of the next\n    - name: GOGC\n      value: \"150\"\n" + memlimit, "*env-duplicate", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, map[string]string{"pod.yaml": c.text, "other.yaml": "kind: Pod\nmetadata: {name: o}\nspec: {containers: [{name: o, image: i, env: [{name: GOMEMLIMIT, value: 1Gi}]}]}\n"})
			d, _, talk := lintIn(t, dir, "--fix", ".")
			text, err := os.ReadFile("pod.yaml")
			if c.want == "" {
				c.want = c.text
			}
			if err != nil || string(text) != c.want {
				t.Errorf("%v, got\n%s\nwant\n%s", err, text, c.want)
			}
			var said []string
			for _, m := range d.Findings {
				switch {
				case m.File == "other.yaml" && !m.Fixed:
					t.Errorf("the other file is not fixed: %s", m.ID)
				case m.File == "other.yaml":
				case m.Fixed:
					said = append(said, "*"+m.ID)
				default:
					said = append(said, m.ID)
					if m.Fixable {
						t.Errorf("%s can be fixed", m.ID)
					}
				}
			}
			if got := strings.Join(said, " "); got != c.ids {
				t.Errorf("found %q, want %q", got, c.ids)
			}
			if !strings.Contains(talk, c.talk) || c.talk == "" && strings.Contains(talk, "not fixed") {
				t.Errorf("said %q, want %q", talk, c.talk)
			}
		})
	}
}

// aliasBomb returns YAML that expands to 9^12 nodes.
func aliasBomb() string {
	var b strings.Builder
	for c := 'b'; c < 'm'; c++ {
		fmt.Fprintf(&b, "  %c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9), ", "))
	}
	return b.String()
}

const fixMe = "kind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: a, image: i, env: [{name: GOMEMLIMIT, value: 512Mi}]}]}\n"

// TestLintFixFiles checks that links and special files are not replaced, and that snug says so.
func TestLintFixFiles(t *testing.T) {
	fixed := strings.Replace(fixMe, "512Mi", "512MiB", 1)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte(fixMe))
	z.Close()
	for _, c := range []struct {
		name, text string
		link       bool
		want, talk string
		code       int
	}{
		{"a file", fixMe, false, fixed, "", message.ExitFine},
		{"one of two names", fixMe, true, fixMe, "snug: warning: a.yaml: not fixed: it has several hard links, and the others would keep the old text\n", message.ExitFailed},
		{"packed", packed.String(), false, packed.String(), "snug: warning: a.yaml:3: not fixed (gomemlimit-malformed): the file is compressed with gzip\n", message.ExitFine},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, map[string]string{"a.yaml": c.text, "b.yaml": fixMe})
			if c.link {
				if runtime.GOOS == "windows" {
					t.Skip("how many names a file has is not known here")
				}
				if err := os.Link(filepath.Join(dir, "a.yaml"), filepath.Join(dir, "kept.txt")); err != nil {
					t.Skip(err)
				}
			}
			d, code, talk := lintIn(t, dir, "--fix", "--fail-on", "never", ".")
			a, _ := os.ReadFile("a.yaml")
			b, _ := os.ReadFile("b.yaml")
			if string(a) != c.want || string(b) != fixed || !strings.Contains(talk, c.talk) || code != c.code {
				t.Errorf("exit code %d, %q\na: %q\nb: %q", code, talk, a, b)
			}
			for _, m := range d.Findings {
				if want := m.File == "b.yaml" || c.want == fixed; m.Fixed != want {
					t.Errorf("%s: fixed %v", m.File, m.Fixed)
				}
			}
		})
	}
}

// TestLintFixPlaces checks that findings have their positions in the fixed files.
func TestLintFixPlaces(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"a.yaml": fixPod + "    env:\n    - name: GOGC\n      value: \"50\"\n    - name: GOGC\n      value: 60\n    - name: GOMAXPROCS\n      value: x\n    - {name: GOMEMLIMIT, value: 512Mi}\n"})
	d, _, talk := lintIn(t, dir, "--fix", "a.yaml")
	var got []string
	for _, m := range d.Findings {
		got = append(got, fmt.Sprintf("%d:%d %s %v", m.Line, *m.Column, m.ID, m.Fixed))
	}
	want := "9:1 env-duplicate true, 10:14 env-value-type true, 12:14 gomaxprocs-malformed false, 13:33 gomemlimit-malformed true"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s\n%s", strings.Join(got, ", "), want, talk)
	}
}

// TestLintFixNoFile checks that standard input cannot be fixed.
func TestLintFixNoFile(t *testing.T) {
	for _, args := range [][]string{{"-"}, {"--kustomize", "x"}, {"--helm", "x", "y"}} {
		_, code, talk := lintIn(t, t.TempDir(), append([]string{"--fix"}, args...)...)
		if code != message.ExitUsage || !strings.Contains(talk, "no file to fix") {
			t.Errorf("%v: exit code %d, %s", args, code, talk)
		}
	}
}

// TestLintFailures checks that a file that could not be read is a failure, named or found, and that
// a template to be rendered first is not.
func TestLintFailures(t *testing.T) {
	const template = "kind: Pod\n{{- if .Values.x }}\nspec: {containers: [{name: a}]}\n{{- end }}\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		args  []string
		code  int
		talk  string
	}{
		{"broken in a directory", map[string]string{"d/a.yaml": "kind: Pod\nspec: {containers: [}\n", "d/b.yaml": "\xff"}, []string{"d"}, message.ExitFailed,
			"snug: error: cannot read d/a.yaml:1: invalid YAML: did not find expected node content\nsnug: hint: 1 more could not be read, see above; mend them, or name the files to check; the rest has been looked at\n"},
		{"a finding beside it", map[string]string{"d/a.yaml": "kind: Pod\nspec: {containers: [}\n", "d/b.yaml": fixMe}, []string{"d"}, message.ExitFinding, "not looked at: invalid YAML"},
		{"none as bad", map[string]string{"d/a.yaml": "kind: Pod\nspec: {containers: [}\n", "d/b.yaml": fixMe}, []string{"--fail-on", "never", "d"}, message.ExitFailed, "error: cannot read d/a.yaml:1: invalid YAML"},
		{"a template in a directory", map[string]string{"d/a.yaml": template}, []string{"d"}, message.ExitFine, ": not looked at: the source of a template"},
		{"a template", map[string]string{"d/a.yaml": template}, []string{"d/a.yaml"}, message.ExitFine, ": not looked at: the source of a template"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, c.files)
			if _, code, talk := lintIn(t, dir, c.args...); code != c.code || !strings.Contains(talk, c.talk) {
				t.Errorf("exit code %d, %s", code, talk)
			}
		})
	}
}

// TestLintCodePoints checks that columns are in code points in SARIF and in bytes elsewhere.
func TestLintCodePoints(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"a.yaml": "kind: Pod\nmetadata: {name: p}\nspec: {x: 'üüü', containers: [{name: a, image: i, env: [{name: GOMEMLIMIT, value: 512Mi}, {name: GOGC, value: \"ü\"}]}]}\n"})
	t.Chdir(dir)
	for format, want := range map[string][]string{"sarif": {`"startColumn": 83`, `"startColumn": 111`, `"columnKind": "unicodeCodePoints"`}, "github": {"col=86,", "col=114,"}} {
		var out, said bytes.Buffer
		Main([]string{"lint", "--format", format, "."}, strings.NewReader(""), &out, &said)
		for _, w := range want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("%s: no %s in\n%s%s", format, w, out.String(), said.String())
			}
		}
	}
}
