// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package cgrun

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The watchdog is another process of this program, in a session of its own and outside
// all groups that snug makes. It receives the list of groups over a socket whose other
// end only snug holds, so end of file means that snug has ended, in any way. Then it
// kills the processes in the groups and removes the groups. A parent-death signal
// (PR_SET_PDEATHSIG) does not suffice: it is sent at the end of the thread that
// forked, the command can clear it, and its children do not inherit it.
//
// Snug writes a watchMessage, and reads a watchAnswer for each.
type watchMessage struct {
	Add  *watched
	Drop string // name of a group that is gone
}

type watchAnswer struct{ Known int } // number of watched groups

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
	answerTimeout = 10 * time.Second // of the watchdog's answers
	removeTimeout = 2 * time.Minute  // for the removal of all groups after the end of snug
)

// guard is this program's watchdog.
var guard watchdog

type watchdog struct {
	mu     sync.Mutex
	conn   *os.File // nil if not started
	in     *json.Decoder
	pid    int
	pidfd  int
	groups map[string]watched
}

// add makes the watchdog responsible for a group. It starts the watchdog if necessary;
// a new one takes over the groups of one that has ended.
func (d *watchdog) add(w watched) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.groups == nil {
		d.groups = map[string]watched{}
	}
	d.groups[w.Name] = w
	if d.conn != nil && d.send(watchMessage{Add: &w}) == nil {
		return nil
	}
	err := d.restart()
	if err != nil {
		delete(d.groups, w.Name)
		return fmt.Errorf("%w: %w", errWatchdog, err)
	}
	return nil
}

// drop ends the watchdog's responsibility for a group.
func (d *watchdog) drop(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.groups, name)
	switch {
	case d.conn == nil || d.send(watchMessage{Drop: name}) == nil:
	case len(d.groups) == 0:
		d.stop()
	default:
		_ = d.restart() // on error the next add tries again, and returns the error
	}
}

// send sends a message and waits for the answer.
func (d *watchdog) send(m watchMessage) error {
	d.conn.SetDeadline(time.Now().Add(answerTimeout))
	if err := json.NewEncoder(d.conn).Encode(m); err != nil {
		return err
	}
	var a watchAnswer
	if err := d.in.Decode(&a); err != nil {
		return err
	}
	if a.Known != len(d.groups) {
		return fmt.Errorf("it watches %d groups instead of %d", a.Known, len(d.groups))
	}
	return nil
}

// restart stops the watchdog, if there is one, starts a new one, and adds all groups to
// it.
func (d *watchdog) restart() error {
	d.stop()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	unix.SetNonblock(pair[0], true) // before NewFile, for deadlines
	conn, theirs := os.NewFile(uintptr(pair[0]), "watchdog"), os.NewFile(uintptr(pair[1]), "watchdog")
	defer theirs.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		conn.Close()
		return err
	}
	defer null.Close()
	n := null.Fd()
	pidfd := -1
	pid, _, err := syscall.StartProcess("/proc/self/exe", []string{"snug", watchArg, "3"}, &syscall.ProcAttr{
		Dir: "/", Env: os.Environ(), Files: []uintptr{n, n, n, theirs.Fd()},
		Sys: &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd},
	})
	if err != nil {
		conn.Close()
		return &os.PathError{Op: "start", Path: "/proc/self/exe", Err: err}
	}
	theirs.Close()
	d.conn, d.in, d.pid, d.pidfd = conn, json.NewDecoder(conn), pid, pidfd
	all := d.groups
	d.groups = map[string]watched{}
	defer func() { d.groups = all }()
	for name, w := range all {
		d.groups[name] = w
		if err := d.send(watchMessage{Add: &w}); err != nil {
			d.stop()
			return err
		}
	}
	return nil
}

// stop kills the watchdog before it can act, and reaps it.
func (d *watchdog) stop() {
	if d.conn == nil {
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

// watch is the main function of the watchdog.
func watch(conn *os.File) {
	// It survives the signals that end snug, even if they are sent to all processes.
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2,
		unix.SIGALRM, unix.SIGPIPE, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	in, out := json.NewDecoder(conn), json.NewEncoder(conn)
	groups := map[string]watched{}
	for {
		var m watchMessage
		if err := in.Decode(&m); err != nil {
			break
		}
		if m.Add != nil && ownName(m.Add.Name) {
			groups[m.Add.Name] = *m.Add
		}
		delete(groups, m.Drop)
		out.Encode(watchAnswer{len(groups)}) // an error means that snug has ended; the next Decode fails
	}
	wait := time.Millisecond
	for start := time.Now(); len(groups) > 0 && time.Since(start) < removeTimeout; time.Sleep(wait) {
		for name, w := range groups {
			if w.end() && !recorded(name) {
				delete(groups, name)
			}
		}
		wait = min(2*wait, 100*time.Millisecond)
	}
}

// end kills the processes in the group, and removes it with its record. It reports
// whether the group is gone.
func (w watched) end() bool {
	g := &group{scope: w.Scope, processes: w.Processes}
	for _, p := range w.Parts {
		p := part{v1: p.V1, controllers: p.Controllers, dir: string(p.Dir), group: string(p.Group)}
		if base := path.Base(p.dir); base == w.Name || w.Scope && base == w.Name+".scope" {
			g.parts = append(g.parts, p)
		}
	}
	g.end()
	if len(g.pids()) > 0 {
		return false
	}
	gone := true
	for _, p := range g.parts {
		if !w.Scope {
			gone = removeStale(p.dir, w.Name) && gone
		}
	}
	sweep(stateDirs()...)
	return gone
}

// recorded reports whether there is a record of a name.
func recorded(name string) bool {
	return slices.ContainsFunc(stateDirs(), func(dir string) bool {
		_, err := os.Lstat(path.Join(dir, name+".json"))
		return err == nil
	})
}
