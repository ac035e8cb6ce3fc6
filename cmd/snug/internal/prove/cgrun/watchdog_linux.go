// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package cgrun

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The watchdog of a command is another process of this program, in a session of its own and
// outside all groups that snug makes. It receives what to watch over a socket whose other
// end only snug holds, and answers when it is ready. End of file then means that snug has ended, in
// any way: it kills the processes in the group and removes the group. A parent-death signal
// (PR_SET_PDEATHSIG) does not suffice: it is sent at the end of the thread that
// forked, the command can clear it, and its children do not inherit it.

// A watched group is one that the watchdog ends. Paths need not be UTF-8.
type watched struct {
	Name      string
	Scope     bool // systemd removes it
	Parts     []watchedPart
	Processes processGroup
}

type watchedPart struct {
	V1          bool
	Controllers []string
	Dir, Group  []byte
}

func watchedGroup(name string, parts []part, scope bool) watched {
	w := watched{Name: name, Scope: scope}
	for _, p := range parts {
		w.Parts = append(w.Parts, watchedPart{p.v1, p.controllers, []byte(p.dir), []byte(p.group)})
	}
	return w
}

const (
	answerTimeout = 10 * time.Second // of the watchdog's answer
	removeTimeout = 2 * time.Minute  // for the removal of the group after the end of snug
)

type watchdog struct {
	conn  *os.File
	pid   int
	pidfd int
}

// watch starts a watchdog.
func watch(w watched) (_ *watchdog, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w: %w", errWatchdog, err)
		}
	}()
	conn, theirs, err := socketpair("watchdog")
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	d := &watchdog{conn: conn, pidfd: -1}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err == nil {
		defer null.Close()
		n := null.Fd()
		d.pid, _, err = syscall.StartProcess("/proc/self/exe", []string{"snug", watchArg, "3"}, &syscall.ProcAttr{
			Dir: "/", Env: os.Environ(), Files: []uintptr{n, n, n, theirs.Fd()},
			Sys: &syscall.SysProcAttr{Setsid: true, PidFD: &d.pidfd},
		})
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	theirs.Close()
	conn.SetDeadline(time.Now().Add(answerTimeout))
	var ready bool
	if err = json.NewEncoder(conn).Encode(w); err == nil {
		err = json.NewDecoder(conn).Decode(&ready)
	}
	if err != nil {
		d.stop()
		return nil, err
	}
	return d, nil
}

// stop kills the watchdog before it can act, and reaps it. Without one it does nothing.
func (d *watchdog) stop() {
	if d == nil || d.conn == nil {
		return
	}
	if d.pidfd >= 0 {
		unix.PidfdSendSignal(d.pidfd, unix.SIGKILL, nil, 0)
		unix.Close(d.pidfd)
	} else {
		unix.Kill(d.pid, unix.SIGKILL)
	}
	for {
		if _, err := unix.Wait4(d.pid, nil, 0, nil); err != unix.EINTR {
			break
		}
	}
	d.conn.Close()
	d.conn = nil
}

// guard is the main function of the watchdog.
func guard(conn *os.File) {
	// It survives the signals that end snug, even if they are sent to all processes.
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2,
		unix.SIGALRM, unix.SIGPIPE, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	in := json.NewDecoder(conn)
	var w watched
	if in.Decode(&w) != nil || !ownName(w.Name) || json.NewEncoder(conn).Encode(true) != nil {
		return
	}
	in.Decode(new(bool)) // until the end of file
	wait := time.Millisecond
	for start := time.Now(); !w.end() && time.Since(start) < removeTimeout; time.Sleep(wait) {
		wait = min(2*wait, 100*time.Millisecond)
	}
}

// end kills the processes in the group, and removes it. It reports whether the group is gone.
func (w watched) end() bool {
	g := &group{scope: w.Scope, processes: w.Processes}
	for _, p := range w.Parts {
		p := part{v1: p.V1, controllers: p.Controllers, dir: string(p.Dir), group: string(p.Group)}
		if base := path.Base(p.dir); base == w.Name || w.Scope && base == w.Name+".scope" {
			g.parts = append(g.parts, p)
		}
	}
	g.end()
	return len(g.pids()) == 0 && (w.Scope || g.rmdir() == nil)
}
