// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
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
