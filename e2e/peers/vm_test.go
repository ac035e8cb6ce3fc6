// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/programs"
	"github.com/snug-go/snug/e2e/vm"
)

// raw is where the tests write what the virtual machine printed; "" throws it
// away.
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

func static(t *testing.T, args ...string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "peers")
	cmd := exec.Command("go", append(args, "-o", to, ".")...)
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return to
}

// TestPollOnV2 runs the poll's benchmarks in cgroup v2 groups of one, two and
// three levels.
func TestPollOnV2(t *testing.T) {
	gate.Need(t, "vm")
	limit := map[string]string{"cpu.max": "200000 100000", "memory.max": "536870912"}
	args := []string{"/peers", "-test.run=none", "-test.bench=.", "-test.count=10", "-test.benchtime=2000x"}
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
	for _, r := range vm.Run(t, vm.Spec{CPUs: 4, Memory: "1G", Files: map[string]string{"/peers": static(t, "test", "-c")}, Steps: steps}) {
		if r.Exit != 0 || !strings.Contains(r.Stdout, "BenchmarkRuntime") {
			t.Errorf("%s: exit code %d\n%s%s", r.Name, r.Exit, r.Stdout, r.Stderr)
		}
		text.WriteString("# " + r.Name + "\n" + r.Stdout)
	}
	save(t, "poll-v2.txt", text.String())
}

// TestSituationsOn24CPUs asks all readers in every situation on a machine with
// more CPUs than most quotas, so that GOMAXPROCS tells what the runtime read.
// snug is to be right everywhere.
func TestSituationsOn24CPUs(t *testing.T) {
	gate.Need(t, "vm")
	files := map[string]string{"/peers": static(t, "build"), "/situations": filepath.Join(programs.Root(t), "testdata/situations")}
	step := vm.Step{Name: "situations", Args: []string{"/peers", "situations", "-dir", "/situations"}, Env: []string{"TMPDIR=/"}, Seconds: 900}
	for _, r := range vm.Run(t, vm.Spec{CPUs: 24, Memory: "2G", Files: files, Steps: []vm.Step{step}, Timeout: 15 * time.Minute}) {
		if r.Exit != 0 {
			t.Fatalf("exit code %d\n%s", r.Exit, r.Stderr)
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
			t.Errorf("snug was asked for %d figures, want hundreds\n%s", snug, r.Stderr)
		}
		save(t, "situations.csv", r.Stdout)
	}
}
