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

// following is a program in a group, and its output.
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

// pool builds the pool program.
func pool(t *testing.T) string {
	t.Helper()
	return built(t, "pool")
}

// built builds a stripped program of e2e/fit.
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
	cmd.SysProcAttr.Pdeathsig = 0 // this thread may end earlier
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

// waitFor waits up to a minute for a line of output.
func (f *following) waitFor(want string) {
	f.t.Helper()
	for late := time.After(time.Minute); ; {
		select {
		case line, ok := <-f.lines:
			if !ok {
				f.t.Fatalf("the program ended after %q, want %q", f.last, want)
			}
			if f.last = line; line == want {
				return
			}
		case <-late:
			f.t.Fatalf("the last line is %q, want %q", f.last, want)
		}
	}
}

// waitFirst waits up to a minute for the first line of output.
func (f *following) waitFirst() {
	f.t.Helper()
	select {
	case line, ok := <-f.lines:
		if !ok {
			f.t.Fatal("the program ended without output")
		}
		f.last = line
	case <-time.After(time.Minute):
		f.t.Fatal("no output after a minute")
	}
}

// write writes a file of a group.
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
	f.waitFor(line(2, less(512)))

	// The limit of the container shrinks, then that of the pod below it. Then both grow, the pod
	// first.
	f.write("memory", "/pod/app", "memory.limit_in_bytes", strconv.Itoa(256*mib))
	f.waitFor(line(2, less(256)))
	f.write("memory", "/pod", "memory.limit_in_bytes", strconv.Itoa(200*mib))
	f.waitFor(line(2, 200*mib-20*mib))
	f.write("memory", "/pod", "memory.limit_in_bytes", strconv.Itoa(2048*mib))
	f.write("memory", "/pod/app", "memory.limit_in_bytes", strconv.Itoa(1024*mib))
	f.waitFor(line(2, less(1024)))

	// One CPU, then two again.
	f.write("cpuset", "/pod/app", "cpuset.cpus", "0")
	f.waitFor(line(1, less(1024)))
	f.write("cpuset", "/pod/app", "cpuset.cpus", cpus)
	f.waitFor(line(2, less(1024)))

	// Moved to another group, whose limit is then removed.
	for _, c := range []string{"memory", "cpu", "cpuset"} {
		f.write(c, "/other", "cgroup.procs", f.pid)
	}
	f.waitFor(line(1, less(256)))
	f.write("memory", "/other", "memory.limit_in_bytes", "-1")
	f.waitFor(line(1, 1<<63-1))
}
