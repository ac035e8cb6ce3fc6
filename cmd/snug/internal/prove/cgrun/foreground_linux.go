// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package cgrun

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Foreground runs a command as if it stood in snug's place: same files, same
// process group and terminal, signals passed on, stopped and continued together.
// It returns when the command has ended, what it left running in its group has
// been killed and the group is gone. End with [Result.Finish]: the signals stay
// caught as by [Catch], so that none of them ends this process on the way there.
//
// A signal that comes before the command runs and would end snug ends it: the
// Result then says so as if the command had died of it. As pid 1 Foreground also
// reaps the orphans it inherits.
//
// A signal that a process sends to snug is passed on to the command. One that
// the terminal sends is not: the command, in the same process group, has it
// already. A process that signals the whole group at once (kill -INT -PGID)
// reaches the command twice, directly and through snug; the two cannot be told
// apart.
func Foreground(spec Spec) (res Result, err error) {
	signals, err := caught()
	if err != nil {
		return Result{}, err
	}

	c, pending, err := startWatching(spec, signals)
	if stop, ok := err.(*InterruptedError); ok {
		return Result{Exit: Exit{Code: 128 + stop.Signal, Signal: stop.Signal}}, nil
	}
	if err != nil {
		return Result{}, err
	}
	removed := false
	remove := func() {
		if !removed {
			removed = true
			res.Leftovers, res.Warning = c.Remove()
		}
	}
	defer remove() // in a panic, too

	f := follower{child: c, stop: stopSelf}
	for _, r := range pending {
		f.received(r)
	}
	events := f.watch()
	for ended := false; !ended; {
		select {
		case r := <-signals:
			f.received(r)
		case e := <-events:
			if e.err != nil {
				return Result{}, e.err
			}
			if ended = e.stopped == 0; !ended {
				f.stopped(e.stopped)
			}
		}
	}
	res.Exit, err = c.Wait()
	res.Confinement = c.Confinement
	killed := c.group.clear()
	res.Usage = c.Usage() // before the group goes, after the last process
	remove()
	res.Leftovers += killed
	return res, err
}

// Catch starts to collect the signals that Foreground passes on, for good; it may
// be called again. A program calls it before it prepares a Spec: a signal that
// comes in between would otherwise reach the Go runtime, which ends the program
// with a goroutine dump on SIGQUIT. What was caught, Foreground acts on.
func Catch() error {
	_, err := caught()
	return err
}

var caught = sync.OnceValues(func() (<-chan received, error) {
	if err := spareFiles(); err != nil {
		return nil, &NoWayError{Tried: []Tried{{"", err}}, cure: cureFiles}
	}
	signals, err := catch(passedOn())
	if err != nil {
		return nil, fmt.Errorf("signals cannot be received: %w", err)
	}
	return signals, nil
})

// startWatching starts the command. A signal that would end snug ends the start;
// others wait until there is somebody to pass them to.
func startWatching(spec Spec, signals <-chan received) (*Child, []received, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	type started struct {
		child *Child
		err   error
	}
	done := make(chan started, 1)
	go func() {
		c, err := Start(ctx, spec)
		done <- started{c, err}
	}()
	var pending []received
	var fatal syscall.Signal
	handle := func(r received) {
		switch r.sig {
		case unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT:
			fatal = r.sig
			cancel()
		case unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU:
			stopSelf(r.sig) // the terminal has stopped the shim as well
			return
		}
		pending = append(pending, r)
	}
	for {
		select {
		case r := <-signals:
			handle(r)
		case s := <-done:
			// The terminal may have ended the shim before snug had read its own copy
			// of the signal.
			for s.err != nil && len(signals) > 0 {
				handle(<-signals)
			}
			if s.err != nil && fatal != 0 {
				s.err = &InterruptedError{int(fatal)}
			}
			return s.child, pending, s.err
		}
	}
}

// passedOn lists the signals that are handled: all that can be, except those
// about this process itself (faults, SIGCHLD, SIGPIPE, its own CPU and file
// size limits), SIGURG, which the Go runtime sends to itself, and the first
// three real-time ones, which C libraries use.
func passedOn() []syscall.Signal {
	list := []syscall.Signal{
		unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGABRT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGTERM,
		unix.SIGCONT, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGWINCH, unix.SIGIO, unix.SIGPWR,
	}
	for sig := syscall.Signal(35); sig <= 64; sig++ {
		list = append(list, sig)
	}
	return list
}

