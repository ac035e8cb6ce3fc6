// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package cgrun

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// systemdTimeout is how long snug waits for an answer of systemd. The bus itself gives
// up after 25 s.
const systemdTimeout = 30 * time.Second

// Start runs a command in a fresh group. When it returns without an error the
// command is running, confined as Child.Confinement says; from then on ctx has no
// effect. Always end with Wait and then Remove.
//
// Errors: *SpecError, *ExecError, *NoWayError, *InterruptedError; a failed proof
// is in the NoWayError. After an error nothing is left behind.
func Start(ctx context.Context, spec Spec) (*Child, error) {
	w, err := spec.want()
	if err != nil {
		return nil, err
	}
	file, err := LookPath(spec.Args[0], spec.Env, spec.Dir)
	if file == "" {
		return nil, err
	}
	m := thisMachine()
	if err := spareFiles(); err != nil {
		return nil, &NoWayError{Tried: []Tried{{"", err}}, cure: cureFiles}
	}
	s := starter{spec: spec, file: file, machine: m}
	c, tried, err := s.start(ctx, w)
	if c != nil || err != nil {
		return c, err
	}
	if spec.MemoryOptional && w.memory > 0 && !scarce(tried) {
		s.warnings = []string{fmt.Sprintf("the memory limit is left out; with it, %v", &NoWayError{Tried: tried})}
		w.memory = 0
		if c, tried, err = s.start(ctx, w); c != nil || err != nil {
			return c, err
		}
	}
	if spec.Own || spec.NoLimit {
		return nil, &NoWayError{Tried: tried,
			cure: cmp.Or(cureOf(tried), "see the kernel's log (dmesg) and the security policies of this machine")}
	}
	return nil, &NoWayError{Tried: tried, Container: !scarce(tried) && inContainer(m.fsys), cure: cure(tried, m, w)}
}

// start tries the ways in order. If none works it returns the failed ones. An error
// that no other way would avoid ends it at once.
func (s starter) start(ctx context.Context, w want) (c *Child, tried []Tried, err error) {
	name := newName()
	var attempts []attempt
	switch {
	case s.spec.NoLimit:
		attempts = []attempt{{way: WayNone}}
	case s.spec.Own:
		attempts = []attempt{{way: WayContainer}}
	default:
		attempts, tried = plan(s.machine, w, name)
	}
	for _, a := range attempts {
		s.way = a.way
		switch a.way {
		case WayContainer, WayNone:
			c, err = s.withoutGroup(ctx, name)
		case WaySystemd:
			c, err = s.inScope(ctx, a, w, name)
		default:
			c, err = s.inGroup(ctx, a, w, name)
		}
		if err == nil {
			return c, nil, nil
		}
		_, failed := errors.AsType[*ExecError](err)
		_, stop := errors.AsType[*InterruptedError](err)
		if failed || stop {
			return nil, nil, err
		}
		tried = append(tried, Tried{a.way, err})
	}
	return nil, tried, nil
}

// spare is how many files a start may open at once, besides those it passes on: the
// locks, four sockets, the runtime's poller, files of cgroupfs and of /proc.
const spare = 12

// spareFiles returns an error if fewer than spare more files can be opened. The Go
// runtime ends the program if it gets no file for its own poller.
func spareFiles() error {
	var fds [spare]int
	for i := range fds {
		fd, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			for _, fd := range fds[:i] {
				unix.Close(fd)
			}
			if err == unix.EMFILE || err == unix.ENFILE {
				return fmt.Errorf("%w, snug needs %d more", err, spare)
			}
			return os.NewSyscallError("open", err)
		}
		fds[i] = fd
	}
	for _, fd := range fds {
		unix.Close(fd)
	}
	return nil
}

func thisMachine() machine {
	return machine{
		fsys: os.DirFS("/"),
		uid:  os.Geteuid(),
		owner: func(name string) int {
			var st unix.Stat_t
			if unix.Stat(name, &st) != nil {
				return -1
			}
			return int(st.Uid)
		},
		delegated: func(dir string) bool {
			for _, attr := range []string{"user.delegate", "trusted.delegate"} {
				var b [8]byte
				if n, err := unix.Getxattr(dir, attr, b[:]); err == nil && string(b[:n]) == "1" {
					return true
				}
			}
			return false
		},
	}
}

// starter starts the shim in one of the ways, and then the command.
type starter struct {
	spec    Spec
	file    string
	way     Way
	machine machine

	warnings []string // about limits that were left out
}

