// SPDX-License-Identifier: Apache-2.0

package golangci

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCustom builds golangci-lint with the plugin, as README.md says, and runs it on a module with
// mistakes and on one without.
func TestCustom(t *testing.T) {
	if !slices.Contains(strings.Split(os.Getenv("SNUG_E2E"), ","), "golangci") {
		t.Skip("set SNUG_E2E=golangci to run this test; it needs the module proxy, and minutes to build golangci-lint once")
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	if len(blocks) != 3 {
		t.Fatalf("%d blocks of YAML in README.md", len(blocks))
	}
	settings, custom := blocks[1][1], blocks[2][1]
	version := regexp.MustCompile(`version: (v\S+)`).FindStringSubmatch(custom)[1]
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	env := environment(t, dir)
	run := func(in, name string, args ...string) (string, int) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = in, env
		out, err := cmd.CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
			t.Fatal(err)
		} else if ok {
			return string(out), exit.ExitCode()
		}
		return string(out), 0
	}
	must := func(in, name string, args ...string) string {
		t.Helper()
		out, code := run(in, name, args...)
		if code != 0 {
			t.Fatalf("%s %s ended with %d\n%s", name, strings.Join(args, " "), code, out)
		}
		return out
	}

	// "golangci-lint custom" clones a repository. Here it is made of the module that the proxy has.
	module := "github.com/golangci/golangci-lint/v2"
	must(dir, "go", "install", module+"/cmd/golangci-lint@"+version)
	var downloaded struct{ Dir string }
	if err := json.Unmarshal([]byte(must(dir, "go", "mod", "download", "-json", module+"@"+version)), &downloaded); err != nil {
		t.Fatal(err)
	}
	clone := filepath.Join(dir, "golangci-lint.git")
	if err := os.CopyFS(clone, os.DirFS(downloaded.Dir)); err != nil {
		t.Fatal(err)
	}
	must(clone, "chmod", "-R", "u+w", ".")
	must(clone, "git", "init", "-q")
	must(clone, "git", "add", "-f", ".")
	must(clone, "git", "commit", "-q", "-m", version)
	must(clone, "git", "tag", version)
	write(t, dir, ".custom-gcl.yml", strings.ReplaceAll(custom, "../snug", root))
	must(dir, filepath.Join(dir, "bin", "golangci-lint"), "custom", "-v")

	lint := func(name, text string) (string, int) {
		in := filepath.Join(dir, name)
		write(t, in, "go.mod", "module example.com/m\n\ngo 1.26\n")
		write(t, in, "main.go", text)
		write(t, in, ".golangci.yml", strings.Replace(settings, "linters:\n", "linters:\n  default: none\n", 1))
		return run(in, filepath.Join(dir, "custom-gcl"), "run")
	}
	out, code := lint("faulty", "package main\n\nimport \"runtime\"\n\nfunc main() {\n\truntime.GOMAXPROCS(runtime.NumCPU())\n}\n")
	if code != 1 || !strings.Contains(out, "main.go:6:2: ") || !strings.Contains(out, "(snug)") || !strings.Contains(out, "GOMAXPROCS") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	t.Log(out)
	out, code = lint("good", "package main\n\nfunc main() {}\n")
	if code != 0 || !strings.Contains(out, "0 issues") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// environment returns variables with a home directory, and so a configuration of git, of the test's
// own. The caches stay.
func environment(t *testing.T, dir string) []string {
	t.Helper()
	env := append(os.Environ(), "HOME="+dir, "GOBIN="+filepath.Join(dir, "bin"), "GOWORK=off", "GOFLAGS=")
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOSUMDB", "GONOSUMDB", "GOTOOLCHAIN"} {
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(value)))
	}
	write(t, dir, ".gitconfig", "[user]\n\tname = test\n\temail = test@localhost\n[url \"file://"+dir+"/\"]\n\tinsteadOf = https://github.com/golangci/\n")
	return env
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
