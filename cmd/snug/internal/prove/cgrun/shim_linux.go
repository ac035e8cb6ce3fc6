// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package cgrun

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/snug-go/snug/limits"
)

// shimArg as the first argument makes this program the shim, watchArg the watchdog. The
// second argument is the descriptor of the socket to the parent.
const (
	shimArg  = "__snug-confine"
	watchArg = "__snug-watch"
)

// The protocol of parent and shim, one JSON value per message:
//
//	parent -> shim   order
//	shim -> parent   report, from inside the group
//	parent -> shim   goAhead; end of file means: do not start
//	shim -> parent   report again, if the command could not be executed;
//	                 end of file means: the command runs
type order struct {
	Join   []string // directories of the groups to enter
	CPU    bool     // prove a CPU limit
	Memory bool     // prove a memory limit
	Own    bool     // no limit was asked for: report the limits in force
	Bound  bool     // make real-time threads ordinary ones
	RT     bool     // become SCHED_RR
	Stderr int      // descriptor that becomes stderr, -1 to keep the current one
	Path   []byte   // bytes, because a path need not be UTF-8
	Args   [][]byte
	Env    [][]byte

	Leads bool // the terminal may be lent to this process
}

type report struct {
	Confinement Confinement
	Used        used          // by the shim
	Err         string        // error before the command, "" if none
	Errno       syscall.Errno // of execve
}

type goAhead struct{ Go bool }

// ChildMain turns this process into the shim or the watchdog if it was started as one;
// it then does not return. Otherwise it does nothing. A program that uses this package
// must call it first in main, or in TestMain.
func ChildMain() {
	if len(os.Args) != 3 || os.Args[1] != shimArg && os.Args[1] != watchArg {
		return
	}
	runtime.LockOSThread() // the command inherits the scheduling policy of this thread
	fd, err := strconv.Atoi(os.Args[2])
	if err != nil || fd < 3 {
		shimFail("not the number of a descriptor")
	}
	unix.CloseOnExec(fd)
	if t, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE); err != nil || t != unix.SOCK_STREAM {
		shimFail("only snug itself starts this command")
	}
	conn := os.NewFile(uintptr(fd), "parent")
	if os.Args[1] == watchArg {
		guard(conn)
		os.Exit(0)
	}
	in, out := json.NewDecoder(conn), json.NewEncoder(conn)

	var o order
	if err := in.Decode(&o); err != nil {
		os.Exit(CodeFailed) // the parent is gone
	}
	if o.Leads {
		// While the parent waits for the command to run, it would not see a stop.
		// execve(2) restores the default action.
		notify(make(chan os.Signal, 1), unix.SIGQUIT, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	}
	if o.Stderr >= 0 {
		// systemd-run had another stderr, so that its errors do not mix with the
		// command's output.
		if err := unix.Dup3(o.Stderr, 2, 0); err == nil {
			unix.Close(o.Stderr)
		}
	}
	r := report{}
	if r.Confinement, err = enter(o); err != nil {
		r.Err = err.Error()
	}
	var ru unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &ru)
	r.Used = usedOf(ru)
	var ahead goAhead
	if out.Encode(r) != nil || r.Err != "" || in.Decode(&ahead) != nil || !ahead.Go {
		os.Exit(CodeFailed)
	}
	err = syscall.Exec(string(o.Path), texts(o.Args), texts(o.Env))
	errors.As(err, &r.Errno)
	out.Encode(r)
	os.Exit(CodeFailed)
}

func shimFail(what string) {
	fmt.Fprintf(os.Stderr, "snug: error: %s, %s\n", what, os.Args[1])
	os.Exit(CodeFailed)
}

func texts(list [][]byte) []string {
	out := make([]string, len(list))
	for i, b := range list {
		out[i] = string(b)
	}
	return out
}

func bytesOf(list []string) [][]byte {
	out := make([][]byte, len(list))
	for i, s := range list {
		out[i] = []byte(s)
	}
	return out
}

