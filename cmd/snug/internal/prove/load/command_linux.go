// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// grace is how long a command may take to end after SIGTERM.
const grace = time.Second

// apart gives the starter a process group of its own: it must outlive a kill of this
// process's group, to end the command.
func apart(starter *exec.Cmd) { starter.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// runCommand runs the command that stdin describes, and ends all that it left. At the end
// of stdin it ends the command and this process: the parent is gone, or no longer wants it.
func runCommand(args []string) (Ended, error) {
	realTime := len(args) == 4 && args[3] == becomeArg
	if realTime {
		return Ended{}, becomeRealTime(args[:3])
	}
	syscall.CloseOnExec(statusFD) // else a process that the command leaves could hold it open
	// The parent handles these. To ignore one would make the command ignore it too.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return Ended{}, &Error{What: "the load generator got no command", Cure: "it is started by snug bench"}
	}
	var c Command
	if err := json.Unmarshal(line, &c); err != nil {
		return Ended{}, &Error{What: fmt.Sprintf("bad command: %v", err), Cure: "it is started by snug bench"}
	}
	end := Ended{Policy: policy()}
	if c.RealTime && end.Policy != realTimePolicy {
		return end, &Error{What: fmt.Sprintf("cannot become real-time: the scheduling policy is %q", end.Policy)}
	}
	// What the command orphans becomes a child of this process: see endChildren.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return end, &Error{What: fmt.Sprintf("cannot watch over the command: %v, prctl", err)}
	}
	cmd := exec.Command("/bin/sh", "-c", c.Shell)
	cmd.Env = c.Env
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	// The signal is for a kill of this process. It comes at the end of the thread that
	// starts the command, so that must be the main one.
	runtime.LockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return end, &Error{What: fmt.Sprintf("cannot start the command: %v, /bin/sh", err), Cure: "--load-cmd and --prepare need a shell"}
	}
	group := cmd.Process.Pid
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	gone := make(chan struct{})
	go func() {
		io.Copy(io.Discard, in)
		close(gone)
	}()
	select {
	case <-ended:
	case <-gone:
		syscall.Kill(-group, syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(grace):
			syscall.Kill(-group, syscall.SIGKILL)
			<-ended
		}
	}
	end.Wall = time.Since(start).Seconds()
	endChildren(group)
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		end.Signal = int(status.Signal())
	} else {
		end.Code = status.ExitStatus()
	}
	var use syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_CHILDREN, &use) == nil {
		end.CPU = time.Duration(use.Utime.Nano() + use.Stime.Nano()).Seconds()
	}
	return end, nil
}

// endChildren ends the processes that a command left: SIGTERM to its group, then SIGKILL to
// all children of this process, until there are none. The children of a child that has
// ended become children of this process (PR_SET_CHILD_SUBREAPER, prctl(2)).
func endChildren(group int) {
	if !reap() {
		return
	}
	syscall.Kill(-group, syscall.SIGTERM)
	for start := time.Now(); reap(); time.Sleep(10 * time.Millisecond) {
		if time.Since(start) < grace {
			continue
		}
		syscall.Kill(-group, syscall.SIGKILL)
		for _, pid := range children() {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// reap waits for the children that have ended, and reports whether others are left.
func reap() bool {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // ECHILD
			return false
		case pid == 0:
			return true
		}
	}
}

// children returns the children of this process, of all its threads (proc_pid_task(5)).
func children() []int {
	var pids []int
	files, _ := filepath.Glob("/proc/self/task/*/children")
	for _, name := range files {
		text, _ := os.ReadFile(name)
		for word := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
