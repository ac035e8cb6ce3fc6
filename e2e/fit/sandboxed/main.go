// SPDX-License-Identifier: Apache-2.0

//go:build linux && amd64

// Sandboxed is a program with snug/auto that does to itself, by each word on its standard input, what
// programs do that follow no rule of snug's: it enters a sandbox, or pins its threads. It prints a line
// whenever a knob changes, the word once it is done, and ends when its standard input does.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	_ "github.com/snug-go/snug/auto"
)

func main() {
	go func() { // an idle process is polled less often
		for {
			runtime.Gosched()
		}
	}()
	go func() {
		for last := ""; ; time.Sleep(10 * time.Millisecond) {
			if line := fmt.Sprintf("procs=%d memory=%d", runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1)); line != last {
				fmt.Println(line)
				last = line
			}
		}
	}()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		switch in.Text() {
		case "seccomp":
			// What follows would end the process: all that opens or looks up a file, and what else only snug asks for.
			kill(unix.SYS_OPEN, unix.SYS_OPENAT, unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_FSTAT, unix.SYS_NEWFSTATAT, unix.SYS_READLINK,
				unix.SYS_READLINKAT, unix.SYS_GETDENTS64, unix.SYS_GETRUSAGE, unix.SYS_PRLIMIT64, unix.SYS_GETRLIMIT, unix.SYS_SYSINFO, unix.SYS_SELECT, unix.SYS_PSELECT6)
		case "chroot":
			check(os.Mkdir("/run/snug-empty", 0o755))
			check(syscall.Chroot("/run/snug-empty"))
			check(os.Chdir("/"))
		case "landlock":
			landlock()
		case "grow": // 300 MiB that live
			heap := make([][]byte, 300)
			for i := range heap {
				heap[i] = make([]byte, 1<<20)
				for j := 0; j < 1<<20; j += 4096 {
					heap[i][j] = 1
				}
			}
			defer runtime.KeepAlive(heap)
		case "pin":
			for i := range runtime.NumCPU() {
				done := make(chan bool)
				go func() {
					runtime.LockOSThread()
					var set unix.CPUSet
					set.Set(i)
					check(unix.SchedSetaffinity(0, &set))
					close(done)
					for {
						runtime.Gosched()
					}
				}()
				<-done
			}
		}
		fmt.Println(in.Text())
	}
}

// kill makes some system calls end the process, in all its threads (seccomp(2)).
func kill(calls ...uint32) {
	code := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}} // the number
	for _, n := range calls {
		code = append(code, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: n},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_KILL_PROCESS})
	}
	code = append(code, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	check(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		check(errno)
	}
}

// landlock forbids all threads to read any file (landlock(7)).
func landlock() {
	rules := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules)), 8, 0)
	if errno != 0 {
		fmt.Println("no landlock:", errno)
		return
	}
	syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0)
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		check(errno)
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
