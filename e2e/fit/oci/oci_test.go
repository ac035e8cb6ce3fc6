// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/matrix"
	"github.com/snug-go/snug/e2e/internal/programs"
)

var (
	plain = programs.Program{Toolchain: "go1.26.8", Line: "1.26", Kind: programs.Plain}
	auto  = programs.Program{Toolchain: "go1.26.8", Line: "1.26", Kind: programs.Auto}
	old   = programs.Program{Toolchain: "go1.24.13", Line: "1.21", Kind: programs.Plain}
	next  = programs.Program{Toolchain: "go1.27.3", Line: "1.24", Kind: programs.Plain}
)

// machine has two CPUs, because the table has numbers for that; containers run on two CPUs.
var machine = matrix.Machine{CPUs: 2}

const cpus = "0-1"

// image builds a root directory FROM scratch with the programs and the tool.
func image(t *testing.T, all ...programs.Program) string {
	t.Helper()
	gate.Root(t, "oci")
	if runtime.NumCPU() < machine.CPUs {
		t.Fatalf("the tests need %d CPUs, there are %d", machine.CPUs, runtime.NumCPU())
	}
	root := t.TempDir()
	programs.Build(t, root, all)
	programs.BuildSmall(t, root)
	// The container's user needs to traverse the parent directories.
	for dir := root; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func inRoot(name string) string { return "/" + name }

// command returns a container's command line with the tool as entry point.
func command(args ...string) []string { return append([]string{"/snug", "run", "--"}, args...) }

func TestMatrix(t *testing.T) {
	all := []programs.Program{plain, auto, old, next}
	root := image(t, all...)
	var situations []matrix.Situation
	for _, s := range machine.Situations() {
		if len(s.Levels) == 1 {
			situations = append(situations, s)
		}
	}
	for _, c := range machine.Cases(situations, all) {
		for _, private := range []bool{false, true} {
			level := c.Situation.Levels[0]
			if level.CPUs == "" {
				level.CPUs = cpus
			}
			name := c.Name() + "/host cgroup namespace"
			if private {
				name = c.Name() + "/private cgroup namespace"
			}
			t.Run(name, func(t *testing.T) {
				running := Container{Root: root, Args: c.Args(inRoot), Env: c.Env(), Level: level, PrivateCgroup: private}.Start(t)
				r, ok := c.Compare(t, machine, running.Wait(t))
				if !ok {
					return
				}
				if r.Pid != 1 {
					t.Errorf("pid %d, want 1: the program must replace the tool", r.Pid)
				}
				if hidden := !strings.Contains(r.Cgroup, running.ID); hidden != private {
					t.Errorf("cgroup %q, private namespace: %v", r.Cgroup, private)
				}
			})
		}
	}
}

func TestExitCodes(t *testing.T) {
	root := image(t, plain)
	probe := inRoot(plain.Name())
	if err := os.WriteFile(filepath.Join(root, "not-executable"), []byte("#!/nothing\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args []string
		want int
	}{
		{"fine", command(probe), 0},
		{"the program's own", command(probe, "exit", "7"), 7},
		{"the largest", command(probe, "exit", "255"), 255},
		{"not found", command("/nothing"), 127},
		{"not executable", command("/not-executable"), 126},
		{"wrong usage", []string{"/snug", "run", "--no-such-flag", "--", probe}, 125},
		// The container's cgroup file system is read-only.
		{"no group to confine in", []string{"/snug", "run", "--cpus", "0.5", "--", probe}, 125},
	}
	for _, test := range slices.Clone(tests) { // snug-run is the same, but smaller
		small := slices.Clone(test.args)
		small[0] = "/snug-run"
		test.name, test.args = "snug-run: "+test.name, small
		tests = append(tests, test)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := Container{Root: root, Args: test.args}.Run(t)
			if o.Exit != test.want {
				t.Errorf("exit code %d, want %d; stderr %s", o.Exit, test.want, o.Stderr)
			}
			if test.want >= 125 && test.want <= 127 {
				if !strings.HasPrefix(o.Stderr, "snug: error: ") || o.Stdout != "" {
					t.Errorf("stdout %q, stderr %q, want an error line and no program run", o.Stdout, o.Stderr)
				}
			}
		})
	}
}

