// SPDX-License-Identifier: Apache-2.0

package native

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/internal/cgv1"
	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/programs"
)

// telling is a following that takes words on its standard input.
type telling struct {
	*following
	in     io.WriteCloser
	stderr bytes.Buffer
}

// start starts a program in a group; before, if any, is a command that ends with exec "$@".
func start(t *testing.T, base *cgv1.Base, path, exe, before string, env ...string) *telling {
	t.Helper()
	args := []string{exe}
	if before != "" {
		args = []string{"unshare", "--mount", "sh", "-ec", before + `; exec "$@"`, "sh", exe}
	}
	cmd := base.Command(t, path, args...)
	cmd.SysProcAttr.Pdeathsig = 0 // this thread may end earlier
	cmd.Env = append(os.Environ(), append([]string{"SNUG_LOG=1", "SNUG_POLL=20ms"}, env...)...)
	f := &telling{following: &following{t: t, base: base, lines: make(chan string, 10_000)}}
	cmd.Stderr = &f.stderr
	var err error
	if f.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f.pid = strconv.Itoa(cmd.Process.Pid)
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			f.lines <- s.Text()
		}
		close(f.lines)
	}()
	f.end = func() {
		f.in.Close()
		for range f.lines { // Wait closes the pipe
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, f.stderr.String())
		}
	}
	return f
}

func (f *telling) tell(word string) {
	f.t.Helper()
	fmt.Fprintln(f.in, word)
	f.waitFor(word)
}

func knobs(procs int, mibs int64) string {
	memory := mibs * mib
	return "procs=" + strconv.Itoa(procs) + " memory=" + strconv.FormatInt(memory-memory/10, 10)
}

// app makes a group with a quota and a memory limit.
func app(t *testing.T, micros string, mibs int) *cgv1.Base {
	base := cgv1.New(t, "cpu", "memory")
	base.Make(t, map[string]map[string]map[string]string{
		"memory": {"/app": {"memory.limit_in_bytes": strconv.Itoa(mibs * mib)}},
		"cpu":    {"/app": {"cpu.cfs_quota_us": micros}},
	})
	return base
}

