// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"bytes"
	"cmp"
	"strconv"

	"golang.org/x/sys/unix"
)

// Blocked counts the threads that sleep in a system call, of at most maxThreads. It leaves out those in
// a call in which Go's own idle threads sleep: futex, and epoll_wait in its variants. The runtime's
// monitor, which sleeps most of the time, counts.
//
// /proc/PID/task/TID/syscall is "running", or "NUMBER ARGUMENTS... SP PC"; the number is -1 outside of
// system calls. See man 5 proc_pid_syscall. Reading it needs the permissions of reading memory.
func (p *Process) Blocked(maxThreads int) (int, error) {
	tids, err := p.tids()
	if err != nil && len(tids) == 0 {
		return 0, p.why("task", err)
	}
	n, read := 0, 0
	for _, tid := range tids[:min(len(tids), maxThreads)] {
		text, bad := p.read("task/"+strconv.Itoa(tid)+"/syscall", maxStat)
		if bad != nil {
			err = bad
			continue // the thread ended
		}
		read++
		if blocks(text) {
			n++
		}
	}
	if read == 0 {
		return 0, cmp.Or(err, p.gone())
	}
	return n, nil
}

// blocks reports whether the text of a thread's syscall file is that of a call that Blocked counts.
func blocks(text []byte) bool {
	first, _, _ := bytes.Cut(text, []byte(" "))
	switch n, err := strconv.Atoi(string(first)); n {
	case unix.SYS_FUTEX, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2:
		return false
	default:
		return err == nil && n >= 0
	}
}
