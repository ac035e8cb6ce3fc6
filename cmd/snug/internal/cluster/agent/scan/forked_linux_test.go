// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/snapshot"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// newline is the output of forked's child; a global does not move.
var newline = [1]byte{'\n'}

// forked forks, and prints the child's PID once the child has two threads. Like runc init,
// the child does not exec.
func forked() {
	runtime.LockOSThread() // the child ends with the thread
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	fd := w.Fd()
	pid, _, failed := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if failed != 0 {
		panic(failed)
	}
	if pid == 0 {
		syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0)
		// Both threads share a stack, so the first waits in the kernel until the second ends.
		const thread = syscall.CLONE_VM | syscall.CLONE_FS | syscall.CLONE_FILES | syscall.CLONE_SIGHAND | syscall.CLONE_THREAD | syscall.CLONE_VFORK
		syscall.RawSyscall6(syscall.SYS_CLONE, thread, 0, 0, 0, 0, 0)
		syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(&newline)), 1)
		for {
			syscall.RawSyscall6(syscall.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
		}
	}
	if _, err := r.Read(make([]byte, 1)); err != nil {
		panic(err)
	}
	fmt.Println(pid)
	bufio.NewReader(os.Stdin).ReadByte()
}

// TestScanForked: every scan skips a fork of a Go program before its exec, with any number of
// threads.
func TestScanForked(t *testing.T) {
	c := start(t, "env", "AGENT_TEST_CHILD=forked", self(t))
	var pid int
	if _, err := fmt.Fscanln(c.out, &pid); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
	if stat, err := proc.StatOf(pid); err != nil || !stat.Forked || stat.Threads < 2 {
		t.Fatalf("%+v, %v", stat, err)
	}
	a := newScanner(t, Options{Names: allNamed{}})
	for range 2 * settling {
		d := scan(t, a)
		if _, p := find(d, pid); p != nil {
			t.Fatalf("it is %+v", p)
		}
		if _, p := find(d, c.pid()); p == nil {
			t.Error("its parent is not there")
		}
		if _, seen := a.others[pid]; seen || count(d, snapshot.SkipStarting) == 0 {
			t.Errorf("it is none of Go's: %t; %+v", seen, d.Skipped)
		}
	}
}
