// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package cgrun

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestRealLimits(t *testing.T) {
	needRoot(t)
	tests := []struct {
		name, flags, cpu, memory string
	}{
		{"half a CPU", "-cpus 0.5", "50000 100000", ""},
		{"one CPU", "-cpus 1", "100000 100000", ""},
		{"one and a half with memory", "-cpus 1.5 -memory 67108864", "150000 100000", "67108864"},
		{"more than there is", "-cpus 64", "6400000 100000", ""},
		{"smallest quota", "-cpus 0.01", "1000 100000", ""},
		{"a third is rounded", "-cpus 0.333333", "33333 100000", ""},
		{"memory only", "-memory 134217728", "", "134217728"},
		{"memory is rounded to pages", "-memory 67108865", "", "67108864"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			report := filepath.Join(t.TempDir(), "report")
			o := run(t, snug("-report "+report+" "+tt.flags, "as-probe"))
			if o.code != 0 {
				t.Fatalf("code %d, %s", o.code, o.stderr)
			}
			var p probed
			if err := json.Unmarshal([]byte(o.stdout), &p); err != nil {
				t.Fatalf("%v: %q", err, o.stdout)
			}
			if tt.cpu != "" && p.CPU != tt.cpu {
				t.Errorf("CPU limit inside is %q, want %q", p.CPU, tt.cpu)
			}
			if tt.memory != "" && p.Memory != tt.memory {
				t.Errorf("memory limit inside is %q, want %q", p.Memory, tt.memory)
			}
			r := readJSON[saved](t, report)
			if r.Confinement.PID != p.PID || r.Confinement.Policy != "SCHED_OTHER" {
				t.Errorf("proof is about another process: %+v", r.Confinement)
			}
			if (r.Confinement.CPUs > 0) != (tt.cpu != "") || (r.Confinement.MemoryBytes > 0) != (tt.memory != "") {
				t.Errorf("proof has what was not asked, or lacks what was: %+v", r.Confinement)
			}
		})
	}
}

func TestMemoryLimitKills(t *testing.T) {
	needRoot(t)
	report := filepath.Join(t.TempDir(), "report")
	const limit = 32 << 20
	o := run(t, snug("-report "+report+" -memory "+strconv.Itoa(limit), "as-eater", "134217728"))
	if o.signal != syscall.SIGKILL || o.stdout != "" {
		t.Fatalf("ended with %+v, want SIGKILL from the OOM killer", o)
	}
	r := readJSON[saved](t, report)
	if r.Usage.OOMKills != nil && *r.Usage.OOMKills != 1 {
		t.Errorf("%d OOM kills, want 1", *r.Usage.OOMKills)
	}
	// The kernel lets a dying process charge a few pages above the limit.
	if p := r.Usage.MemoryPeakBytes; p != nil && (*p > limit+limit/32 || *p < limit/2) {
		t.Errorf("peak memory %d with a limit of %d", *p, limit)
	}
	if o := run(t, snug("-memory 1073741824", "as-eater", "134217728")); o.code != 0 || o.stdout != "ate 134217728\n" {
		t.Errorf("with room enough: %+v", o)
	}
}

func TestCountersShowThrottling(t *testing.T) {
	needRoot(t)
	c, err := Start(t.Context(), Spec{Args: self("as-burner"), CPUs: 0.2, Counters: true})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "five throttled periods", func() bool {
		u := c.Usage()
		return u.ThrottledPeriods != nil && *u.ThrottledPeriods >= 5
	})
	// The quota is 20 ms per period. On a virtual machine, a CPU delayed by the host can
	// use more; the kernel deducts it from later periods.
	until(t, "little CPU time for the periods", func() bool {
		u := c.Usage()
		return *u.CPUTime > 0 && *u.CPUTime <= time.Duration(*u.Periods+2)*40*time.Millisecond
	})
	c.Signal(syscall.SIGTERM)
	exit, err := c.Wait()
	if err != nil || exit.Signal != int(syscall.SIGTERM) {
		t.Errorf("ended with %+v, %v", exit, err)
	}
	u := c.Usage()
	if *u.ThrottledPeriods > *u.Periods || *u.ThrottledTime <= 0 {
		t.Errorf("throttled %d of %d periods for %v", *u.ThrottledPeriods, *u.Periods, *u.ThrottledTime)
	}
	pressure := false // v2 counts it, unless the kernel's parameters forbid it
	for _, p := range c.group.parts {
		_, err := os.ReadFile(filepath.Join(p.dir, "cpu.pressure"))
		pressure = pressure || err == nil
	}
	if (u.Pressure != nil) != pressure || pressure && *u.Pressure <= 0 {
		t.Errorf("usage %s, pressure is counted: %v", show(u), pressure)
	}
	if n, err := c.Remove(); n != 0 || err != nil {
		t.Errorf("Remove() = %d, %v", n, err)
	}
	if err := c.Signal(syscall.SIGKILL); err != nil {
		t.Errorf("signal after the end: %v", err)
	}
}

