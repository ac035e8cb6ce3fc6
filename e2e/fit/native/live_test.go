// SPDX-License-Identifier: Apache-2.0

package native

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/internal/cgv1"
	"github.com/snug-go/snug/e2e/internal/gate"
)

// following is the pool program in a group, and what it says.
type following struct {
	t     *testing.T
	base  *cgv1.Base
	pid   string
	lines chan string
	last  string
	end   func()
}

func follow(t *testing.T, base *cgv1.Base, path string) *following {
	t.Helper()
	return followProgram(t, base, path, pool(t))
}

// pool builds the program.
func pool(t *testing.T) string {
	t.Helper()
	return built(t, "pool")
}

// built is a stripped program of e2e.
func built(t *testing.T, name string) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", exe, "../"+name).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return exe
}

func followProgram(t *testing.T, base *cgv1.Base, path, exe string) *following {
	t.Helper()
	cmd := base.Command(t, path, exe)
	cmd.SysProcAttr.Pdeathsig = 0 // this thread may end before
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f := &following{t: t, base: base, pid: strconv.Itoa(cmd.Process.Pid), lines: make(chan string, 100)}
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			f.lines <- s.Text()
		}
		close(f.lines)
	}()
	f.end = func() {
		in.Close()
		for range f.lines { // Wait closes the pipe
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	return f
}

// says waits until the program says a line. A minute ends a program that never
// will.
func (f *following) says(want string) {
	f.t.Helper()
	for late := time.After(time.Minute); ; {
		select {
		case line, ok := <-f.lines:
			if !ok {
				f.t.Fatalf("the program ended, it said %q last, want %q", f.last, want)
			}
			if f.last = line; line == want {
				return
			}
		case <-late:
			f.t.Fatalf("the program said %q last, want %q", f.last, want)
		}
	}
}

// begun waits until the program says something.
func (f *following) begun() {
	f.t.Helper()
	select {
	case line, ok := <-f.lines:
		if !ok {
			f.t.Fatal("the program ended without a word")
		}
		f.last = line
	case <-time.After(time.Minute):
		f.t.Fatal("the program says nothing")
	}
}

// write changes a file of a group.
func (f *following) write(controller, path, file, text string) {
	f.t.Helper()
	name := filepath.Join(f.base.Dir(controller), path, file)
	if err := os.WriteFile(name, []byte(text), 0); err != nil {
		f.t.Fatal(err)
	}
}

const mib = 1 << 20

func TestFollowsLive(t *testing.T) {
	gate.Root(t, "root")
	base := cgv1.New(t, "cpu", "memory", "cpuset")
	memory := func(n int) map[string]string {
		return map[string]string{"memory.limit_in_bytes": strconv.Itoa(n * mib)}
	}
	quota := func(micros string) map[string]string { return map[string]string{"cpu.cfs_quota_us": micros} }
	base.Make(t, map[string]map[string]map[string]string{
		"memory": {"/pod": memory(1024), "/pod/app": memory(512), "/other": memory(256)},
		"cpu":    {"/pod": quota("300000"), "/pod/app": quota("100000"), "/other": quota("-1")},
		"cpuset": {"/pod": {"cpuset.cpus": cpus, "cpuset.mems": "0"}, "/pod/app": {"cpuset.cpus": cpus, "cpuset.mems": "0"}, "/other": {"cpuset.cpus": "0", "cpuset.mems": "0"}},
	})
	f := follow(t, base, "/pod/app")
	defer f.end()
	line := func(procs int, bytes int64) string {
		return strings.Join([]string{"procs=" + strconv.Itoa(procs), "memory=" + strconv.FormatInt(bytes, 10), "workers=" + strconv.Itoa(4*procs), "limiter=" + strconv.Itoa(2*procs)}, " ")
	}
	less := func(n int64) int64 { return n*mib - n*mib/10 }
	f.says(line(2, less(512)))

	// The container shrinks, then the pod below it, then both grow, the pod first.
	f.write("memory", "/pod/app", "memory.limit_in_bytes", strconv.Itoa(256*mib))
	f.says(line(2, less(256)))
	f.write("memory", "/pod", "memory.limit_in_bytes", strconv.Itoa(200*mib))
	f.says(line(2, 200*mib-20*mib))
	f.write("memory", "/pod", "memory.limit_in_bytes", strconv.Itoa(2048*mib))
	f.write("memory", "/pod/app", "memory.limit_in_bytes", strconv.Itoa(1024*mib))
	f.says(line(2, less(1024)))

	// It may run on one CPU, and again on two.
	f.write("cpuset", "/pod/app", "cpuset.cpus", "0")
	f.says(line(1, less(1024)))
	f.write("cpuset", "/pod/app", "cpuset.cpus", cpus)
	f.says(line(2, less(1024)))

	// It is moved to another group, and that group's limit is taken away.
	for _, c := range []string{"memory", "cpu", "cpuset"} {
		f.write(c, "/other", "cgroup.procs", f.pid)
	}
	f.says(line(1, less(256)))
	f.write("memory", "/other", "memory.limit_in_bytes", "-1")
	f.says(line(1, 1<<63-1))
}
