// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFitsItself: the import of auto is found in a stripped program, and the module alone is not it.
func TestFitsItself(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/snug-go/snug").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := strings.TrimSpace(string(out))
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/app\n\ngo 1.25\n\nrequire github.com/snug-go/snug v0.0.0\n\nreplace github.com/snug-go/snug => "+filepath.ToSlash(root)+"\n")
	for source, want := range map[string]bool{
		"import _ \"github.com/snug-go/snug/auto\"\n\nfunc main() {}\n":                                                    true,
		"import _ \"github.com/snug-go/snug/adapt/auto\"\n\nfunc main() {}\n":                                              true,
		"import \"github.com/snug-go/snug/limits\"\n\nfunc main() { l, _ := limits.Self()\n\tprintln(l.Memory.Hard.N) }\n": false,
	} {
		write("main.go", "package main\n\n"+source)
		cmd := exec.Command("go", "build", "-ldflags", "-s -w", "-o", "app", ".")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if got := FitsItself(filepath.Join(dir, "app")); got != want {
			t.Errorf("%v, want %v: %s", got, want, source)
		}
	}
	if FitsItself(dir) || FitsItself(filepath.Join(dir, "main.go")) {
		t.Error("not a program")
	}
}
