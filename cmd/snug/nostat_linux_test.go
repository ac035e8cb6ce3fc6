// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package main

import (
	"os"
	"os/exec"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() { commands["nostat"] = nostat }

// nostat executes its arguments under a seccomp filter that answers EACCES where a program asks about
// a file by its path (newfstatat without AT_EMPTY_PATH), as some sandboxes do. execve works.
func nostat() {
	file, err := exec.LookPath(os.Args[1])
	if err != nil {
		panic(err)
	}
	// struct seccomp_data (seccomp(2)): the number at 0, the low word of the fourth argument at 40.
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_NEWFSTATAT, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 40},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.AT_EMPTY_PATH, Jt: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread() // the filter is the thread's, and execve keeps it
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0); err != nil {
		panic(err)
	}
	panic(unix.Exec(file, os.Args[1:], os.Environ()))
}
