// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/message"
)

// TestVetGoReleases runs snug with the go commands of other releases, as a vet tool and by
// itself.
func TestVetGoReleases(t *testing.T) {
	if !slices.Contains(strings.Split(os.Getenv("SNUG_E2E"), ","), "go") {
		t.Skip("set SNUG_E2E=go to fetch other Go releases and vet with them")
	}
	const pool = "a.go:6:24: a channel's buffer is sized by runtime.NumCPU"
	for _, c := range []struct {
		name, built, goes string // the release that snug is built with, and the go command's
		toolSays, says    string
		code              int // of snug vet
	}{
		{"an old go command", "", "go1.23.12", pool, "a.go:6: warning: a channel's buffer", message.ExitFinding},
		{"the same release", "go1.27.3", "go1.27.3", pool, "a.go:6: warning: a channel's buffer", message.ExitFinding},
		{"a newer go command", "go1.26.8", "go1.27.3", "cannot read packages of go1.27.3", "a.go:6: warning: a channel's buffer", message.ExitFinding},
	} {
		t.Run(c.name, func(t *testing.T) {
			tool := filepath.Join(t.TempDir(), "snug")
			goes(t, "", c.built, 0, "build", "-o", tool, "github.com/snug-go/snug/cmd/snug")
			dir := t.TempDir()
			for name, text := range map[string]string{
				"go.mod": "module example.com/m\n\ngo 1.23\n",
				"a.go":   "package m\n\n\nimport (\"net/http\"; \"runtime\")\nvar Client http.Client\nvar C = make(chan int, runtime.NumCPU())\n",
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if out := goes(t, dir, c.goes, 1, "vet", "-vettool="+tool, "./..."); !strings.Contains(out, c.toolSays) {
				t.Errorf("go vet -vettool: %s", out)
			}
			cmd := exec.Command(tool, "vet", "./...")
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOTOOLCHAIN="+c.goes, "GOWORK=off")
			out, _ := cmd.CombinedOutput()
			if !strings.Contains(string(out), c.says) || cmd.ProcessState.ExitCode() != c.code {
				t.Errorf("snug vet: %d\n%s", cmd.ProcessState.ExitCode(), out)
			}
		})
	}
}

// goes runs the go command of a release, "" for the one at hand, and demands an exit code.
func goes(t *testing.T, dir, release string, code int, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, os.Environ()
	if release != "" {
		cmd.Env = append(cmd.Env, "GOTOOLCHAIN="+release)
	}
	if dir != "" {
		cmd.Env = append(cmd.Env, "GOWORK=off")
	}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		t.Fatalf("%s: go %s: %v\n%s", release, strings.Join(args, " "), err, out)
	}
	return string(out)
}
