// SPDX-License-Identifier: Apache-2.0

package vm_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/fit/vm"
	"github.com/snug-go/snug/e2e/internal/gate"
)

// TestFailingSteps: a step that fails to confine its program is an error.
func TestFailingSteps(t *testing.T) {
	gate.Need(t, "vm")
	// Without an order, this program ends at once.
	something := []string{"/init", "enter-step"}
	tests := map[string]struct {
		step vm.Step
		err  string
	}{
		"a value the kernel refuses":    {vm.Step{Cgroup: groups{"/a": {"cpu.max": "5 100000"}}, In: []string{"/a"}, Args: something}, "invalid argument"},
		"a value the kernel changes":    {vm.Step{Cgroup: groups{"/a": {"memory.max": "5000"}}, In: []string{"/a"}, Args: something}, `the kernel reports "4096`},
		"a missing group":               {vm.Step{In: []string{"/a"}, Args: something}, "no such file"},
		"a group that holds no process": {vm.Step{Cgroup: groups{"/a": {}, "/a/b": {}}, In: []string{"/a"}, Args: something}, "enter group"},
		"a missing program":             {vm.Step{Args: []string{"/nothing"}}, "exec /nothing"},
		"a missing file":                {vm.Step{Args: something, After: []string{"/nothing"}}, "no such file"},
		"a program that does not end":   {vm.Step{Args: []string{"/endless"}, Seconds: 1}, "more than 1s"},
	}
	spec := vm.Spec{Kind: v2, Files: map[string]string{"/endless": endless(t)}}
	for name, test := range tests {
		test.step.Name = name
		spec.Steps = append(spec.Steps, test.step)
	}
	for _, r := range vm.Run(t, spec) {
		if want := tests[r.Name].err; !strings.Contains(r.Err, want) {
			t.Errorf("%s: error %q, want %q in it", r.Name, r.Err, want)
		}
	}
}

func TestCancelEndsTheMachine(t *testing.T) {
	gate.Need(t, "machines")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir := t.TempDir()
	spec := vm.Spec{
		Files: map[string]string{"/endless": endless(t)},
		Steps: []vm.Step{{Name: "endless", Args: []string{"/endless"}, Seconds: 3600}},
	}
	ended := make(chan error, 1)
	go func() {
		_, _, err := vm.Boot(ctx, dir, spec)
		ended <- err
	}()
	for !strings.Contains(strings.Join(commandsNaming(t, dir), ""), "-kernel") {
		select {
		case err := <-ended:
			t.Fatalf("the machine ended before cancel: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's error", err)
	}
	if left := commandsNaming(t, dir); len(left) > 0 {
		t.Errorf("still running: %q", left)
	}
}

// commandsNaming returns the command lines that name the directory, as those of a machine do.
func commandsNaming(t *testing.T, dir string) (lines []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if text, _ := os.ReadFile(name); bytes.Contains(text, []byte(dir)) {
			lines = append(lines, string(text))
		}
	}
	return lines
}

// endless builds a program that does not end.
func endless(t *testing.T) string {
	t.Helper()
	source := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(source, []byte(`package main; func main() { for {} }`), 0o644); err != nil {
		t.Fatal(err)
	}
	return program(t, source)
}
