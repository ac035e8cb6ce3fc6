// SPDX-License-Identifier: Apache-2.0

package limits_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snug-go/snug/limits"
)

func TestMain(m *testing.M) {
	if os.Getenv("SNUG_TEST_BLOCK") != "" {
		io.Copy(io.Discard, os.Stdin) // until the test has finished with this process
		os.Exit(0)
	}
	if os.Getenv("SNUG_TEST_PIN") != "" {
		pinned()
		os.Exit(0)
	}
	if n, err := strconv.ParseUint(os.Getenv("SNUG_TEST_READ"), 10, 64); err == nil {
		for fd := 3; fd < 10; fd++ {
			syscall.Close(fd) // left open by a parent
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
			panic(err)
		}
		l, err := limits.Self()
		if err != nil {
			panic(err)
		}
		os.Stdout.WriteString(fmt.Sprint(l.CPU.Quota, l.Memory.Hard, l.Gaps))
		os.Exit(0)
	}
	if dir := os.Getenv("SNUG_TEST_MOUNTS"); dir != "" {
		mounts(dir)
		os.Exit(0)
	}
	if seed, err := strconv.ParseUint(os.Getenv("SNUG_TEST_WORLD"), 10, 64); err == nil {
		world(seed)
		os.Exit(0)
	}
	if os.Getenv("SNUG_TEST_HOLD") != "" {
		hold(os.Stdin, os.Stdout)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// realCgroups skips the test unless it may create cgroups.
func realCgroups(t testing.TB) {
	t.Helper()
	for _, word := range strings.Split(os.Getenv("SNUG_E2E"), ",") {
		if word == "root" {
			return
		}
	}
	t.Skip("set SNUG_E2E=root to make real cgroups")
}

// A group is a real cgroup with a cpu and a memory controller: one directory on v2, two on v1.
type group struct {
	cpu, memory string
	v1          bool
}

// newGroup creates a group below the root of this machine's hierarchies.
func newGroup(t testing.TB, under *group, name string) *group {
	t.Helper()
	g := &group{cpu: "/sys/fs/cgroup", memory: "/sys/fs/cgroup"}
	if _, err := os.Stat("/sys/fs/cgroup/cpu/cpu.shares"); err == nil {
		g = &group{cpu: "/sys/fs/cgroup/cpu", memory: "/sys/fs/cgroup/memory", v1: true}
	}
	if under != nil {
		*g = *under
	}
	g.cpu, g.memory = filepath.Join(g.cpu, name), filepath.Join(g.memory, name)
	for _, dir := range []string{g.cpu, g.memory} {
		if err := os.Mkdir(dir, 0o755); err != nil && !(dir == g.memory && errors.Is(err, os.ErrExist)) { // one directory on v2
			t.Fatal(err)
		}
		t.Cleanup(func() { remove(t, dir) })
	}
	if under == nil && !g.v1 {
		if err := os.WriteFile(g.cpu+"/cgroup.subtree_control", []byte("+cpu +memory"), 0); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// remove waits until the kernel has released the last process.
func remove(t testing.TB, dir string) {
	var err error
	for late := time.Now().Add(3 * time.Minute); time.Now().Before(late); time.Sleep(20 * time.Millisecond) {
		if err = os.Remove(dir); err == nil || errors.Is(err, os.ErrNotExist) {
			return
		}
	}
	t.Errorf("cannot remove a test's cgroup: %v", err)
}

func (g *group) write(t testing.TB, dir, file, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0); err != nil {
		t.Fatal(err)
	}
}

func (g *group) quota(t *testing.T, micros int) {
	t.Helper()
	if g.v1 {
		g.write(t, g.cpu, "cpu.cfs_quota_us", strconv.Itoa(micros))
		return
	}
	g.write(t, g.cpu, "cpu.max", strconv.Itoa(micros)+" 100000")
}

func (g *group) limit(t *testing.T, bytes int64) {
	t.Helper()
	file := "memory.max"
	if g.v1 {
		file = "memory.limit_in_bytes"
	}
	g.write(t, g.memory, file, strconv.FormatInt(bytes, 10))
}

func (g *group) join(t testing.TB, pid int) {
	t.Helper()
	g.write(t, g.cpu, "cgroup.procs", strconv.Itoa(pid))
	g.write(t, g.memory, "cgroup.procs", strconv.Itoa(pid))
}

// TestRealCgroups contains every test that creates cgroups, so that one name excludes them.
func TestRealCgroups(t *testing.T) {
	realCgroups(t)
	t.Run("changes", testRealChanges)
	t.Run("charge", testRealCharge)
	t.Run("long paths", testLongPaths)
	t.Run("mounts", testMounts)
	t.Run("worlds", testWorlds)
}

// blocked starts a process that ends when its input does; a test may close that early.
func blocked(t *testing.T) (child *exec.Cmd, stdin io.Closer) {
	t.Helper()
	child = exec.Command("/proc/self/exe")
	child.Env = []string{"SNUG_TEST_BLOCK=1"}
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close(); child.Wait() })
	return child, stdin
}

// testLongPaths: groups nested so deep that their files are opened relative to a directory.
func testLongPaths(t *testing.T) {
	outer := newGroup(t, nil, "limits-test-long-"+strconv.Itoa(os.Getpid()))
	outer.quota(t, 50000)
	outer.limit(t, 64<<20)
	leaf := outer
	for range 40 {
		leaf = newGroup(t, leaf, strings.Repeat("d", 30))
	}
	child, _ := blocked(t)
	leaf.join(t, child.Process.Pid)
	l, err := limits.Read(limits.Process{PID: child.Process.Pid})
	if err != nil {
		t.Fatal(err)
	}
	if l.CPU.Quota != limits.Of(0.5) || l.Memory.Hard != limits.Of[int64](64<<20) || len(l.Gaps) > 0 || len(l.CPU.Levels) < 41 {
		t.Errorf("quota %v, memory %v, unknown %v, %d levels; want 0.5, 64 MiB, nothing and at least 41",
			l.CPU.Quota, l.Memory.Hard, l.Gaps, len(l.CPU.Levels))
	}
}

// mounts binds this machine's cgroups to dir. It prints what a handle reads through the bind,
// the later of two equal mounts, then without it, and by a new lookup once the bind is back
// and covered from above.
func mounts(dir string) {
	io.Copy(io.Discard, os.Stdin) // until this process is in its group
	must(syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""))
	bind := func() { must(syscall.Mount("/sys/fs/cgroup", dir, "", syscall.MS_BIND|syscall.MS_REC, "")) }
	say := func(h *limits.Handle) {
		l, err := h.Read(limits.Counters | limits.Detail)
		must(err)
		c, m := &l.CPU, &l.Memory
		fmt.Println(c.Quota, m.Hard, c.Shares.State|c.Weight.State, m.Events.Max.State, strings.HasPrefix(c.QuotaSource.File, dir), len(l.Gaps))
	}
	bind()
	h, err := limits.Open(limits.Process{})
	must(err)
	say(h)
	must(syscall.Unmount(dir, syscall.MNT_DETACH))
	say(h)
	bind()
	must(syscall.Mount("none", filepath.Dir(dir), "tmpfs", 0, ""))
	must(os.Mkdir(dir, 0o755))
	h, err = limits.Open(limits.Process{})
	must(err)
	say(h)
}

