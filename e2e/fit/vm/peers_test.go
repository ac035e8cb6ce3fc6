// SPDX-License-Identifier: Apache-2.0

package vm_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/fit/vm"
	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/programs"
)

// raw is the directory for the raw output of the virtual machine; "" = discard it.
var raw = os.Getenv("PEERS_RAW")

func save(t *testing.T, name, text string) {
	t.Helper()
	if raw == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(raw, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestPollOnV2 runs the poll benchmarks in cgroup v2 groups of one, two and three levels.
func TestPollOnV2(t *testing.T) {
	gate.Need(t, "machines")
	dir := filepath.Join(programs.Root(t), "e2e/fit/peers")
	limit := map[string]string{"cpu.max": "200000 100000", "memory.max": "536870912"}
	args := []string{"/src/peers/test", "-test.run=none", "-test.bench=.", "-test.count=10", "-test.benchtime=2000x"}
	steps := []vm.Step{
		{Name: "one level", Cgroup: map[string]map[string]string{"/a": limit}, In: []string{"/a"}, Private: true},
		{Name: "two levels", Cgroup: map[string]map[string]string{"/a": limit}, In: []string{"/a"}},
		{Name: "three levels", Cgroup: map[string]map[string]string{"/a": limit, "/a/b": limit}, In: []string{"/a/b"}},
		{Name: "four levels", Cgroup: map[string]map[string]string{"/a": limit, "/a/b": limit, "/a/b/c": limit}, In: []string{"/a/b/c"}},
	}
	for i := range steps {
		steps[i].Args, steps[i].Seconds = args, 300
	}
	var text strings.Builder
	for _, r := range vm.Run(t, vm.Spec{Kind: v2, Files: map[string]string{"/src/peers/test": testBinary(t, dir, "amd64")}, Steps: steps}) {
		if r.Err != "" || r.Exit != 0 || !strings.Contains(r.Stdout, "BenchmarkRuntime") {
			t.Errorf("%s: %s exit code %d\n%s%s", r.Name, r.Err, r.Exit, r.Stdout, r.Stderr)
		}
		text.WriteString("# " + r.Name + "\n" + r.Stdout)
	}
	save(t, "poll-v2.txt", text.String())
}

// TestSituationsOn24CPUs runs snug, its peers and the runtime in every situation. The machine has
// more CPUs than most quotas, so GOMAXPROCS shows which quota the runtime read. snug must be right
// in all of them.
func TestSituationsOn24CPUs(t *testing.T) {
	gate.Need(t, "machines")
	files := map[string]string{"/bin/peers": program(t, "github.com/snug-go/snug/e2e/fit/peers"), "/situations": filepath.Join(programs.Root(t), "testdata/situations")}
	step := vm.Step{Name: "situations", Args: []string{"/bin/peers", "situations", "-dir", "/situations"}, Env: []string{"TMPDIR=/"}, Seconds: 900}
	for _, r := range vm.Run(t, vm.Spec{Kind: vm.Kind{CPUs: 24}, Files: files, Steps: []vm.Step{step}}) {
		if r.Err != "" || r.Exit != 0 {
			t.Fatalf("%s exit code %d\n%s", r.Err, r.Exit, r.Stderr)
		}
		snug := 0
		for line := range strings.Lines(r.Stdout) {
			if strings.Contains(line, ",snug,") {
				snug++
				if !strings.HasSuffix(strings.TrimSpace(line), ",right") {
					t.Errorf("%s", line)
				}
			}
		}
		if snug < 300 {
			t.Errorf("snug printed %d figures, want hundreds\n%s", snug, r.Stderr)
		}
		save(t, "situations.csv", r.Stdout)
	}
}