// enter joins the groups and returns what holds there, as this process itself sees it.
// Of the order it uses only which limits to read.
func enter(o order) (Confinement, error) {
	c := Confinement{PID: os.Getpid()}
	was, err := policy(0)
	if err != nil {
		return c, err
	}
	c.PolicyWas = policyName(was)
	for _, dir := range o.Join {
		// v1 does not admit real-time threads to a group without a real-time budget,
		// and the Go runtime may add threads: try again for those.
		for try := 0; ; try++ {
			if o.Bound {
				if err := noRealTime(); err != nil {
					return c, err
				}
			}
			err := write(dir, "cgroup.procs", "0")
			if err == nil {
				break
			}
			if try == 3 || !errors.Is(err, unix.EINVAL) {
				return c, err
			}
		}
	}
	if o.Bound && len(o.Join) == 0 {
		if err := noRealTime(); err != nil {
			return c, err
		}
	}
	if o.RT {
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}
		if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
			return c, fmt.Errorf("cannot become real-time: sched_setattr: %w", err)
		}
	}
	is, err := policy(0)
	if err != nil {
		return c, err
	}
	c.Policy = policyName(is)
	return c, readBack(&c, o)
}

// readBack sets the groups of this process and the limits that hold there, as package
// limits reads them.
func readBack(c *Confinement, o order) error {
	fsys := os.DirFS("/")
	text, err := readText(fsys, "/proc/self/cgroup")
	if err != nil {
		return err
	}
	mounts, err := readText(fsys, "/proc/self/mountinfo")
	if err != nil {
		return err
	}
	l, err := limits.Self()
	if err != nil {
		return err
	}
	if o.CPU {
		h, err := findHierarchy(fsys, text, mounts, "cpu")
		if err == nil {
			err = readBackCPU(c, fsys, h, &l, o.Own)
		}
		if err != nil && !none(err, o.Own) {
			return err
		}
	}
	if o.Memory {
		h, err := findHierarchy(fsys, text, mounts, "memory")
		if err == nil {
			err = readBackMemory(c, fsys, h, &l, o.Own)
		}
		if err != nil && !none(err, o.Own) {
			return err
		}
	}
	return nil
}

// none reports whether err is a missing controller, and so no limit, and the Spec set
// none.
func none(err error, own bool) bool {
	_, ok := errors.AsType[noControllerError](err)
	return ok && own
}

func readBackCPU(c *Confinement, fsys fs.FS, h hierarchy, l *limits.Limits, own bool) (err error) {
	if err := unread(l, "cpu.quota_cores", l.CPU.Quota.State); err != nil {
		return err
	}
	c.CPUGroup = h.path
	dir := h.dir()
	if cores, ok := l.CPU.Quota.Get(); ok {
		c.CPUs, c.CPUsFrom = cores, l.CPU.QuotaSource.File
		if own {
			dir = path.Dir(c.CPUsFrom)
		}
	} else if own {
		return nil
	}
	if c.QuotaMicros, c.PeriodMicros, _, err = cpuLimit(fsys, dir, h.v1); err != nil {
		return err
	}
	c.BurstMicros, _, err = cpuBurst(fsys, dir, h.v1)
	return err
}

func readBackMemory(c *Confinement, fsys fs.FS, h hierarchy, l *limits.Limits, own bool) (err error) {
	if err := unread(l, "memory.hard_bytes", l.Memory.Hard.State); err != nil {
		return err
	}
	c.MemoryGroup = h.path
	if n, ok := l.Memory.Hard.Get(); ok {
		c.MemoryBytes, c.MemoryFrom = n, l.Memory.HardSource.File
	}
	if own {
		c.LimitBytes = c.MemoryBytes
		return nil
	}
	c.LimitBytes, _, err = memoryLimit(fsys, h.dir(), h.v1)
	return err
}

// bound reports whether the CPU quota holds threads of a policy.
func bound(name string) bool {
	return name == "SCHED_OTHER" || name == "SCHED_BATCH" || name == "SCHED_IDLE"
}

// noRealTime sets the policy SCHED_OTHER for every thread of this process that the
// quota would not hold. That needs no privilege.
func noRealTime() error {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, t := range tasks {
		tid, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		p, err := policy(tid)
		if err != nil || bound(policyName(p)) {
			continue // ended, or already bound
		}
		var param struct{ priority int32 }
		_, _, errno := unix.Syscall(unix.SYS_SCHED_SETSCHEDULER, uintptr(tid), unix.SCHED_NORMAL,
			uintptr(unsafe.Pointer(&param)))
		if errno != 0 && errno != unix.ESRCH {
			return fmt.Errorf("%s: a real-time thread cannot be made an ordinary one: %w",
				path.Join("/proc/self/task", t.Name()), errno)
		}
	}
	return nil
}