// inGroup makes a group and starts the command in it. Before that, it removes the
// groups that earlier runs left.
func (s starter) inGroup(ctx context.Context, a attempt, w want, name string) (*Child, error) {
	sweep(a.parts)
	// First, so that the watchdog removes everything made from here on.
	guard, err := watch(watchedGroup(name, a.parts, false))
	if err != nil {
		return nil, err
	}
	g, err := makeGroup(a, w, name)
	if err != nil {
		guard.stop()
		return nil, err
	}
	g.guard = guard
	started := false
	defer func() {
		if !started {
			g.remove()
		}
	}()

	o := s.order(w)
	for _, p := range g.parts {
		o.Join = append(o.Join, p.dir)
	}
	c := &Child{group: g}
	if err := s.launch(ctx, c, "/proc/self/exe", []string{"snug"}, o, nil); err != nil {
		return nil, err
	}
	started = true
	return c, nil
}

// inScope lets systemd make the group: systemd-run requests a scope that contains
// systemd-run itself, and becomes the shim.
func (s starter) inScope(ctx context.Context, a attempt, w want, name string) (*Child, error) {
	run, err := exec.LookPath("systemd-run")
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	stderr, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, systemdTimeout, errNoAnswer)
	defer cancel()
	c := &Child{group: &group{name: name, want: w, scope: true}}
	argv := append(systemdArgs(w, name, a.slice, s.machine.uid), self)
	err = s.launch(ctx, c, run, argv, s.order(w), writer)
	if _, ok := errors.AsType[*errSilent](err); ok {
		// systemd-run ended before it became the shim, and its stderr says why.
		text := make([]byte, 4096)
		stderr.SetReadDeadline(time.Now().Add(time.Second))
		n, _ := stderr.Read(text)
		if line, _, _ := strings.Cut(strings.TrimSpace(string(text[:n])), "\n"); line != "" {
			err = fmt.Errorf("systemd-run: %s", line)
		}
	}
	if err != nil {
		c.group.guard.stop()
		return nil, err
	}
	return c, nil
}

// systemdArgs returns systemd-run's argument list, its name included. Percentages are
// rounded to hundredths, which systemd understands since version 246; the result is
// read back.
func systemdArgs(w want, name, slice string, uid int) []string {
	argv := []string{"systemd-run"}
	if uid != 0 {
		argv = append(argv, "--user")
	}
	argv = append(argv, "--scope", "--quiet", "--collect", "--no-ask-password", "--unit="+name+".scope")
	if slice != "" {
		argv = append(argv, "--slice="+slice)
	}
	if w.quota > 0 {
		percent := strconv.FormatFloat(float64(w.quota)/float64(w.period)*100, 'f', 2, 64)
		percent = strings.TrimSuffix(strings.TrimRight(percent, "0"), ".")
		argv = append(argv, "-p", "CPUQuota="+percent+"%")
	}
	if w.weight > 0 {
		argv = append(argv, "-p", fmt.Sprintf("CPUWeight=%d", w.weight))
	}
	if w.memory > 0 {
		argv = append(argv, "-p", fmt.Sprintf("MemoryMax=%d", w.memory), "-p", "MemorySwapMax=0")
	}
	return append(argv, "--")
}

func (s starter) order(w want) order {
	env := s.spec.Env
	if env == nil {
		env = os.Environ()
	}
	return order{
		CPU: w.cpu(), Memory: w.memory > 0, Bound: w.cpu(), Stderr: -1,
		Path: []byte(s.file), Args: bytesOf(s.spec.Args), Env: bytesOf(env),
		Leads: s.spec.lead != nil,
	}
}