func TestSignals(t *testing.T) {
	root := image(t, plain)
	tests := []struct {
		signal string
		want   int
	}{
		{"TERM", 15}, {"INT", 2}, {"HUP", 1}, {"USR1", 10}, // the probe exits with the number
		{"KILL", 128 + 9},
	}
	for _, test := range tests {
		t.Run(test.signal, func(t *testing.T) {
			c := Container{Root: root, Args: command(inRoot(plain.Name()), "wait")}.Start(t)
			c.Until(t, "waiting\n")
			c.Kill(t, test.signal)
			if o := c.Wait(t); o.Exit != test.want {
				t.Errorf("exit code %d, want %d; stderr %s", o.Exit, test.want, o.Stderr)
			}
		})
	}
}

// TestFailsOpen: where the tool can do nothing for a program, it logs the reason and starts the
// program unchanged.
func TestFailsOpen(t *testing.T) {
	root := image(t, plain, old)
	probe := inRoot(plain.Name())
	if err := os.WriteFile(filepath.Join(root, "script"), []byte("#!"+probe+" argument\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	level := matrix.Level{CPUs: cpus, CPU: "150000 100000", Memory: 256 << 20}
	const sized = 241591911 // 256 MiB less a tenth
	tests := []struct {
		name   string
		c      Container
		procs  int
		memory int64
		env    map[string]string // expected in the program; "" = unset
		stderr string            // substring
		quiet  bool              // no stderr at all
	}{
		{
			name: "everything visible", c: Container{Args: command(probe)},
			procs: 2, memory: sized, quiet: true,
		},
		{
			name: "no cgroup file system", c: Container{Args: command(probe), NoSys: true},
			procs: 2, memory: matrix.Unset, stderr: "snug: ",
		},
		{
			name: "cgroup and mounts masked", c: Container{Args: command(probe), Masked: []string{"/proc/self/cgroup", "/proc/self/mountinfo"}},
			procs: 2, memory: matrix.Unset, stderr: "snug: ",
		},
		{
			name: "an invalid rounding", c: Container{Args: command(probe), Env: []string{"SNUG_ROUND=banana"}},
			procs: 2, memory: sized, env: map[string]string{"SNUG_ROUND": "banana"}, stderr: "SNUG_ROUND",
		},
		{
			name: "a negative minimum", c: Container{Args: command(probe), Env: []string{"SNUG_MIN_PROCS=-3"}},
			procs: 2, memory: sized, stderr: "SNUG_MIN_PROCS",
		},
		{
			name: "an invalid limit", c: Container{Args: command(probe), Env: []string{"SNUG_CPU_LIMIT=lots"}},
			procs: 2, memory: sized, stderr: "SNUG_CPU_LIMIT",
		},
		{
			name: "an invalid size", c: Container{Args: command(probe), Env: []string{"SNUG_GOMEMLIMIT=12zb"}},
			procs: 2, memory: sized, stderr: "SNUG_GOMEMLIMIT",
		},
		{
			name: "off", c: Container{Args: command(probe), Env: []string{"SNUG=off"}},
			procs: 2, memory: matrix.Unset, stderr: "SNUG=off",
		},
		{
			name: "observe", c: Container{Args: command(probe), Env: []string{"SNUG=observe"}},
			procs: 2, memory: matrix.Unset,
		},
		{
			name: "set by the operator", c: Container{Args: command(probe), Env: []string{"GOMAXPROCS=3", "GOMEMLIMIT=100MiB"}},
			procs: 3, memory: 100 << 20, env: map[string]string{"GOMAXPROCS": "3", "GOMEMLIMIT": "100MiB"},
		},
		{
			name: "a script", c: Container{Args: command("/script")},
			procs: 2, memory: matrix.Unset, quiet: true,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.c.Root, test.c.Level = root, level
			o := test.c.Run(t)
			r, err := o.Report()
			if err != nil {
				t.Fatal(err)
			}
			if r.GOMAXPROCS != test.procs || r.GOMEMLIMIT != test.memory || r.Pid != 1 {
				t.Errorf("GOMAXPROCS %d, want %d; GOMEMLIMIT %d, want %d; pid %d; environment %v",
					r.GOMAXPROCS, test.procs, r.GOMEMLIMIT, test.memory, r.Pid, r.Env)
			}
			for name, want := range test.env {
				if r.Env[name] != want {
					t.Errorf("%s=%q, want %q", name, r.Env[name], want)
				}
			}
			if !strings.Contains(o.Stderr, test.stderr) || test.quiet && o.Stderr != "" {
				t.Errorf("stderr %q, want %q in it, quiet: %v", o.Stderr, test.stderr, test.quiet)
			}
			for line := range strings.Lines(o.Stderr) {
				if !strings.HasPrefix(line, "snug: ") {
					t.Errorf("stderr line %q lacks the prefix snug:", line)
				}
			}
		})
	}
}
