// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package cgrun

import (
	"iter"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The command has a process group of its own, and snug lends it the terminal as a
// shell does (tcsetpgrp(3)). Then Ctrl-C reaches the command and not snug, and every
// signal that snug receives is one to pass on.
//
// A shell starts all processes of a job; snug is one process of a job that a shell has
// started. `snug run -- CMD | less` has the pager in snug's group, a script has its
// shell there: these would lose the terminal, and Ctrl-C. So if snug's group has other
// processes it stays in the foreground. Then snug receives the terminal's signals and
// passes them on to the command's group. The command gets the terminal when it reads
// from it or changes its modes, because that stops it (SIGTTIN, SIGTTOU).

// terminal is the controlling terminal of this process, if there is one.
type terminal struct {
	lentTo int // process group of the command, 0 until it first has the terminal
}

// lend puts a process group into the foreground if snug's own is there.
func (t *terminal) lend(group int) {
	if foreground() == unix.Getpgrp() && setForeground(group) == nil {
		t.lentTo = group
	}
}

// lendAgain gives the command the terminal again if it had it before snug was stopped.
func (t *terminal) lendAgain() {
	if t.lentTo != 0 {
		t.lend(t.lentTo)
	}
}

// takeBack puts snug's own group into the foreground. If the terminal is no longer the
// command's, a shell has taken it and keeps it. But a command that is itself a shell
// may have left it to a group that is gone.
func (t *terminal) takeBack() {
	if t.lentTo == 0 {
		return
	}
	if now := foreground(); now == t.lentTo || now > 1 && !inhabited(now) {
		setForeground(unix.Getpgrp())
	}
}

// inhabited reports whether a process group has a process that has not ended. A signal
// would not tell, because it can also be sent to a zombie.
func inhabited(group int) bool {
	for range members(group) {
		return true
	}
	return false
}

// members yields the processes of a group that have not ended, by pid.
func members(group int) iter.Seq2[int, processStat] {
	return func(yield func(int, processStat) bool) {
		entries, _ := os.ReadDir("/proc")
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err != nil {
				continue
			}
			if s, ok := readStat(pid); ok && s.group == group && s.state != 'Z' && s.state != 'X' && !yield(pid, s) {
				return
			}
		}
	}
}

// foreground returns the foreground process group of the terminal, 0 if there is
// no terminal or the group is outside this pid namespace.
func foreground() (group int) {
	onTerminal(func(fd int) (err error) {
		group, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		return err
	})
	return group
}

// terminalGone reports whether this process has no controlling terminal (tty(4)).
func terminalGone() bool {
	err := onTerminal(func(int) error { return nil })
	return err == unix.ENXIO || err == unix.EIO
}

// setForeground puts a process group into the foreground. It also works from the
// background, because the kernel does not send a blocked SIGTTOU.
func setForeground(group int) error {
	return onTerminal(func(fd int) error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var before unix.Sigset_t
		if err := unix.PthreadSigmask(unix.SIG_BLOCK, &unix.Sigset_t{Val: [16]uint64{1 << (unix.SIGTTOU - 1)}},
			&before); err != nil {
			return err
		}
		defer unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
		return unix.IoctlSetPointerInt(fd, unix.TIOCSPGRP, group)
	})
}

func onTerminal(f func(fd int) error) error {
	fd, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return f(fd)
}

// ownJob reports whether snug's process group has other processes, and whether it is
// orphaned: then it has no parent that could continue it, and the kernel does not let
// the terminal stop it (setpgid(2)).
func ownJob() (shared, orphaned bool) {
	orphaned = true
	self, _ := readStat(os.Getpid())
	for pid, s := range members(self.group) {
		if s.session != self.session {
			continue
		}
		if pid != os.Getpid() {
			shared = true
		}
		if parent, ok := readStat(s.parent); ok && parent.session == s.session && parent.group != s.group {
			orphaned = false
		}
	}
	return shared, orphaned
}

// shared reports whether snug's process group has other processes.
func shared() bool {
	is, _ := ownJob()
	return is
}

// stopJob stops this process as the signal's default action does. If all is set it
// first stops the other processes of its process group. The kernel does not stop an
// orphaned group.
func stopJob(sig syscall.Signal, all bool) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if all {
		withAction(sig, sigIgnored, func() { unix.Kill(0, sig) })
	}
	withAction(sig, sigDefault, func() {
		// Sent to this thread, so that the stop has happened when the call returns.
		unix.Tgkill(os.Getpid(), unix.Gettid(), sig)
	})
}

// notify relays signals to a channel, except ignored ones, which the command inherits
// as ignored. Package signal does not report all of these (see Limitations).
func notify(c chan<- os.Signal, list ...syscall.Signal) {
	for _, sig := range list {
		var now kernelSigaction
		if sigaction(sig, nil, &now) == nil && now.handler != sigIgnored {
			signal.Notify(c, sig)
		}
	}
}

// kernelSigaction is struct sigaction as rt_sigaction(2) takes it on amd64 and
// arm64.
type kernelSigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

const (
	sigDefault = 0
	sigIgnored = 1
)

func sigaction(sig syscall.Signal, set, old *kernelSigaction) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig),
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
	if errno != 0 {
		return os.NewSyscallError("rt_sigaction", errno)
	}
	return nil
}

// withAction calls f while the signal has an action: sigDefault or sigIgnored.
func withAction(sig syscall.Signal, action uintptr, f func()) {
	var old kernelSigaction
	if sigaction(sig, &kernelSigaction{handler: action}, &old) == nil {
		defer sigaction(sig, &old, nil)
	}
	f()
}