func TestExitIsPassedOn(t *testing.T) {
	needRoot(t)
	for _, code := range []int{0, 1, 3, 125, 255} {
		if o := run(t, snug("-cpus 1", "as-exit", strconv.Itoa(code))); o.code != code {
			t.Errorf("exit code %d became %+v", code, o)
		}
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGABRT, syscall.SIGUSR1, 40} {
		if o := run(t, snug("-cpus 1", "as-suicide", strconv.Itoa(int(sig)))); o.signal != sig || o.core {
			t.Errorf("death by signal %d became %+v", sig, o)
		}
	}
}

func TestCommandThatCannotRun(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	plain, garbage, script := filepath.Join(dir, "plain"), filepath.Join(dir, "garbage"), filepath.Join(dir, "script")
	os.WriteFile(plain, []byte("x"), 0o644)
	os.WriteFile(garbage, []byte("\x00\x01\x02"), 0o755)
	os.WriteFile(script, []byte("#!/nonexistent/interpreter\n"), 0o755)
	loop := filepath.Join(dir, "loop")
	os.Symlink(loop, loop)
	tests := []struct {
		name, cmd string
		code      int
		text      string
	}{
		{"not in PATH", "snug-no-such-command", 127, "not found"},
		{"no such file", "/no/such/file", 127, "not found"},
		{"not executable", plain, 126, "hint: make it executable"},
		{"a directory", dir, 126, "hint: name a program"},
		{"no known format", garbage, 126, "hint: a script needs"},
		{"links in a circle", loop, 126, "hint: its symbolic links"},
		{"no interpreter", script, 127, "snug: error: /nonexistent/interpreter: interpreter of "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := run(t, command(self("as-snug", "-cpus", "1", "--", tt.cmd)))
			if o.code != tt.code || !strings.Contains(o.stderr, tt.cmd) || !strings.Contains(o.stderr, tt.text) || o.stdout != "" {
				t.Errorf("%+v, want code %d and the name", o, tt.code)
			}
		})
	}
}

func TestFilesArgumentsAndEnvironmentAreTheCommands(t *testing.T) {
	needRoot(t)
	// Descriptor 5 is inherited, as a jobserver's would be; 3 and 4 are closed.
	name := filepath.Join(t.TempDir(), "\xff not UTF-8")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := snug("-cpus 1", "as-links", "3", "4", "5", "6", "7")
	cmd.ExtraFiles = []*os.File{nil, nil, f}
	cmd.Env = append(os.Environ(), "GODEBUG=containermaxprocs=0") // the runtime would keep two files open itself
	o := run(t, cmd)
	if want := "3  false\n4  false\n5 " + name + " true\n6  false\n7  false\n"; o.code != 0 || o.stdout != want {
		t.Errorf("descriptors are %q (%s), want %q", o.stdout, o.stderr, want)
	}

	c, err := Start(t.Context(), Spec{Args: self("as-sleeper", "\xfe"), Env: []string{"A=\xff"}, Dir: "/proc", CPUs: 1, Stdin: f})
	if err != nil {
		t.Fatal(err)
	}
	proc := "/proc/" + strconv.Itoa(c.PID())
	args, _ := os.ReadFile(proc + "/cmdline")
	env, _ := os.ReadFile(proc + "/environ")
	cwd, _ := os.Readlink(proc + "/cwd")
	stdin, _ := os.Readlink(proc + "/fd/0")
	if want := strings.Join(self("as-sleeper", "\xfe"), "\x00") + "\x00"; string(args) != want {
		t.Errorf("arguments are %q, want %q", args, want)
	}
	if string(env) != "A=\xff\x00" || cwd != "/proc" || stdin != name {
		t.Errorf("environment %q, directory %q, stdin %q", env, cwd, stdin)
	}
	if n, err := c.Remove(); n != 0 || err != nil { // kills the command itself
		t.Errorf("Remove() = %d, %v", n, err)
	}
}

