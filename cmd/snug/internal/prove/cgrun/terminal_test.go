// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package cgrun

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// has waits until the last line of the command's file is want.
func (x *screen) has(want string) {
	x.t.Helper()
	until(x.t, "the command writes "+want, func() bool {
		l := lines(x.counts)
		return len(l) > 0 && l[len(l)-1] == want
	})
}

// As in `snug run -- CMD | less`, or in a script, the other processes of snug's process
// group keep the terminal and get its signals as long as the command does not read.
func TestOthersInTheJobKeepTheTerminal(t *testing.T) {
	needRoot(t)
	other := filepath.Join(t.TempDir(), "other")
	x := openTerminal(t, "-cpus 1", "as-counter", "as-with", other)
	until(t, "the other is ready", func() bool { return len(lines(other)) == 1 })
	t.Cleanup(func() { unix.Kill(-x.snug, unix.SIGKILL) })
	both := func(want ...string) {
		t.Helper()
		x.commandGot(want...)
		until(t, "the other gets it", func() bool { return slices.Equal(signalsIn(other), want) })
	}
	x.inFront(x.snug)
	x.types("\x03")
	both("2")
	x.types("\x1c")
	both("2", "3")
	unix.Kill(x.snug, unix.SIGUSR1)
	x.commandGot("2", "3", "10")
	unix.Kill(x.child, unix.SIGTSTP) // stops the job, the other too
	x.shellSaw(1, "stopped 20")
	until(t, "the other is stopped", func() bool {
		return slices.ContainsFunc(groupMembers(x.snug), func(pid int) bool { return pid != x.snug && stopped(pid) })
	})
	fmt.Fprintln(x.orders, "fg")
	x.shellSaw(2, "continued")
	until(t, "the command runs", func() bool { return !stopped(x.child) })
	x.inFront(x.snug)
	x.types("\x1a")
	x.shellSaw(3, "stopped 20")
	if !stopped(x.child) {
		t.Error("the command is not stopped")
	}
	fmt.Fprintln(x.orders, "fg")
	x.shellSaw(4, "continued")
	unix.Kill(x.snug, unix.SIGTERM)
	x.shellSaw(5, "exited 0")
	<-x.done
}

// groupMembers returns the processes of a process group, in any session.
func groupMembers(group int) []int {
	p, err := processGroupOf(group)
	if err != nil {
		return nil
	}
	return p.pids()
}

func TestCommandThatReadsGetsTheTerminal(t *testing.T) {
	needRoot(t)
	other := filepath.Join(t.TempDir(), "other")
	x := openTerminal(t, "-cpus 1", "as-reader", "as-with", other)
	until(t, "the other is ready", func() bool { return len(lines(other)) == 1 })
	t.Cleanup(func() { unix.Kill(-x.snug, unix.SIGKILL) })
	unix.Kill(x.snug, unix.SIGUSR1)
	x.inFront(x.child)
	x.types("hello\n")
	x.has("hello")
	x.types("\x1a")
	x.shellSaw(1, "stopped 20")
	fmt.Fprintln(x.orders, "fg")
	x.shellSaw(2, "continued")
	x.inFront(x.child)
	// Ctrl-C ends the command, and the script that it is part of.
	x.types("\x03")
	x.shellSaw(3, "killed 2")
	until(t, "the other gets SIGINT", func() bool { return slices.Contains(signalsIn(other), "2") })
	<-x.done
}

func TestBackgroundJobLeavesTheTerminalAlone(t *testing.T) {
	needRoot(t)
	x := openTerminal(t, "-cpus 1", "as-reader", "as-background")
	shell, err := unix.Getsid(x.child)
	if err != nil {
		t.Fatal(err)
	}
	settle()
	x.inFront(shell)
	unix.Kill(x.snug, unix.SIGUSR1)
	x.shellSaw(1, "stopped 21") // wants to read
	x.inFront(shell)
	fmt.Fprintln(x.orders, "bg")
	x.shellSaw(2, "continued")
	x.shellSaw(3, "stopped 21")
	fmt.Fprintln(x.orders, "fg")
	x.shellSaw(4, "continued")
	x.inFront(x.child)
	x.types("hello\n")
	x.has("hello")
	x.types("\x03")
	x.shellSaw(5, "killed 2")
}

// No shell gives the terminal to a background job that outlives its shell. Without a
// process group of its own, its read would return an error.
func TestOrphanThatReadsIsHungUp(t *testing.T) {
	needRoot(t)
	x := openTerminal(t, "-cpus 1", "as-reader", "as-background", self()[0], "as-parent")
	x.shellSaw(1, "exited 0")
	unix.Kill(parentOf(t, x.child), unix.SIGUSR1)
	x.has("hung up")
}

// A terminal may go between the stop of a command that reads from it and what snug does about it.
func TestStoppedCommandRunsOnWithoutItsTerminal(t *testing.T) {
	needRoot(t)
	x := openTerminal(t, "-cpus 1", "as-counter", "as-background", self()[0], "as-parent")
	x.shellSaw(1, "exited 0")
	snug := parentOf(t, x.child)
	x.master.Close()
	until(t, "the terminal is gone", func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", snug))
		f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		return err == nil && f[4] == "0" // tty_nr, proc_pid_stat(5)
	})
	unix.Kill(x.child, unix.SIGTTIN)
	x.commandGot("18")
	unix.Kill(x.child, unix.SIGTERM)
	until(t, "snug ends", func() bool { return !alive(snug) })
}

func parentOf(t *testing.T, pid int) int {
	t.Helper()
	s, ok := readStat(pid)
	if !ok {
		t.Fatal("no such process", pid)
	}
	return s.parent
}

func TestKilledJobTakesItsCommandWithIt(t *testing.T) {
	needRoot(t)
	x := openTerminal(t, "-cpus 1", "as-counter")
	unix.Kill(-x.snug, unix.SIGKILL)
	x.shellSaw(1, "killed 9")
	until(t, "the command ends", func() bool { return !alive(x.child) })
	<-x.done
}

// Snug does not know the sender of a signal, so it also passes on the command's own.
func TestSignalToTheParentComesBack(t *testing.T) {
	needRoot(t)
	file := filepath.Join(t.TempDir(), "signals")
	if o := run(t, snug("-cpus 1", "as-bouncer", file)); o.code != 0 {
		t.Errorf("%+v", o)
	}
	if got := strings.Join(lines(file), " "); got != "10" {
		t.Errorf("the command got %q, want 10", got)
	}
}

// timeout(1) and similar tools signal a whole group: the command gets one signal.
func TestSignalToTheGroupArrivesOnce(t *testing.T) {
	needRoot(t)
	file := filepath.Join(t.TempDir(), "signals")
	cmd := snug("-cpus 1", "as-counter", file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the command is ready", func() bool { return len(lines(file)) == 1 })
	unix.Kill(-cmd.Process.Pid, unix.SIGINT)
	until(t, "SIGINT arrives", func() bool { return len(signalsIn(file)) > 0 })
	settle()
	unix.Kill(-cmd.Process.Pid, unix.SIGTERM)
	if o := ended(t, cmd, cmd.Wait()); o.code != 0 {
		t.Errorf("%+v, want the command's own end", o)
	}
	if got := signalsIn(file); !slices.Equal(got, []string{"2", "15"}) {
		t.Errorf("the command got %v, want each once", got)
	}
}
