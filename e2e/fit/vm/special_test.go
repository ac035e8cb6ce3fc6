// SPDX-License-Identifier: Apache-2.0

package vm_test

import (
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/fit/vm"
	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/matrix"
	"github.com/snug-go/snug/e2e/internal/programs"
)

var (
	plain = programs.Program{Toolchain: "go1.26.8", Line: "1.26", Kind: programs.Plain}
	auto  = programs.Program{Toolchain: "go1.26.8", Line: "1.26", Kind: programs.Auto}
)

type groups = map[string]map[string]string

// TestSpecial runs situations that the table cannot express.
func TestSpecial(t *testing.T) {
	gate.Need(t, "vm")
	run := func(flags ...string) []string {
		return append(append([]string{guestPath("snug"), "run"}, flags...), "--", guestPath(plain.Name()))
	}
	both := []string{"--cpus", "1.5", "--memory", "64MiB"}
	limited := groups{"/outer": {"cpu.max": "250000 100000", "memory.max": "268435456"}}
	nested := groups{
		"/outer":       {"cpu.max": "150000 100000", "memory.max": "268435456"},
		"/outer/inner": {"cpu.max": "300000 100000", "memory.high": "209715200"},
	}

	tests := []struct {
		step   vm.Step
		procs  int // 0: the program must not have run
		memory int64
		exit   int
		signal string
		cgroup string   // prefix of /proc/self/cgroup inside
		stderr string   // substring
		after  []string // content of the files of step.After, in the same order
	}{
		// The kernel kills every program in a group with a memory limit of 0.
		{
			step:   vm.Step{Name: "memory.max 0, plain", Cgroup: groups{"/a": {"memory.max": "0"}}, In: []string{"/a"}, Args: []string{guestPath(plain.Name())}, After: []string{"/a/memory.events"}},
			signal: "killed", exit: -1, after: []string{"oom_kill 1\n"},
		},
		{
			step:   vm.Step{Name: "memory.max 0, snug run", Cgroup: groups{"/a": {"memory.max": "0"}}, In: []string{"/a"}, Args: run(), After: []string{"/a/memory.events"}},
			signal: "killed", exit: -1, after: []string{"oom_kill 1\n"},
		},
		// Above memory.high, programs are slow but alive. No GOMEMLIMIT can help.
		{
			step:  vm.Step{Name: "memory.high 0, snug run", Cgroup: groups{"/a": {"memory.high": "0"}}, In: []string{"/a"}, Args: run(), After: []string{"/a/memory.events"}, Seconds: 120},
			procs: 4, memory: matrix.Unset, cgroup: "0::/a\n", after: []string{"oom_kill 0\n"},
		},
		{
			step:  vm.Step{Name: "memory.high 0, auto", Cgroup: groups{"/a": {"memory.high": "0"}}, In: []string{"/a"}, Args: []string{guestPath(auto.Name())}, Seconds: 120},
			procs: 4, memory: matrix.Unset, cgroup: "0::/a\n",
		},
		// A namespace hides the limits above its root: only those of the leaf are visible.
		{
			step:  vm.Step{Name: "private namespace, auto", Cgroup: nested, In: []string{"/outer/inner"}, Private: true, Args: []string{guestPath(auto.Name())}, Uid: 65532},
			procs: 3, memory: 200<<20 - 20<<20, cgroup: "0::/\n",
		},
		{
			step:  vm.Step{Name: "private namespace, snug run", Cgroup: nested, In: []string{"/outer/inner"}, Private: true, Args: run(), Uid: 65532},
			procs: 3, memory: 200<<20 - 20<<20, cgroup: "0::/\n",
		},
		{
			step:  vm.Step{Name: "the same without a namespace, snug run", Cgroup: nested, In: []string{"/outer/inner"}, Args: run(), Uid: 65532},
			procs: 2, memory: 200<<20 - 20<<20, cgroup: "0::/outer/inner\n",
		},
		// The tool makes the groups.
		{
			step:  vm.Step{Name: "confine in the root group", Args: run(both...)},
			procs: 2, memory: 56 << 20, cgroup: "0::/snug-",
		},
		{
			step:  vm.Step{Name: "confine with a minimum of 2", Args: run("--cpus", "0.5"), Env: []string{"SNUG_MIN_PROCS=2"}},
			procs: 2, memory: matrix.Unset, cgroup: "0::/snug-",
		},
		{
			step: vm.Step{Name: "confine with the exit code of the program", Args: append(run(both...), "exit", "7")},
			exit: 7,
		},
		{
			// The tool itself is in /outer, so it cannot make a child of /outer that has limits.
			// Outside of /outer the command would lose /outer's limits.
			step: vm.Step{Name: "no place to confine in", Cgroup: limited, In: []string{"/outer"}, Args: run(both...)},
			exit: 125, stderr: "snug: error: ",
		},
		{
			step: vm.Step{Name: "no right to confine", Args: run(both...), Uid: 65532},
			exit: 125, stderr: "snug: error: ",
		},
	}

	var steps []vm.Step
	for _, test := range tests {
		steps = append(steps, test.step)
	}
	results := vm.Run(t, vm.Spec{Kind: v2, Files: files(t, []programs.Program{plain, auto}), Steps: steps})
	for i, test := range tests {
		t.Run(test.step.Name, func(t *testing.T) {
			r := results[i]
			if r.Err != "" {
				t.Fatal(r.Err)
			}
			if r.Exit != test.exit || r.Signal != test.signal || !strings.Contains(r.Stderr, test.stderr) {
				t.Errorf("exit code %d, want %d; signal %q, want %q; stderr %q, want %q in it",
					r.Exit, test.exit, r.Signal, test.signal, r.Stderr, test.stderr)
			}
			for j, name := range test.step.After {
				if !strings.Contains(r.After[name], test.after[j]) {
					t.Errorf("%s is %q, want %q in it", name, r.After[name], test.after[j])
				}
			}
			switch {
			case test.procs != 0:
				report(t, r, test.procs, test.memory, test.cgroup)
			case test.exit >= 125 && r.Stdout != "":
				t.Errorf("the program ran unconfined: %s", r.Stdout)
			}
		})
	}
}

// report compares the output of the probe.
func report(t *testing.T, r vm.Result, procs int, memory int64, cgroup string) {
	t.Helper()
	got, err := matrix.Outcome{Exit: r.Exit, Signal: r.Signal, Stdout: r.Stdout, Stderr: r.Stderr}.Report()
	if err != nil {
		t.Fatal(err)
	}
	if got.GOMAXPROCS != procs || got.GOMEMLIMIT != memory || !strings.HasPrefix(got.Cgroup, cgroup) {
		t.Errorf("GOMAXPROCS %d, want %d; GOMEMLIMIT %d, want %d; cgroup %q, want %q",
			got.GOMAXPROCS, procs, got.GOMEMLIMIT, memory, got.Cgroup, cgroup)
	}
}