func TestWhatTheCommandLeavesIsEnded(t *testing.T) {
	needRoot(t)
	for how, leftovers := range map[string]int{"process": 1, "group": 0, "both": 1} {
		t.Run(how, func(t *testing.T) {
			report := filepath.Join(t.TempDir(), "report")
			o := run(t, snug("-cpus 1 -memory 67108864 -report "+report, "as-leaver", how))
			if o.code != 0 {
				t.Fatalf("%+v", o)
			}
			if r := readJSON[saved](t, report); r.Leftovers != leftovers {
				t.Errorf("%d leftovers, want %d", r.Leftovers, leftovers)
			}
		})
	}
}

func TestPanicRemovesTheGroup(t *testing.T) {
	needRoot(t)
	ran := filepath.Join(t.TempDir(), "ran")
	if o := run(t, snug("-cpus 1 -panic", "as-counter", ran)); o.code != 2 || !strings.Contains(o.stderr, "on purpose") {
		t.Errorf("%+v", o)
	}
	if exists(ran) {
		t.Error("the command was started")
	}
}

func TestRealTimeBecomesOrdinary(t *testing.T) {
	needRoot(t)
	report := filepath.Join(t.TempDir(), "report")
	args := append(self("as-fifo"), snug("-cpus 0.5 -report "+report, "as-probe").Args...)
	if o := run(t, command(args)); o.code != 0 {
		t.Fatalf("%+v", o)
	}
	c := readJSON[saved](t, report).Confinement
	if c.Policy != "SCHED_OTHER" || c.PolicyWas != "SCHED_FIFO" {
		t.Errorf("policy %s, was %s", c.Policy, c.PolicyWas)
	}
}

func TestPID1(t *testing.T) {
	needRoot(t)
	newPID := func(cmd *exec.Cmd) *exec.Cmd {
		cmd = command(append(self("as-newproc"), cmd.Args...))
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
		return cmd
	}
	if o := run(t, newPID(snug("-cpus 1", "as-orphans", "5"))); o.code != 0 || o.stdout != "orphans 0\n" {
		t.Errorf("orphans: %+v, want all reaped", o)
	}
	if o := run(t, newPID(snug("-cpus 1", "as-suicide", "15"))); o.code != 128+15 {
		t.Errorf("death by SIGTERM: %+v, want code 143", o)
	}
	if o := run(t, newPID(snug("-cpus 1", "as-leaver", "both"))); o.code != 0 {
		t.Errorf("leftovers: %+v", o)
	}
}

func TestNothingStartsWithoutAGroup(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	os.Chmod(dir, 0o777)
	ran := filepath.Join(dir, "ran")
	exe := filepath.Join(dir, "snug") // where user 65532 can reach it
	b, err := os.ReadFile(self()[0])
	if err == nil {
		err = os.WriteFile(exe, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	for d := dir; d != "/"; d = filepath.Dir(d) {
		if info, err := os.Stat(d); err != nil || info.Mode()&5 != 5 {
			os.Chmod(d, 0o777) // the test's own directories
		}
	}
	args := func() []string { return []string{exe, "as-snug", "-cpus", "1", "--", exe, "as-counter", ran} }

	other := command(args())
	other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	other.Env = append(os.Environ(), "TMPDIR="+dir)
	readonly := command(append([]string{exe, "as-readonly"}, args()...))
	readonly.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}

	for name, tt := range map[string]struct {
		cmd        *exec.Cmd
		text, hint string
	}{
		"not root":           {other, "permission denied", "root"},
		"read-only cgroupfs": {readonly, "read-only file system", "container"},
	} {
		t.Run(name, func(t *testing.T) {
			o := run(t, tt.cmd)
			if o.code != 125 || !strings.Contains(o.stderr, tt.text) || !strings.Contains(o.stderr, "hint: ") || !strings.Contains(o.stderr, tt.hint) {
				t.Errorf("%+v", o)
			}
			if exists(ran) {
				t.Error("the command was started without limits")
			}
			if exists(filepath.Join(dir, "snug-65532")) {
				t.Error("an empty directory for records was left")
			}
		})
	}
}