// launch starts program, which is or becomes the shim, sends its order, verifies its
// proof and gives the go-ahead. If stderr is not nil the program gets it as its stderr
// until the shim restores the right one; launch closes it. After an error the process
// is dead and reaped.
func (s starter) launch(ctx context.Context, c *Child, program string, argv []string, o order, stderr *os.File) error {
	conn, theirs, err := socketpair("shim")
	if err != nil {
		return err
	}
	defer conn.Close()

	files := inherited(s.spec)
	if stderr != nil {
		o.Stderr = len(files)
		files = append(files, files[2])
		files[2] = stderr.Fd()
	}
	argv = append(slices.Clone(argv), shimArg, strconv.Itoa(len(files)))
	files = append(files, theirs.Fd())
	attr := &syscall.ProcAttr{Dir: s.spec.Dir, Env: os.Environ(), Files: files}
	if s.spec.lead != nil || c.group.ungrouped {
		attr.Sys = &syscall.SysProcAttr{Setpgid: true}
	}
	pid, _, err := syscall.StartProcess(program, argv, attr)
	theirs.Close()
	if stderr != nil {
		stderr.Close()
	}
	var limit unix.Rlimit
	if err == unix.EBADF && unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil && uint64(2*len(files)+1) >= limit.Cur {
		// StartProcess needs descriptors above all of these, and the limit leaves none.
		return fmt.Errorf("%w, descriptor %d is passed on", unix.EMFILE, len(files)-2)
	}
	if err != nil {
		return &os.PathError{Op: "start", Path: program, Err: err}
	}
	c.pid = pid
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := s.talk(ctx, c, conn, o, stop); err != nil {
		c.Signal(syscall.SIGKILL)
		exit, _ := c.Wait()
		if errors.Is(err, errEnded) {
			if sig := syscall.Signal(exit.Signal); s.spec.lead != nil && (sig == unix.SIGINT || sig == unix.SIGHUP) {
				return &InterruptedError{exit.Signal} // from the terminal
			}
			return &errSilent{exit}
		}
		return err
	}
	return nil
}

// socketpair returns a socket for this process and the other end for a child.
func socketpair(name string) (conn, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	unix.SetNonblock(pair[0], true) // before NewFile, for deadlines
	return os.NewFile(uintptr(pair[0]), name), os.NewFile(uintptr(pair[1]), name), nil
}

var (
	errEnded    = errors.New("the shim ended")
	errNoAnswer = errors.New("no answer from systemd")
)

// talk is the parent's side of the protocol described at order.
func (s starter) talk(ctx context.Context, c *Child, conn *os.File, o order, committed func() bool) error {
	in, out := json.NewDecoder(conn), json.NewEncoder(conn)
	lost := func(err error) error {
		switch {
		case errors.Is(context.Cause(ctx), errNoAnswer):
			return errNoAnswer
		case ctx.Err() != nil:
			return &InterruptedError{}
		}
		return errEnded
	}
	if err := out.Encode(o); err != nil {
		return lost(err)
	}
	var r report
	if err := in.Decode(&r); err != nil {
		return lost(err)
	}
	if r.Err != "" {
		return errors.New(r.Err)
	}
	c.Confinement = r.Confinement
	c.Confinement.Way = s.way
	c.Confinement.Warnings = slices.Concat(c.group.warnings, s.warnings)
	c.shim = r.Used
	if c.group.clampedBy != "" {
		c.Confinement.CPUsFrom = c.group.clampedBy // the group's own limit is a copy of it
	}
	if err := s.verify(c); err != nil {
		return err
	}
	if c.group.guard == nil {
		// Until the go-ahead the shim itself notices the end of snug.
		if err := s.tie(c); err != nil {
			return err
		}
	}
	// The shim waits meanwhile. The CPU time it used since its report is mostly the
	// kernel's.
	c.AtStart = c.Usage()
	if all, ok := cpuOf(c.pid); ok {
		c.shim.System = max(c.shim.System, all-c.shim.User)
	}
	if s.spec.Ready != nil {
		s.spec.Ready(c.Confinement)
	}
	if !committed() { // the context has ended; from here on it has no effect
		return lost(nil)
	}
	if s.spec.lead != nil {
		s.spec.lead(c.pid)
	}
	if err := out.Encode(goAhead{true}); err != nil {
		return lost(err)
	}
	if err := in.Decode(&r); err == nil {
		return ExecFailed(s.spec.Args[0], s.file, s.spec.Dir, r.Errno)
	}
	return nil
}

// inherited returns the files for the shim by descriptor: the three of the Spec, then
// those that this process itself has inherited (descriptors without FD_CLOEXEC, for
// example of a jobserver), with the same numbers.
func inherited(spec Spec) []uintptr {
	files := []uintptr{0, 1, 2}
	for i, f := range []*os.File{spec.Stdin, spec.Stdout, spec.Stderr} {
		if f != nil {
			files[i] = f.Fd()
		}
	}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd < 3 {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC != 0 {
			continue
		}
		for len(files) <= fd {
			files = append(files, ^uintptr(0)) // closed
		}
		files[fd] = uintptr(fd)
	}
	return files
}
