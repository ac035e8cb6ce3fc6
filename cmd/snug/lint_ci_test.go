// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// lintTree returns a directory with good manifests and a bad one, and a temporary
// directory with snug in the place where the action puts it.
func lintTree(t *testing.T) (dir, temp string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs bash")
	}
	dir, temp = t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"deploy/good.yaml":      "kind: Pod\nspec: {containers: [{name: a, image: i, env: [{name: GOGC, value: '200'}]}]}\n",
		"charts/rendered/b.yml": "kind: Pod\nspec: {containers: [{name: a, image: i, env: [{name: GOMEMLIMIT, value: 1TiB}]}]}\n",
		"bad dir/bad.yaml":      "kind: Pod\nspec: {containers: [{name: a, image: i, env: [{name: GOMEMLIMIT, value: 512Mi}]}]}\n",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	bin := filepath.Join(temp, "snug", "bin")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(bin, 0o777); err != nil {
		t.Fatal(err)
	}
	// Under that name the test binary is the tool: see testscript.Main.
	if err := os.Symlink(self, filepath.Join(bin, "snug")); err != nil {
		t.Fatal(err)
	}
	return dir, temp
}

func readYAML(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// shell runs a command line in a directory and returns its exit code.
func shell(t *testing.T, dir, temp, script string, env ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c", script) // as runners do it
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + filepath.Join(temp, "snug", "bin") + ":" + os.Getenv("PATH"), "RUNNER_TEMP=" + temp, "HOME=" + temp}, env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), said.String()
}

// TestAction runs the lint step of action.yml, as a runner does.
func TestAction(t *testing.T) {
	dir, temp := lintTree(t)
	var action struct {
		Name, Description string
		Branding          map[string]string
		Inputs            map[string]struct{ Description, Default string }
		Runs              struct {
			Using string
			Steps []struct {
				Uses, Name, Shell, Run string
				With                   map[string]string
				Env                    map[string]string
				Dir                    string `yaml:"working-directory"`
			}
		}
	}
	readYAML(t, "../../action.yml", &action)
	steps := action.Runs.Steps
	if action.Runs.Using != "composite" || len(steps) != 3 || !strings.Contains(steps[1].Run, "go install ./cmd/snug") {
		t.Fatalf("%+v", action.Runs)
	}
	step := steps[2]
	if strings.Contains(step.Run, "${{") {
		t.Error("an input becomes part of the script: a file name could run commands")
	}
	with := func(inputs map[string]string) (env []string) {
		for name, value := range step.Env {
			input := strings.TrimSuffix(strings.TrimPrefix(value, "${{ inputs."), " }}")
			spec, ok := action.Inputs[input]
			if !ok {
				t.Fatalf("%s: there is no input %s", name, input)
			}
			value, ok := inputs[input]
			if !ok {
				value = spec.Default
			}
			env = append(env, name+"="+value)
		}
		return env
	}
	code, out, said := shell(t, dir, temp, step.Run, with(map[string]string{"paths": "deploy\ncharts/rendered\n"})...)
	if code != 0 || out != "" {
		t.Errorf("good: exit code %d\n%s%s", code, out, said)
	}
	code, out, said = shell(t, dir, temp, step.Run, with(map[string]string{"sarif": "snug.sarif"})...)
	if code != 3 || !strings.HasPrefix(out, "::error file=bad dir/bad.yaml,line=2,col=73,title=gomemlimit-malformed::") {
		t.Errorf("bad: exit code %d\n%s%s", code, out, said)
	}
	var log struct{ Runs []struct{ Results []any } }
	if text, err := os.ReadFile(filepath.Join(dir, "snug.sarif")); err != nil || json.Unmarshal(text, &log) != nil || len(log.Runs) != 1 || len(log.Runs[0].Results) != 1 {
		t.Errorf("%v\n%s", err, text)
	}
	if code, out, said = shell(t, dir, temp, step.Run, with(map[string]string{"fail-on": "never", "paths": "bad dir\n"})...); code != 0 || out == "" {
		t.Errorf("never: exit code %d\n%s%s", code, out, said)
	}
	if code, _, said = shell(t, dir, temp, step.Run, with(map[string]string{"image": "a=absent\n"})...); code != 1 || !strings.Contains(said, "absent") {
		t.Errorf("image: exit code %d\n%s", code, said)
	}
}

// TestPreCommit runs the commands of the hooks.
func TestPreCommit(t *testing.T) {
	dir, temp := lintTree(t)
	var hooks []struct {
		ID, Name, Description, Language, Entry string
		Needs                                  []string `yaml:"additional_dependencies"`
		Types                                  []string `yaml:"types_or"`
	}
	readYAML(t, "../../.pre-commit-hooks.yaml", &hooks)
	if len(hooks) != 2 || hooks[0].ID != "snug-lint" {
		t.Fatalf("%+v", hooks)
	}
	for _, h := range hooks {
		if h.Language != "golang" || len(h.Needs) != 1 || h.Needs[0] != "./cmd/snug" {
			t.Errorf("%+v", h)
		}
		if code, out, said := shell(t, dir, temp, h.Entry+" deploy/good.yaml charts/rendered/b.yml"); code != 0 {
			t.Errorf("%s, good: exit code %d\n%s%s", h.ID, code, out, said)
		}
	}
	if code, _, _ := shell(t, dir, temp, hooks[0].Entry+" 'bad dir/bad.yaml'"); code != 3 {
		t.Errorf("bad: exit code %d", code)
	}
	// pre-commit fails a hook that changes a file, whatever the exit code.
	if code, _, said := shell(t, dir, temp, hooks[1].Entry+" 'bad dir/bad.yaml'"); code != 0 {
		t.Errorf("fixed: exit code %d\n%s", code, said)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "bad dir/bad.yaml")); err != nil || !strings.Contains(string(text), "value: 512MiB") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestDocsLint parses the examples of docs/lint.md and runs their command lines.
func TestDocsLint(t *testing.T) {
	dir, temp := lintTree(t)
	text, err := os.ReadFile("../../docs/lint.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 5 {
		t.Fatalf("%d examples", len(blocks))
	}
	ran := 0
	for _, b := range blocks {
		var any any
		if err := yaml.Unmarshal([]byte(b[1]), &any); err != nil {
			t.Errorf("%v\n%s", err, b[1])
		}
		for _, m := range regexp.MustCompile(`(?m)(?:run: |- )(snug lint .*)$`).FindAllStringSubmatch(b[1], -1) {
			ran++
			if code, out, said := shell(t, dir, temp, m[1]); code != 0 {
				t.Errorf("%s: exit code %d\n%s%s", m[1], code, out, said)
			}
		}
	}
	if ran < 2 {
		t.Errorf("ran %d command lines", ran)
	}
}
