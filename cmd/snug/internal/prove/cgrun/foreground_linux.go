// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package cgrun

import (
	"context"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Foreground runs a command as if in snug's place: with the same files and the same
// terminal; it passes signals on, and both stop and continue together. It returns after
// the command has ended, the processes left in its group are killed and the group is
// removed. End with [Result.Finish]: the signals stay caught as by [Catch], so that
// none of them ends this process before.
//
// A signal that would end snug, and arrives before the command runs, ends the start:
// the Result then reads as if the signal had killed the command. As pid 1, Foreground
// also reaps the orphans it inherits.
//
// The command has a process group of its own. It has the terminal whenever snug would
// have it (see terminal). A signal to snug's process group therefore reaches the
// command once, through snug. SIGKILL and SIGSTOP do not reach it; the watchdog ends
// it with snug. A signal that the command sends to its parent is passed on like any
// other, and comes back.
func Foreground(spec Spec) (res Result, err error) {
	signals, err := caught()
	if err != nil {
		return Result{}, err
	}

	f := follower{stop: stopJob}
	defer f.terminal.takeBack() // last: after this a shell may continue
	spec.lead = func(pid int) {
		f.onTerminal = foreground() != 0
		if shared, _ := ownJob(); !shared {
			f.terminal.lend(pid)
		}
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
	defer remove() // also in a panic

	f.child = c
	for _, sig := range pending {
		f.received(sig)
	}
	events := f.watch()
	for ended := false; !ended; {
		select {
		case sig := <-signals:
			f.received(sig.(syscall.Signal))
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
	f.ended(res.Exit)
	res.Confinement = c.Confinement
	killed := c.group.clear()
	res.Usage = c.Usage() // after the last process, before the group is removed
	remove()
	res.Leftovers += killed
	return res, err
}

// Catch starts to collect the signals that Foreground passes on, and never stops. You
// can call it again. Call it before you prepare a Spec: a signal in between would
// otherwise reach the Go runtime, which ends the program with a goroutine dump on
// SIGQUIT. Foreground acts on the collected signals.
func Catch() error {
	_, err := caught()
	return err
}

var caught = sync.OnceValues(func() (<-chan os.Signal, error) {
	if err := spareFiles(); err != nil {
		return nil, &NoWayError{Tried: []Tried{{"", err}}, cure: cureFiles}
	}
	signals := make(chan os.Signal, 512)
	notify(signals, passedOn()...)
	return signals, nil
})

// startWatching starts the command. A signal that would end snug ends the start; it
// returns the others for the command.
func startWatching(spec Spec, signals <-chan os.Signal) (*Child, []syscall.Signal, error) {
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
	var pending []syscall.Signal
	var fatal syscall.Signal
	handle := func(s os.Signal) {
		sig := s.(syscall.Signal)
		switch sig {
		case unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT:
			fatal = sig
			cancel()
		case unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU:
			stopJob(sig, false)
			return
		}
		pending = append(pending, sig)
	}
	for {
		select {
		case sig := <-signals:
			handle(sig)
		case s := <-done:
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

// passedOn returns the signals to pass on: all that can be caught, except those
// about this process itself (faults, SIGCHLD, SIGPIPE, its own CPU and file
// size limits), SIGURG, which the Go runtime sends to itself, and the first
// three real-time signals, which C libraries use.
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
	child    *Child
	terminal terminal
	asked    bool                       // snug has received a stop signal since it was last continued
	passed   syscall.Signal             // the last signal passed on
	hungUp   bool                       // see stopped
	stop     func(syscall.Signal, bool) // stopJob

	onTerminal bool // there was a terminal when the command started
}

type event struct {
	stopped syscall.Signal // 0: the command ended
	err     error
}

// watch reports the stops of the command, and then its end.
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

// received acts on a signal. A stop signal stops snug only if and when the child stops:
// an editor first restores the terminal, a shell ignores the signal.
func (f *follower) received(sig syscall.Signal) {
	switch {
	case wantsTerminal(sig) && f.terminal.lentTo != 0 && foreground() == f.terminal.lentTo && shared():
		// Another process of snug's group, such as a pager, needs the terminal.
		f.terminal.takeBack()
		f.terminal.lentTo = 0
		unix.Kill(0, unix.SIGCONT)
	case sig == unix.SIGCONT:
		f.asked = false
		f.resume()
	case !stopsJob(sig):
		f.passOn(sig)
	default:
		f.asked = true
		f.passOn(sig)
		if f.child.state() == 'T' {
			f.stopped(sig) // the child's stop was seen before this signal
		}
	}
}

func stopsJob(sig syscall.Signal) bool {
	return sig == unix.SIGTSTP || wantsTerminal(sig)
}

func wantsTerminal(sig syscall.Signal) bool {
	return sig == unix.SIGTTIN || sig == unix.SIGTTOU
}

// passOn sends a signal to the child. A signal that terminals send goes to the child's
// whole process group while snug's group is in the foreground, as from a terminal.
func (f *follower) passOn(sig syscall.Signal) {
	f.passed = sig
	if sig == unix.SIGINT || sig == unix.SIGQUIT || sig == unix.SIGWINCH || stopsJob(sig) {
		if foreground() == unix.Getpgrp() {
			f.child.SignalGroup(sig)
			return
		}
	}
	f.child.Signal(sig)
}

// resume continues the child after snug was continued. Before that, a shell's fg has
// put snug's group into the foreground; its bg has not.
func (f *follower) resume() {
	f.terminal.lendAgain()
	if f.child.state() == 'T' {
		f.child.SignalGroup(unix.SIGCONT)
	}
}

// stopped acts on a stop of the child. It also stops snug and the other processes of
// snug's group, so that the shell that waits for them takes over. A bare SIGSTOP, for
// example from a debugger, does not concern the shell: its sender continues the child
// alone.
func (f *follower) stopped(sig syscall.Signal) {
	if f.child.state() != 'T' {
		return
	}
	if !f.asked {
		front := foreground()
		ours := front == unix.Getpgrp()
		switch {
		case f.onTerminal && wantsTerminal(sig) && terminalGone():
			// It went since the command was stopped, and the shell with it.
			f.child.SignalGroup(unix.SIGCONT)
			return
		case front == 0 || !stopsJob(sig):
			return
		case ours && wantsTerminal(sig):
			f.terminal.lend(f.child.pid)
			f.child.SignalGroup(unix.SIGCONT)
			return
		case sig == unix.SIGTSTP && !ours && front != f.child.pid:
			return
		}
		if _, orphaned := ownJob(); orphaned && wantsTerminal(sig) {
			// No shell will ever give it the terminal. The kernel ends stopped orphans in
			// the same way (_exit(2)). A process that catches SIGHUP and reads on is
			// stopped again; the sleep avoids a busy loop.
			if !f.hungUp {
				f.hungUp = true
				f.child.SignalGroup(unix.SIGHUP)
			}
			time.Sleep(50 * time.Millisecond)
			f.child.SignalGroup(unix.SIGCONT)
			return
		}
	}
	if !stopsJob(sig) {
		sig = unix.SIGTSTP
	}
	f.terminal.takeBack()
	f.stop(sig, !f.asked)
	f.asked = false
	f.resume()
}

// ended sends the Ctrl-C that ended the command to the other processes of snug's group.
// They did not get it while the command had the terminal, and a script would continue.
func (f *follower) ended(how Exit) {
	sig := syscall.Signal(how.Signal)
	if (sig == unix.SIGINT || sig == unix.SIGQUIT) && f.terminal.lentTo != 0 && foreground() == f.terminal.lentTo &&
		f.passed != sig {
		unix.Kill(0, sig) // caught here
	}
}

// SignalGroup is Signal for the child's process group.
func (c *Child) SignalGroup(sig syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped {
		unix.Kill(-c.pid, sig)
	}
}

// state returns the child's state letter from /proc/PID/stat, 0 if there is none.
func (c *Child) state() byte {
	s, _ := readStat(c.pid)
	return s.state
}

// Finish ends this process as the command ended: with its exit code, or by the signal
// that killed it, without a second core dump. Pid 1 exits with 128 plus the signal
// instead, because signals have no default action for it. Finish does not return.
func (e Exit) Finish() {
	if e.Signal != 0 && os.Getpid() != 1 {
		unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
		unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // prevents cores to a pipe
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
