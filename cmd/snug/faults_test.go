// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestFaults runs the real snug in real cgroups, with failing programs and full disks,
// and ends it at every stage. Each time snug must print a message with a hint, return
// the right exit code, and leave nothing behind.
func TestFaults(t *testing.T) {
	if !slices.Contains(strings.Split(os.Getenv("SNUG_E2E"), ","), "root") {
		t.Skip("set SNUG_E2E=root to run this in real cgroups")
	}
	if os.Geteuid() != 0 {
		t.Fatal("SNUG_E2E has root, and this is not root")
	}
	bin := t.TempDir()
	l := &faultLab{snug: filepath.Join(bin, "snug"), faulty: filepath.Join(bin, "faulty")}
	for _, build := range [][2]string{{l.snug, "."}, {l.faulty, "./testdata/faulty"}} {
		if out, err := exec.Command("go", "build", "-o", build[0], build[1]).CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
	}
	for _, part := range []struct {
		name string
		test func(*testing.T, *faultLab)
	}{
		{"target", testFaultyTargets},
		{"port", testPorts},
		{"memory", testMemory},
		{"reported", testReported},
		{"load command", testLoadCommands},
		{"interrupt", testInterrupts},
		{"killed", testKilledSnug},
		{"disk", testFullDisks},
		{"same", testSameSettings},
		{"search", testSearches},
		{"check", testCheck},
		{"ramp", testRamp},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, l) })
	}
}

// faultLab holds the paths of the programs.
type faultLab struct{ snug, faulty string }

// mark is the variable by which a test recognises its own processes.
const mark = "SNUG_FAULT_TEST"

// invocation is one run of snug.
type invocation struct {
	cmd      *exec.Cmd
	mark     string
	dir      string // working directory; checked for files left behind
	temp     string // its TMPDIR
	out, err string // files
	before   state
	keeps    []string // files that may be in dir afterwards
}

// quick is the flags of a short experiment: two settings, one round.
var quick = strings.Fields("--gomaxprocs 1 --rounds 1 --objective none --warmup 50ms --window 150ms")

// endless is the flags of an experiment that only a signal ends.
var endless = strings.Fields("--gomaxprocs 1 --rounds 1 --objective none --warmup 50ms --window 1m")

// start starts snug with arguments, as the leader of a process group. Dir "" is a new
// directory.
func (l *faultLab) start(t *testing.T, dir string, args ...string) *invocation {
	t.Helper()
	return l.startWith(t, dir, nil, args...)
}

// startWith is start with this stdout; nil is a file.
func (l *faultLab) startWith(t *testing.T, dir string, stdout *os.File, args ...string) *invocation {
	t.Helper()
	files := t.TempDir()
	if dir == "" {
		dir = t.TempDir()
	}
	v := &invocation{
		mark: mark + "=" + files, dir: dir, temp: filepath.Join(files, "tmp"),
		out: filepath.Join(files, "out"), err: filepath.Join(files, "err"), before: groups(t),
	}
	if err := os.Mkdir(v.temp, 0o755); err != nil {
		t.Fatal(err)
	}
	v.cmd = exec.Command(l.snug, args...)
	v.cmd.Dir = dir
	v.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	v.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + files, "TMPDIR=" + v.temp, v.mark}
	// Files, not pipes, which a leftover process could hold open.
	for name, to := range map[string]*io.Writer{v.out: &v.cmd.Stdout, v.err: &v.cmd.Stderr} {
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		*to = f
	}
	if stdout != nil {
		v.cmd.Stdout = stdout
	}
	// Snug would inherit an ignored signal, for example under nohup.
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP)
	defer signal.Stop(heard)
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, pid := range v.processes() {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return v
}

// patience ends a test that hangs. It does not bound durations, except of operations that
// would last hours without the code under test.
const patience = 2 * time.Minute

// outcome is how an invocation ended.
type outcome struct {
	code           int // 128 + n for signal n
	stdout, stderr string
	lines          []string // the lines of stderr
}

// wait waits for the end, and checks that nothing is left.
func (v *invocation) wait(t *testing.T) outcome {
	t.Helper()
	ended := make(chan struct{})
	stuck := time.AfterFunc(patience, func() {
		v.cmd.Process.Signal(syscall.SIGQUIT) // prints a traceback
		select {
		case <-ended:
		case <-time.After(time.Second):
			v.cmd.Process.Kill()
		}
	})
	v.cmd.Wait()
	close(ended)
	hung := !stuck.Stop()
	o := outcome{code: v.cmd.ProcessState.ExitCode(), stdout: read(t, v.out), stderr: read(t, v.err)}
	if s := v.cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() {
		o.code = 128 + int(s.Signal())
	}
	o.lines = strings.Split(strings.TrimSuffix(o.stderr, "\n"), "\n")
	if hung {
		t.Fatalf("hangs:\n%s", o.stderr)
	}
	v.nothingLeft(t)
	if t.Failed() {
		t.Logf("exit code %d, stderr:\n%s", o.code, o.stderr)
	}
	return o
}