// TestSandbox: limits are followed after the program has entered a sandbox in which it cannot open
// files, or would be killed for it.
func TestSandbox(t *testing.T) {
	gate.Root(t, "root")
	exe := built(t, "sandboxed")
	for _, mode := range []string{"nothing", "seccomp", "chroot", "landlock", "uncounted"} {
		t.Run(mode, func(t *testing.T) {
			base := app(t, "50000", 256)
			os.Remove("/run/snug-empty")
			before := ""
			if mode == "uncounted" { // a filter is in force, on Linux before 5.9
				status := filepath.Join(t.TempDir(), "status")
				if err := os.WriteFile(status, []byte("Seccomp:\t2\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				before, mode = "mount --bind '"+status+"' /proc/$$/status", "nothing"
			}
			f := start(t, base, "/app", exe, before)
			f.waitFor(knobs(1, 256))
			f.tell(mode)
			f.write("memory", "/app", "memory.limit_in_bytes", strconv.Itoa(128*mib))
			f.waitFor(knobs(1, 128))
			f.write("cpu", "/app", "cpu.cfs_quota_us", "-1")
			f.waitFor(knobs(2, 128))
			f.write("memory", "/app", "memory.limit_in_bytes", strconv.Itoa(200*mib))
			f.waitFor(knobs(2, 200))
			f.end()
			want := 0
			if mode == "seccomp" {
				want = 1
			}
			if n := strings.Count(f.stderr.String(), "no longer followed"); n != want {
				t.Errorf("%d lines about moves, want %d:\n%s", n, want, f.stderr.String())
			}
			if n := strings.Count(f.stderr.String(), "Linux before 5.9"); (n == 1) != (before != "") {
				t.Errorf("%d lines about filters that are not counted:\n%s", n, f.stderr.String())
			}
		})
	}
	os.Remove("/run/snug-empty")
}

// TestMoves: 250 moves between groups are followed, each to a smaller limit.
func TestMoves(t *testing.T) {
	gate.Root(t, "root")
	base := cgv1.New(t, "memory")
	groups := map[string]map[string]string{}
	const moves = 250
	for i := range moves + 1 {
		groups["/g"+strconv.Itoa(i)] = map[string]string{"memory.limit_in_bytes": strconv.Itoa((2000 - 4*i) * mib)}
	}
	base.Make(t, map[string]map[string]map[string]string{"memory": groups})
	f := start(t, base, "/g0", built(t, "sandboxed"), "")
	f.waitFor(knobs(2, 2000))
	for i := 1; i <= moves; i++ {
		f.write("memory", "/g"+strconv.Itoa(i), "cgroup.procs", f.pid)
		f.waitFor(knobs(2, int64(2000-4*i)))
	}
	if fds, err := filepath.Glob("/proc/" + f.pid + "/fd/*"); err != nil || len(fds) > 24 {
		t.Errorf("%d files are open after %d moves", len(fds), moves)
	}
	f.end()
}

// TestPinned: threads that a program pins to CPUs do not shrink GOMAXPROCS, and the tool does not
// take the main thread's CPUs for the program's.
func TestPinned(t *testing.T) {
	gate.Root(t, "root")
	exe, snug := built(t, "sandboxed"), programs.BuildToolFor(t, "")
	for _, off := range []string{"SNUG=on", "SNUG=off"} {
		t.Run(off, func(t *testing.T) {
			base := app(t, "200000", 256)
			f := start(t, base, "/app", exe, "", off)
			first := knobs(2, 256)
			if off == "SNUG=off" {
				first = "procs=2 memory=" + strconv.Itoa(1<<63-1)
			}
			f.waitFor(first)
			f.tell("pin")
			// A smaller memory limit shows that the limits have been read since.
			f.write("memory", "/app", "memory.limit_in_bytes", strconv.Itoa(128*mib))
			if off == "SNUG=on" {
				f.waitFor(knobs(2, 128))
			}
			var plan struct {
				GOMAXPROCS struct{ Value int }
			}
			var limits struct {
				CPU struct {
					CPUs int `json:"affinity_cpus"`
				}
			}
			answer := func(to any, args ...string) {
				t.Helper()
				out, err := exec.Command(snug, args...).Output()
				if err != nil && len(out) == 0 {
					t.Fatalf("snug %v: %v", args, err)
				}
				if err := json.Unmarshal(out, to); err != nil {
					t.Fatalf("snug %v: %v\n%s", args, err, out)
				}
			}
			if plan.GOMAXPROCS.Value = 2; off == "SNUG=on" { // SNUG=off holds for it too
				answer(&plan, "plan", "--pid", f.pid, "--json")
			}
			answer(&limits, "limits", "--pid", f.pid, "--json")
			if plan.GOMAXPROCS.Value != 2 || limits.CPU.CPUs != 2 {
				t.Errorf("plan says %d Ps, and limits %d CPUs, want 2", plan.GOMAXPROCS.Value, limits.CPU.CPUs)
			}
			if out, _ := exec.Command(snug, "doctor", f.pid, "--for", "2s").CombinedOutput(); bytes.Contains(out, []byte("GOMAXPROCS=1")) {
				t.Errorf("%q: doctor advises one P:\n%s", off, out)
			}
			f.end()
			if n := strings.Count(f.stderr.String(), "GOMAXPROCS=1"); n != 0 {
				t.Errorf("GOMAXPROCS was 1:\n%s", f.stderr.String())
			}
		})
	}
}

// TestMachineMemory: MemTotal, of which lxcfs or a balloon show another size while the program runs,
// is followed in both directions.
func TestMachineMemory(t *testing.T) {
	gate.Root(t, "root")
	base := app(t, "-1", 1024)
	file := filepath.Join(t.TempDir(), "meminfo")
	total := func(mibs int) {
		t.Helper()
		if err := os.WriteFile(file, []byte(fmt.Sprintf("MemTotal:       %8d kB\nMemFree:        %8d kB\n", mibs<<10, 1024)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	total(512)
	f := start(t, base, "/app", built(t, "sandboxed"), "mount --bind '"+file+"' /proc/meminfo")
	f.waitFor(knobs(2, 512))
	total(2048)
	f.waitFor(knobs(2, 1024))
	f.write("memory", "/app", "memory.limit_in_bytes", strconv.Itoa(4096*mib))
	f.waitFor(knobs(2, 2048))
	total(256)
	f.waitFor(knobs(2, 256))
	f.end()
}

// TestAddressSpace: what a program maps later does not shrink what RLIMIT_AS left it at its start.
func TestAddressSpace(t *testing.T) {
	gate.Root(t, "root")
	base := app(t, "50000", 4096)
	f := start(t, base, "/app", built(t, "sandboxed"), "ulimit -v 2500000")
	f.waitFirst()
	_, memory, _ := strings.Cut(f.last, " ")
	if memory == "memory="+strconv.Itoa(1<<63-1) || f.last == knobs(1, 4096) {
		t.Fatalf("the address space bounds nothing: %s", f.last)
	}
	f.tell("grow")
	f.write("cpu", "/app", "cpu.cfs_quota_us", "150000")
	f.waitFor("procs=2 " + memory)
	f.end()
}