// follower keeps snug in step with its child.
type follower struct {
	child *Child
	asked bool                 // snug was told to stop since it was last continued
	stop  func(syscall.Signal) // stopSelf
}

type event struct {
	stopped syscall.Signal // 0: the command ended
	err     error
}

// watch reports stops, and last the end, of the command.
func (f *follower) watch() <-chan event {
	events := make(chan event, 1)
	all := os.Getpid() == 1
	go func() {
		for {
			stopped, err := f.child.wait(true, all)
			events <- event{stopped, err}
			if stopped == 0 || err != nil {
				return
			}
		}
	}()
	return events
}

// received acts on a signal: it passes it on if the child has not got it in
// another way. One that asks to stop snug takes effect when, and only if, the
// child stops: an editor first puts the terminal in order, a shell ignores it.
func (f *follower) received(r received) {
	if !stopsJob(r.sig) {
		f.passOn(r)
		return
	}
	f.asked = true
	f.passOn(r)
	if f.child.state() == 'T' {
		f.stopped(r.sig) // the child's stop was seen first, and nobody had asked then
	}
}

func stopsJob(sig syscall.Signal) bool {
	return sig == unix.SIGTSTP || sig == unix.SIGTTIN || sig == unix.SIGTTOU
}

func (f *follower) passOn(r received) {
	switch r.sig {
	case unix.SIGCONT:
		// A shell's fg continues the whole group, `kill -CONT` only snug.
		f.asked = false
		if f.child.state() == 'T' {
			f.child.Signal(unix.SIGCONT)
		}
		return
	}
	if r.fromProcess() {
		// Not if the child itself signalled its process group.
		if int(r.from) != os.Getpid() && int(r.from) != f.child.pid {
			f.child.Signal(r.sig)
		}
		return
	}
	switch r.sig {
	case unix.SIGINT, unix.SIGQUIT, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGWINCH:
		return // the terminal's, for the whole process group
	case unix.SIGHUP:
		// A terminal that hangs up tells the session leader alone.
		if sid, err := unix.Getsid(0); err != nil || sid != os.Getpid() {
			return
		}
	}
	f.child.Signal(r.sig)
}

// stopped stops snug after its child, so that the shell that waits for snug gets
// its terminal back. A bare SIGSTOP, as from a debugger, is none of the shell's
// business: whoever sent it continues the child alone.
func (f *follower) stopped(sig syscall.Signal) {
	job := stopsJob(sig)
	if f.child.state() != 'T' || !f.asked && !(job && inForeground()) {
		return
	}
	if !job {
		sig = unix.SIGTSTP
	}
	f.stop(sig)
	f.asked = false
	if f.child.state() == 'T' {
		f.child.Signal(unix.SIGCONT) // only snug was continued
	}
}

// stopSelf stops this process as the signal's default action does. The kernel
// leaves it running where nobody could continue it (an orphaned process group).
func stopSelf(sig syscall.Signal) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	withDefault(sig, func() {
		// To this very thread: then the stop has happened when the call returns.
		unix.Tgkill(os.Getpid(), unix.Gettid(), sig)
	})
}

// inForeground reports whether snug is in the foreground of its terminal.
func inForeground() bool {
	fd, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	pgrp, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err == nil && pgrp == unix.Getpgrp()
}

// state returns the child's state letter from /proc/PID/stat, 0 if there is
// none. The line is "pid (name) state ...", and the name may hold anything.
func (c *Child) state() byte {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.pid))
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(b[max(0, strings.LastIndexByte(string(b), ')')):]), " ")
	if !ok || rest == "" {
		return 0
	}
	return rest[0]
}

// Finish ends this process the way the command ended: with its exit code, or by
// the signal that killed it, without another core dump. Pid 1 exits with 128
// plus the signal instead, because default actions do not exist for it. Finish
// does not return.
func (e Exit) Finish() {
	if e.Signal != 0 && os.Getpid() != 1 {
		unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
		unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // for cores that go to a pipe
		sig := syscall.Signal(e.Signal)
		runtime.LockOSThread()
		sigaction(sig, &kernelSigaction{handler: sigDefault}, nil)
		var set unix.Sigset_t
		set.Val[0] = 1 << (e.Signal - 1)
		unix.PthreadSigmask(unix.SIG_UNBLOCK, &set, nil)
		unix.Tgkill(os.Getpid(), unix.Gettid(), sig)
	}
	os.Exit(e.Code)
}