// fails checks that an invocation ended with this exit code, an error and a hint.
func (o outcome) fails(t *testing.T, code int, what, hint string) {
	t.Helper()
	var errs, hints []string
	for _, line := range o.lines {
		if !strings.HasPrefix(line, "snug: ") {
			t.Errorf("stderr has a line that is not snug's: %q", line)
		}
		if text, ok := strings.CutPrefix(line, "snug: error: "); ok {
			errs = append(errs, text)
		}
		if text, ok := strings.CutPrefix(line, "snug: hint: "); ok {
			hints = append(hints, text)
		}
	}
	if o.code != code {
		t.Errorf("exit code %d, want %d", o.code, code)
	}
	if len(errs) != 1 || !regexp.MustCompile(what).MatchString(errs[0]) {
		t.Errorf("errors %q, want one that matches %q", errs, what)
	}
	if len(hints) != 1 || !regexp.MustCompile(hint).MatchString(hints[0]) {
		t.Errorf("hints %q, want one that matches %q", hints, hint)
	}
	if n := len(o.lines); n >= 2 && !strings.HasPrefix(o.lines[n-2], "snug: error: ") {
		t.Errorf("error and hint are not the last lines: %q", o.lines)
	}
	if t.Failed() {
		t.Logf("stdout:\n%.300s\nstderr:\n%s", o.stdout, o.stderr)
	}
}

// processes returns snug, if it runs, and the processes that it started or left.
func (v *invocation) processes() []int {
	var list []int
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range names {
		b, _ := os.ReadFile(name)
		if slices.ContainsFunc(bytes.Split(b, []byte{0}), func(entry []byte) bool { return string(entry) == v.mark }) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			list = append(list, pid)
		}
	}
	return list
}

// runs reports whether snug has started a program with this argument. By then snug
// handles signals.
func (v *invocation) runs(arg string) bool {
	for _, pid := range v.processes() {
		line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if pid != v.cmd.Process.Pid && slices.Contains(strings.Split(string(line), "\x00"), arg) {
			return true
		}
	}
	return false
}

// until waits until snug has reached a stage.
func (v *invocation) until(t *testing.T, ask func() bool) {
	t.Helper()
	if _, ok := until(func() (bool, bool) { return true, ask() }); !ok {
		t.Fatalf("does not reach the stage:\n%s", read(t, v.err))
	}
}

// nothingLeft checks that no process, cgroup, record or file is left.
func (v *invocation) nothingLeft(t *testing.T) {
	t.Helper()
	if _, ok := until(func() ([]int, bool) { l := v.processes(); return l, len(l) == 0 }); !ok {
		for _, pid := range v.processes() {
			b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
			t.Errorf("left a process: %d %q", pid, b)
		}
	}
	// Another snug may run meanwhile: a group with processes is not ours, and an empty one
	// is soon in use or gone. A group of ours would be there every time.
	left := slices.DeleteFunc(groups(t), func(name string) bool { return slices.Contains(v.before, name) })
	if _, ok := until(func() (bool, bool) {
		now := groups(t)
		left = slices.DeleteFunc(left, func(name string) bool { return !slices.Contains(now, name) || occupied(name) })
		return true, len(left) == 0
	}); !ok {
		t.Errorf("left %q", left)
	}
	for dir, may := range map[string][]string{v.temp: nil, v.dir: v.keeps} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Error(err)
		}
		for _, e := range entries {
			if !slices.Contains(may, e.Name()) {
				t.Errorf("left a file, %s in %s", e.Name(), dir)
			}
		}
	}
}

// until calls ask until it returns true.
func until[T any](ask func() (T, bool)) (T, bool) {
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		v, ok := ask()
		if ok || time.Since(start) > patience {
			return v, ok
		}
	}
}

// state is the directories of all groups made by snug, and their records.
type state []string

func groups(t *testing.T) state {
	t.Helper()
	var all state
	filepath.WalkDir("/sys/fs/cgroup", func(name string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && madeBySnug.MatchString(d.Name()) {
			all = append(all, name)
		}
		return nil // groups come and go
	})
	return all
}

var madeBySnug = regexp.MustCompile(`^snug-[0-9a-f]{16}(\.scope)?$`)

// occupied reports whether a group has processes.
func occupied(name string) bool {
	pids, _ := os.ReadFile(filepath.Join(name, "cgroup.procs"))
	return len(pids) > 0
}

// address returns a free address that stays free until the test serves there: at a host
// of the loopback network that only this process uses. At 127.0.0.1 another process may
// take the port.
func address(t *testing.T) string {
	t.Helper()
	pid := os.Getpid()
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+pid>>16, pid>>8&0xff, pid&0xff))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func join(lists ...[]string) []string { return slices.Concat(lists...) }

// errorDocument begins what a command with --json prints in place of an answer.
const errorDocument = `{"snug":"v1","kind":"error",`
