// SPDX-License-Identifier: Apache-2.0

package limits_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/snug-go/snug/internal/fixture"
	"github.com/snug-go/snug/limits"
)

func init() {
	if os.Getenv("SNUG_TEST_PIN") != "" {
		runtime.LockOSThread() // the main goroutine stays on the main thread
	}
	if os.Getenv("SNUG_TEST_PID1") != "" {
		var mask uint64
		syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, 8, uintptr(unsafe.Pointer(&mask)))
		pin(1, mask&-mask) // its main thread
		l, err := limits.Read(limits.Process{PID: 1})
		must(err)
		fmt.Print(l.CPU.Affinity)
		os.Exit(0)
	}
}

// pin pins a thread to the CPUs of a mask; 0 is the calling thread.
func pin(tid int, mask uint64) {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, uintptr(tid), 8, uintptr(unsafe.Pointer(&mask))); errno != 0 {
		panic(errno)
	}
}

// pinned pins its main thread, then all threads, then the main thread alone again, then none, and prints the CPUs of the process after
// each step, as a Follower and a Handle read them, and as Read does for another process.
func pinned() {
	var first, before uint64
	syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, 8, uintptr(unsafe.Pointer(&before)))
	first = before & -before
	f, _ := limits.Follow()
	h, _ := limits.Open(limits.Process{})
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "SNUG_TEST_PIN=", "SNUG_TEST_BLOCK=1")
	in, _ := child.StdinPipe()
	if err := child.Start(); err != nil {
		panic(err)
	}
	defer child.Wait()
	defer in.Close()
	for n := 0; n < 2; { // the runtime's monitor has started
		tasks, _ := os.ReadDir("/proc/" + strconv.Itoa(child.Process.Pid) + "/task")
		n = len(tasks)
	}
	other, err := limits.Open(limits.Process{PID: child.Process.Pid})
	if err != nil {
		panic(err)
	}
	show := func() {
		done := make(chan bool)
		go func() { // not on the main thread
			var l limits.Limits
			f.Read(&l)
			own, _ := h.Read(0)
			its, _ := other.Read(0)
			once, _ := limits.Read(limits.Process{PID: child.Process.Pid})
			fmt.Println(l.CPU.Affinity, own.CPU.Affinity, its.CPU.Affinity, once.CPU.Affinity)
			close(done)
		}()
		<-done
	}
	all := func(mask uint64) {
		for _, pid := range []int{os.Getpid(), child.Process.Pid} {
			tasks, _ := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
			for _, task := range tasks {
				tid, _ := strconv.Atoi(task.Name())
				pin(tid, mask)
			}
		}
	}
	show()
	pin(0, first)
	pin(child.Process.Pid, first)
	show()
	all(first)
	show()
	all(before) // but for the main threads, as taskset -p would leave them
	pin(0, first)
	pin(child.Process.Pid, first)
	for range 32 {
		var l limits.Limits
		f.Read(&l)
		h.Read(0)
		other.Read(0)
	}
	show()
	all(before)
	show()
}

// TestPinnedThreads: a thread that is pinned does not shrink the CPUs of the process, and a mask
// that all threads share does.
func TestPinnedThreads(t *testing.T) {
	n := runtime.NumCPU()
	if n < 2 {
		t.Skip("needs two CPUs")
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SNUG_TEST_PIN=1", "GODEBUG=updatemaxprocs=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	line := func(n int) string { return strings.TrimSpace(strings.Repeat(strconv.Itoa(n)+" ", 4)) + "\n" }
	if want := line(n) + line(n) + line(1) + line(n) + line(n); string(out) != want {
		t.Errorf("free, main thread pinned, all pinned, the main thread, free again:\n%s\nwant\n%s", out, want)
	}
}

// TestPinnedSaved is the same for a saved tree, in which threads have status files.
func TestPinnedSaved(t *testing.T) {
	tree := func(status ...string) *fixture.FS {
		var b bytes.Buffer
		b.WriteString("A pinned thread.\n\n! symlink proc/self 42\n-- proc/42/cgroup --\n0::/\n")
		for i, s := range status {
			name := "proc/42/task/" + strconv.Itoa(42+i) + "/status"
			if i == 0 {
				fmt.Fprintf(&b, "-- proc/42/status --\nCpus_allowed:\t%s\n", s)
			}
			fmt.Fprintf(&b, "-- %s --\nCpus_allowed:\t%s\n", name, s)
		}
		s, err := fixture.Parse(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		return s.FS
	}
	for want, status := range map[int][]string{
		8: {"1", "ff", "1"},
		2: {"1", "2", "1"},
		1: {"1", "1", "1"},
	} {
		l, err := limits.Read(limits.Process{FS: tree(status...)})
		if err != nil || l.CPU.Affinity != limits.Of(want) {
			t.Errorf("threads with %v may use %v CPUs, %v, want %d", status, l.CPU.Affinity, err, want)
		}
	}
	// If the threads cannot be listed, the main thread's CPUs are not the process's.
	f := tree("1", "ff")
	h, err := limits.Open(limits.Process{FS: noList{f, "proc/42/task"}, PID: 42})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		l, err := h.Read(0)
		if err != nil || l.CPU.Affinity.State != limits.Unknown || !slices.Contains(l.Gaps, limits.Gap{Field: "cpu.affinity_cpus", File: "/proc/42/status", Why: "/proc/42/task cannot be listed: permission denied"}) {
			t.Errorf("threads that cannot be listed: %v CPUs, %v, %+v", l.CPU.Affinity, err, l.Gaps)
		}
	}
}

// noList is a tree in which a directory cannot be listed.
type noList struct {
	fs.FS
	dir string
}

func (n noList) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == n.dir {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return fs.ReadDir(n.FS, name)
}

// TestAnotherPIDNamespace: where /proc shows another PID namespace, its process 1 is not the process 1 of
// system calls, which here is pinned.
func TestAnotherPIDNamespace(t *testing.T) {
	n := runtime.NumCPU()
	if l, err := limits.Read(limits.Process{PID: 1}); n < 2 || err != nil || l.CPU.Affinity != limits.Of(n) {
		t.Skip("needs two CPUs")
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SNUG_TEST_PID1=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	out, err := cmd.Output()
	if errors.Is(err, os.ErrPermission) {
		t.Skip("needs a PID namespace")
	}
	if want := strconv.Itoa(n); err != nil || string(out) != want {
		t.Errorf("process 1 may use %s CPUs, %v, want %s", out, err, want)
	}
}
