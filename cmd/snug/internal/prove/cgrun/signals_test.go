// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package cgrun

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// lines returns the complete lines of a file, none if there is none.
func lines(name string) []string {
	b, _ := os.ReadFile(name)
	list := strings.Split(string(b), "\n")
	return list[:len(list)-1]
}

// signalsIn returns the signals an as-counter has received, in order. Equal
// signals that are sent close together may be one: the caller must wait between them.
func signalsIn(name string) []string {
	list := lines(name)
	if len(list) > 0 && list[0] == "ready" {
		return list[1:]
	}
	return nil
}

// settle waits long enough for an unwanted signal to arrive.
func settle() { time.Sleep(150 * time.Millisecond) }

func TestSignalsArePassedOnOnce(t *testing.T) {
	needRoot(t)
	file := filepath.Join(t.TempDir(), "signals")
	cmd := snug("-cpus 1", "as-counter", file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the command is ready", func() bool { return len(lines(file)) == 1 })
	var want []string
	for _, sig := range []syscall.Signal{unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH,
		unix.SIGALRM, unix.SIGABRT, unix.SIGPWR, unix.SIGIO, 40, 64, unix.SIGURG, unix.SIGCHLD, unix.SIGTERM} {
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if sig == unix.SIGURG || sig == unix.SIGCHLD { // about snug itself
			continue
		}
		want = append(want, strconv.Itoa(int(sig)))
		until(t, fmt.Sprintf("signal %d arrives", sig), func() bool { return len(signalsIn(file)) >= len(want) })
	}
	if o := ended(t, cmd, cmd.Wait()); o.code != 0 {
		t.Errorf("%+v, want the command's own end", o)
	}
	if got := signalsIn(file); !slices.Equal(got, want) {
		t.Errorf("the command got %v, want %v", got, want)
	}
}

func TestSignalBeforeTheCommandRuns(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	file, ready, goes := filepath.Join(dir, "signals"), filepath.Join(dir, "ready"), filepath.Join(dir, "goes")
	cmd := snug("-cpus 1 -hold "+goes+" -ready "+ready, "as-counter", file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the shim is confined", func() bool { return exists(ready) })
	cmd.Process.Signal(unix.SIGTERM)
	until(t, "the signal has come", func() bool {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		return strings.Contains(string(status), "\nShdPnd:\t0000000000000000\n")
	})
	writeJSON(goes, true)
	if o := ended(t, cmd, cmd.Wait()); o.signal != unix.SIGTERM {
		t.Errorf("%+v, want death by SIGTERM", o)
	}
	if exists(file) {
		t.Error("the command was started")
	}
}

// A screen is a pty with a job-control shell on it, which runs one job.
type screen struct {
	t              *testing.T
	master, orders *os.File
	log, counts    string // files of the shell's events and the command's signals
	snug           int
	child          int
	done           chan outcome
}

// openPTY returns both ends of a new pseudo-terminal (pty(7)).
func openPTY(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// openTerminal makes the shell start snug, through the roles in via (as-with,
// as-background), and snug start a role of this binary. The role's argument is a file
// for the signals it gets.
func openTerminal(t *testing.T, flags, role string, via ...string) *screen {
	t.Helper()
	dir := t.TempDir()
	x := &screen{t: t, log: filepath.Join(dir, "log"), counts: filepath.Join(dir, "signals"), done: make(chan outcome, 1)}
	ready := filepath.Join(dir, "ready")

	var slave *os.File
	x.master, slave = openPTY(t)
	defer slave.Close()
	orders, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer orders.Close()
	x.orders = w

	job := snug(flags+" -ready "+ready, role, x.counts).Args
	if len(via) > 0 {
		job = append(self(via...), job...)
	}
	cmd := command(append(self("as-shell", x.log), job...))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.ExtraFiles = []*os.File{orders}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		x.done <- ended(t, cmd, cmd.Wait())
	}()
	t.Cleanup(func() {
		x.orders.Close()
		x.master.Close()
		if t.Failed() {
			unix.Kill(x.child, unix.SIGKILL)
			unix.Kill(cmd.Process.Pid, unix.SIGKILL)
		}
	})
	until(t, "the command is ready", func() bool { return len(lines(x.counts)) == 1 })
	x.child = readJSON[Confinement](t, ready).PID
	x.snug, _ = strconv.Atoi(strings.TrimPrefix(lines(x.log)[0], "job "))
	return x
}

func (x *screen) types(s string) {
	x.t.Helper()
	if _, err := x.master.WriteString(s); err != nil {
		x.t.Fatal(err)
	}
}

// stopped reports whether a process is stopped.
func stopped(pid int) bool { return (&Child{pid: pid}).state() == 'T' }

// shellSaw waits for the shell's n-th line about its job.
func (x *screen) shellSaw(n int, want string) {
	x.t.Helper()
	until(x.t, "the shell sees "+want, func() bool { return len(lines(x.log)) > n })
	if got := lines(x.log)[n]; got != want {
		x.t.Fatalf("the shell saw %q, want %q", got, want)
	}
}

func (x *screen) commandGot(want ...string) {
	x.t.Helper()
	until(x.t, fmt.Sprintf("signals %v", want), func() bool { return len(signalsIn(x.counts)) >= len(want) })
	settle()
	if got := signalsIn(x.counts); !slices.Equal(got, want) {
		x.t.Fatalf("the command got %v, want %v", got, want)
	}
}

// inFront waits until a process group is in the foreground.
func (x *screen) inFront(group int) {
	x.t.Helper()
	now := 0
	until(x.t, fmt.Sprintf("group %d is in the foreground", group), func() bool {
		now, _ = unix.IoctlGetInt(int(x.master.Fd()), unix.TIOCGPGRP)
		return now == group
	})
}

func TestTerminalSignalsArriveOnce(t *testing.T) {
	needRoot(t)
	x := openTerminal(t, "-cpus 1", "as-counter")
	// The command has a group of its own, so the terminal's signals do not reach snug,
	// and every signal that snug receives is for the command.
	if g, err := unix.Getpgid(x.child); err != nil || g != x.child {
		t.Errorf("the command is in process group %d, %v; want its own, %d", g, err, x.child)
	}
	x.inFront(x.child)
	x.types("\x03") // Ctrl-C
	x.commandGot("2")
	unix.Kill(x.snug, unix.SIGINT)
	x.commandGot("2", "2")
	x.types("\x1c") // Ctrl-\
	x.commandGot("2", "2", "3")
	if err := unix.IoctlSetWinsize(int(x.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 7, Col: 70}); err != nil {
		t.Fatal(err)
	}
	x.commandGot("2", "2", "3", "28")
	unix.Kill(x.snug, unix.SIGWINCH)
	x.commandGot("2", "2", "3", "28", "28")
	unix.Kill(x.snug, unix.SIGTERM)
	x.shellSaw(1, "exited 0")
	<-x.done
	x.commandGot("2", "2", "3", "28", "28", "15")
}

func TestJobControl(t *testing.T) {
	needRoot(t)
	x := openTerminal(t, "-cpus 1", "as-counter")
	line := 1
	for _, tt := range []struct {
		name   string
		stop   func()
		resume string
	}{
		{"Ctrl-Z and fg", func() { x.types("\x1a") }, "fg"},
		{"Ctrl-Z and kill -CONT of snug alone", func() { x.types("\x1a") }, "cont"},
		{"kill -TSTP of snug and fg", func() { unix.Kill(x.snug, unix.SIGTSTP) }, "fg"},
		{"the command stops itself and fg", func() { unix.Kill(x.child, unix.SIGTSTP) }, "fg"},
		{"kill -TTOU of snug and kill -CONT of snug alone", func() { unix.Kill(x.snug, unix.SIGTTOU) }, "cont"},
		{"Ctrl-Z once more", func() { x.types("\x1a") }, "fg"},
	} {
		tt.stop()
		until(t, tt.name+": the shell sees a stop", func() bool { return len(lines(x.log)) > line })
		if got := lines(x.log)[line]; !strings.HasPrefix(got, "stopped ") {
			t.Fatalf("%s: the shell saw %q, want a stop", tt.name, got)
		}
		if !stopped(x.child) || !stopped(x.snug) {
			t.Errorf("%s: stopped are command %v, snug %v; want both", tt.name, stopped(x.child), stopped(x.snug))
		}
		fmt.Fprintln(x.orders, tt.resume)
		x.shellSaw(line+1, "continued")
		x.inFront(x.child)
		until(t, tt.name+": both run", func() bool { return !stopped(x.child) && !stopped(x.snug) })
		line += 2
		settle()
		if n := len(lines(x.log)); n != line {
			t.Fatalf("%s: the shell then saw %q", tt.name, lines(x.log)[line:])
		}
	}
	// A debugger's stop of the command is not a stop of the job.
	unix.Kill(x.child, unix.SIGSTOP)
	until(t, "the command is stopped", func() bool { return stopped(x.child) })
	settle()
	if stopped(x.snug) {
		t.Error("snug followed a bare SIGSTOP")
	}
	unix.Kill(x.child, unix.SIGCONT)

	for _, sig := range signalsIn(x.counts) {
		if sig != "18" {
			t.Errorf("the command got signal %s besides SIGCONT", sig)
		}
	}
	x.types("\x03")
	until(t, "Ctrl-C arrives", func() bool { return slices.Contains(signalsIn(x.counts), "2") })
	unix.Kill(x.child, unix.SIGKILL)
	x.shellSaw(line, "killed 9")
	<-x.done
}

func TestHangUpReachesTheCommandOnce(t *testing.T) {
	needRoot(t)
	// Without a shell snug leads the session, and a terminal that hangs up signals
	// only the leader.
	file := filepath.Join(t.TempDir(), "signals")
	master, slave := openPTY(t)
	cmd := snug("-cpus 1", "as-counter", file)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	until(t, "the command is ready", func() bool { return len(lines(file)) == 1 })
	master.Close()
	until(t, "SIGHUP arrives", func() bool { return len(signalsIn(file)) > 0 })
	settle()
	if got := signalsIn(file); !slices.Equal(got, []string{"1"}) {
		t.Errorf("the command got %v, want one SIGHUP", got)
	}
	cmd.Process.Signal(unix.SIGTERM)
	if o := ended(t, cmd, cmd.Wait()); o.code != 0 {
		t.Errorf("%+v", o)
	}
}

// Snug may see the command's stop or its own signal first. Either way it stops once.
func TestSnugStopsWithItsCommandInWhateverOrder(t *testing.T) {
	for _, sig := range []syscall.Signal{unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU} {
		for _, first := range []string{"stop", "signal"} {
			cmd := command(self("as-burner"))
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			f := follower{child: &Child{pid: cmd.Process.Pid}}
			stops := 0
			f.stop = func(got syscall.Signal, _ bool) {
				if stops++; got != sig {
					t.Errorf("stopped by %v, want %v", got, sig)
				}
			}
			unix.Kill(f.child.pid, unix.SIGSTOP)
			until(t, "the command is stopped", func() bool { return stopped(f.child.pid) })
			if first == "stop" {
				f.stopped(sig)
			}
			f.received(sig)
			if first == "signal" {
				f.stopped(sig)
			}
			if stops != 1 || stopped(f.child.pid) {
				t.Errorf("%v, the %s first: snug stopped %d times, want once; the command still stopped: %v", sig, first, stops, stopped(f.child.pid))
			}
			cmd.Process.Kill()
			cmd.Wait()
		}
	}
}