// testMounts: what one mount no longer shows, another does.
func testMounts(t *testing.T) {
	outer := newGroup(t, nil, "limits-test-mounts-"+strconv.Itoa(os.Getpid()))
	g := newGroup(t, outer, "leaf") // on v2 a group with child groups holds no processes
	g.quota(t, 50000)
	g.limit(t, 64<<20)
	dir := filepath.Join(t.TempDir(), "cgroup")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	child := exec.Command("/proc/self/exe")
	child.Env = []string{"SNUG_TEST_MOUNTS=" + dir}
	child.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	var said strings.Builder
	child.Stdout, child.Stderr = &said, &said
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	g.join(t, child.Process.Pid)
	stdin.Close()
	if err := child.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	// Quota, memory, states of details, whether it was read through the bind, gaps.
	if want := "0.5 67108864 2 2 true 0\n0.5 67108864 2 2 false 0\n0.5 67108864 2 2 false 2\n"; said.String() != want {
		t.Errorf("read\n%swant\n%s", &said, want)
	}
}

// testRealChanges follows a real process through a change, a move, a removed group and its
// end.
func testRealChanges(t *testing.T) {
	outer := newGroup(t, nil, "limits-test-"+strconv.Itoa(os.Getpid()))
	inner, other := newGroup(t, outer, "inner"), newGroup(t, outer, "other")
	outer.quota(t, 150000)
	outer.limit(t, 512<<20)
	inner.quota(t, 100000)
	inner.limit(t, 256<<20)

	child, stdin := blocked(t)
	inner.join(t, child.Process.Pid)

	h := open(t, nil, child.Process.Pid)
	expect := func(when string, quota float64, hard int64, shared bool) {
		t.Helper()
		l := read(t, h)
		if l.CPU.Quota != limits.Of(quota) || l.Memory.Hard != limits.Of(hard) || l.Memory.HardShared != shared {
			t.Errorf("%s: quota %v, hard %v, shared %v, want %v, %v, %v", when, l.CPU.Quota, l.Memory.Hard, l.Memory.HardShared, quota, hard, shared)
		}
	}
	expect("at first", 1, 256<<20, false)
	if l := read(t, h); l.CPU.Throttle.Periods.State != limits.Known || l.Memory.Current.State != limits.Known {
		t.Errorf("counters %+v, %v, want known", l.CPU.Throttle, l.Memory.Current)
	}
	inner.quota(t, 50000)
	expect("a smaller quota", 0.5, 256<<20, false)
	inner.quota(t, 125000)
	inner.limit(t, 384<<20)
	expect("larger ones", 1.25, 384<<20, false)
	other.quota(t, 75000)
	other.join(t, child.Process.Pid)
	expect("in another group", 0.75, 512<<20, true)
	remove(t, inner.cpu)
	expect("the first group removed", 0.75, 512<<20, true)

	stdin.Close()
	child.Wait()
	if _, err := h.Read(); !errors.Is(err, limits.ErrNoProcess) {
		t.Errorf("after its end: error %v, want ErrNoProcess", err)
	}
}
