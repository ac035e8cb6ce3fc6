// SPDX-License-Identifier: Apache-2.0

// Package native runs real programs in real cgroup v1 groups of this machine.
package native

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/snug-go/snug/e2e/internal/cgv1"
	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/matrix"
	"github.com/snug-go/snug/e2e/internal/programs"
)

// machine has two CPUs, because the table has numbers for that; the tests run in a cpuset of two.
var machine = matrix.Machine{CPUs: 2}

const cpus = "0-1"

func TestMatrix(t *testing.T) {
	gate.Root(t, "root")
	if runtime.NumCPU() < machine.CPUs {
		t.Fatalf("the tests need %d CPUs, there are %d", machine.CPUs, runtime.NumCPU())
	}
	base := cgv1.New(t, "cpu", "cpuset", "memory")
	all := programs.All()
	dir := t.TempDir()
	programs.Build(t, dir, all)
	hostPath := func(name string) string { return filepath.Join(dir, name) }
	mems := base.Read(t, "cpuset", "cpuset.mems")

	for _, s := range machine.Situations() {
		t.Run(s.Name, func(t *testing.T) {
			groups, in := s.V1(cpus, mems)
			base.Make(t, groups)
			for _, c := range machine.Cases([]matrix.Situation{s}, all) {
				t.Run(c.Program.Name()+"/"+c.Start(), func(t *testing.T) {
					cmd := base.Command(t, in, c.Args(hostPath)...)
					cmd.Env = c.Env()
					c.Check(t, machine, run(t, cmd))
				})
			}
			for name, args := range matrix.Answers {
				t.Run("snug "+name, func(t *testing.T) {
					s.CheckAnswer(t, machine, name, run(t, base.Command(t, in, append([]string{hostPath("snug")}, args...)...)))
				})
			}
		})
	}
}

// run runs a command until it ends.
func run(t *testing.T, cmd *exec.Cmd) matrix.Outcome {
	t.Helper()
	// The kernel sends Pdeathsig when the thread that started the child ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	o := matrix.Outcome{Exit: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
		o.Signal = status.Signal().String()
	}
	return o
}

// TestConfine: the tool makes the group itself, below a group with a limit.
func TestConfine(t *testing.T) {
	gate.Root(t, "root")
	base := cgv1.New(t, "cpu", "cpuset", "memory")
	dir := t.TempDir()
	probe := programs.Program{Toolchain: "go1.26.8", Line: "1.26", Kind: programs.Plain}
	programs.Build(t, dir, []programs.Program{probe})
	snug, program := filepath.Join(dir, "snug"), filepath.Join(dir, probe.Name())
	tests := []struct {
		name   string
		flags  []string
		env    []string
		procs  int
		memory int64
		inside []string // hierarchies in which it runs in a new group
		stderr string   // "" = empty
	}{
		{"both", []string{"--cpus", "1.5", "--memory", "64MiB"}, nil, 2, 56 << 20, []string{"cpu", "memory"}, ""},
		// The memory limit is that of the outer group: 256 MiB less a tenth.
		{"half a CPU", []string{"--cpus", "0.5"}, nil, 1, 241591911, []string{"cpu"}, ""},
		{"half a CPU with a minimum", []string{"--cpus", "0.5"}, []string{"SNUG_MIN_PROCS=2"}, 2, 241591911, []string{"cpu"}, ""},
		{"memory alone", []string{"--memory", "128MiB"}, nil, 2, 120795956, []string{"memory"}, ""},
		{"more CPUs than the outer group has", []string{"--cpus", "2"}, nil, 2, 241591911, []string{"cpu"}, "snug: warning: "},
	}
	base.Make(t, map[string]map[string]map[string]string{
		"cpu":    {"/outer": {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "150000"}},
		"memory": {"/outer": {"memory.limit_in_bytes": "268435456"}},
		"cpuset": {"/outer": {"cpuset.cpus": cpus, "cpuset.mems": base.Read(t, "cpuset", "cpuset.mems")}},
	})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cmd := base.Command(t, "/outer", slices.Concat([]string{snug, "run"}, test.flags, []string{"--", program})...)
			cmd.Env = test.env
			o := run(t, cmd)
			r, err := o.Report()
			if err != nil {
				t.Fatal(err)
			}
			if r.GOMAXPROCS != test.procs || r.GOMEMLIMIT != test.memory {
				t.Errorf("GOMAXPROCS %d, want %d; GOMEMLIMIT %d, want %d", r.GOMAXPROCS, test.procs, r.GOMEMLIMIT, test.memory)
			}
			for _, c := range test.inside {
				in := regexp.MustCompile(`(?m):` + c + `:.*/` + base.Name + `/outer/snug-[0-9a-f]+$`)
				if !in.MatchString(r.Cgroup) {
					t.Errorf("cgroup %q, want a new group below /outer in %s", r.Cgroup, c)
				}
			}
			if !strings.HasPrefix(o.Stderr, test.stderr) || test.stderr == "" && o.Stderr != "" {
				t.Errorf("stderr %q, want %q", o.Stderr, test.stderr)
			}
			if left := base.Below(t, "/outer"); len(left) > 0 {
				t.Errorf("groups left behind: %q", left)
			}
		})
	}
}
