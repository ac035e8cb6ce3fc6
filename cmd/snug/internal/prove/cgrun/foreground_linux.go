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

// Foreground runs a command as if it stood in snug's place: same files, same
// terminal, signals passed on, stopped and continued together. It returns when the
// command has ended, what it left running in its group has been killed and the group
// is gone. End with [Result.Finish]: the signals stay caught as by [Catch], so that
// none of them ends this process on the way there.
//
// A signal that comes before the command runs and would end snug ends it: the
// Result then says so as if the command had died of it. As pid 1 Foreground also
// reaps the orphans it inherits.
//
// The command has a process group of its own, and the terminal while snug would
// have it (see terminal). So a signal to snug's process group reaches the command
// once, through snug; SIGKILL and SIGSTOP do not reach it: Spec.Tied ends it with
// snug. A signal that the command sends to its parent is passed on as any other,
// and comes back.
func Foreground(spec Spec) (res Result, err error) {
	signals, err := caught()
	if err != nil {
		return Result{}, err
	}

	f := follower{stop: stopJob}
	defer f.terminal.takeBack() // last of all: then a shell may go on
	spec.lead = func(pid int) {
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
	defer remove() // in a panic, too

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

var caught = sync.OnceValues(func() (<-chan os.Signal, error) {
	if err := spareFiles(); err != nil {
		return nil, &NoWayError{Tried: []Tried{{"", err}}, cure: cureFiles}
	}
	signals := make(chan os.Signal, 512)
	notify(signals, passedOn()...)
	return signals, nil
})

// startWatching starts the command. A signal that would end snug ends the start;
// others wait until the command can have them.
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
	child    *Child
	terminal terminal
	asked    bool                       // snug was asked to stop since it was last continued
	passed   syscall.Signal             // the last signal passed on
	hungUp   bool                       // see stopped
	stop     func(syscall.Signal, bool) // stopJob
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

// received acts on a signal. One that asks to stop snug takes effect when, and only
// if, the child stops: an editor first puts the terminal in order, a shell ignores it.
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
			f.stopped(sig) // the child's stop was seen first, and snug was not asked then
		}
	}
}

func stopsJob(sig syscall.Signal) bool {
	return sig == unix.SIGTSTP || wantsTerminal(sig)
}

func wantsTerminal(sig syscall.Signal) bool {
	return sig == unix.SIGTTIN || sig == unix.SIGTTOU
}

// passOn gives the child a signal; and its whole group, as a terminal would, what
// the terminal sends while snug's group is in the foreground.
func (f *follower) passOn(sig syscall.Signal) {
	f.passed = sig
	if sig == unix.SIGINT || sig == unix.SIGQUIT || sig == unix.SIGWINCH || stopsJob(sig) {
		if foreground() == unix.Getpgrp() {
			f.child.signalGroup(sig)
			return
		}
	}
	f.child.Signal(sig)
}

// resume continues the child after snug was continued: a shell's fg has put snug's
// group into the foreground before, its bg has not.
func (f *follower) resume() {
	f.terminal.lendAgain()
	if f.child.state() == 'T' {
		f.child.signalGroup(unix.SIGCONT)
	}
}

// stopped acts on a stop of the child. It stops snug as well, so that the shell that
// waits for snug takes over, and the others in its group, for which the shell waits
// too. A bare SIGSTOP, as from a debugger, is none of the shell's business: whoever
// sent it continues the child alone.
func (f *follower) stopped(sig syscall.Signal) {
	if f.child.state() != 'T' {
		return
	}
	if !f.asked {
		front := foreground()
		ours := front == unix.Getpgrp()
		switch {
		case front == 0 || !stopsJob(sig):
			return
		case ours && wantsTerminal(sig):
			f.terminal.lend(f.child.pid)
			f.child.signalGroup(unix.SIGCONT)
			return
		case sig == unix.SIGTSTP && !ours && front != f.child.pid:
			return
		}
		if _, orphaned := ownJob(); orphaned && wantsTerminal(sig) {
			// No shell will ever give it the terminal. The kernel ends orphans that are
			// stopped in the same way (_exit(2)). One that catches SIGHUP and reads on is
			// stopped again: not in a busy loop.
			if !f.hungUp {
				f.hungUp = true
				f.child.signalGroup(unix.SIGHUP)
			}
			time.Sleep(50 * time.Millisecond)
			f.child.signalGroup(unix.SIGCONT)
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

// ended tells the others in snug's group of the Ctrl-C that ended the command. While
// it had the terminal they did not get it, and a script would go on.
func (f *follower) ended(how Exit) {
	sig := syscall.Signal(how.Signal)
	if (sig == unix.SIGINT || sig == unix.SIGQUIT) && f.terminal.lentTo != 0 && foreground() == f.terminal.lentTo && f.passed != sig {
		unix.Kill(0, sig) // caught here
	}
}

// signalGroup sends a signal to the child's process group, as Signal does to the child.
func (c *Child) signalGroup(sig syscall.Signal) {
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
