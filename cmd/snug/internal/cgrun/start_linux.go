// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package cgrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// systemdTimeout is how long systemd may take to answer. The bus itself gives up
// after 25 s.
const systemdTimeout = 30 * time.Second

// Start runs a command in a fresh group. When it returns without an error the
// command is running, confined as Child.Confinement says. Ctx only matters until
// then. The caller ends with Wait and then Remove, whatever happens in between.
//
// Errors: *SpecError, *ExecError, *NoWayError, *InterruptedError; a proof that
// failed is in the NoWayError. Nothing is left behind after an error.
func Start(ctx context.Context, spec Spec) (*Child, error) {
	w, err := spec.want()
	if err != nil {
		return nil, err
	}
	file, err := LookPath(spec.Args[0], spec.Env, spec.Dir)
	if err != nil {
		return nil, err
	}
	m, name := thisMachine(), newName()
	attempts, tried := plan(m, w, name)
	for _, a := range attempts {
		s := starter{spec: spec, file: file, way: a.way, machine: m}
		var c *Child
		if a.way == WaySystemd {
			c, err = s.inScope(ctx, a, w, name)
		} else {
			c, err = s.inGroup(ctx, a, w, name)
		}
		if err == nil {
			return c, nil
		}
		var exec *ExecError
		var stop *InterruptedError
		if errors.As(err, &exec) || errors.As(err, &stop) {
			return nil, err
		}
		tried = append(tried, Tried{a.way, err})
	}
	return nil, &NoWayError{Tried: tried, cure: cure(tried, m, w)}
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

// starter starts the shim in one of the ways and sees it through to the command.
type starter struct {
	spec    Spec
	file    string
	way     Way
	machine machine
}

// inGroup makes a group and starts the command in it. First it removes what
// earlier runs could not.
func (s starter) inGroup(ctx context.Context, a attempt, w want, name string) (*Child, error) {
	dirs := make([]string, len(a.parts))
	for i, p := range a.parts {
		dirs[i] = p.dir
	}
	state := stateDirs()
	sweep(state...)
	r, stateErr := newRecord(state, dirs, name)
	g, err := makeGroup(a, w, r)
	if err != nil {
		r.drop()
		return nil, err
	}
	if stateErr != nil {
		g.warnings = append(g.warnings, fmt.Sprintf("if snug is killed, nobody will remove its cgroup: %v", stateErr))
	}
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

// inScope has systemd make the group: systemd-run asks for a scope with itself in
// it, and becomes the shim.
func (s starter) inScope(ctx context.Context, a attempt, w want, name string) (*Child, error) {
	run, err := exec.LookPath("systemd-run")
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	stderr, complaints, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	ctx, cancel := context.WithTimeout(ctx, systemdTimeout)
	defer cancel()
	c := &Child{group: &group{want: w, scope: true}}
	argv := append(systemdArgs(w, name, a.slice, s.machine.uid), self)
	err = s.launch(ctx, c, run, argv, s.order(w), complaints)
	if _, ok := errors.AsType[*errSilent](err); ok {
		// It ended before it became the shim, and said why.
		text := make([]byte, 4096)
		stderr.SetReadDeadline(time.Now().Add(time.Second))
		n, _ := stderr.Read(text)
		if line, _, _ := strings.Cut(strings.TrimSpace(string(text[:n])), "\n"); line != "" {
			err = fmt.Errorf("systemd-run: %s", line)
		}
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// systemdArgs returns systemd-run's argument list, its name included. Percents
// are rounded to hundredths, which systemd understands since version 246;
// what it makes of them is read back.
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
		if w.period != DefaultPeriodMicros {
			argv = append(argv, "-p", fmt.Sprintf("CPUQuotaPeriodSec=%dus", w.period))
		}
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
		CPU: w.quota > 0, Memory: w.memory > 0, Stderr: -1,
		Path: []byte(s.file), Args: bytesOf(s.spec.Args), Env: bytesOf(env),
	}
}

// launch starts program as the shim, or as what becomes it, with its order, and
// takes it through proof and go-ahead. When complaints is set the program gets
// that for stderr and the shim puts the right one in place. On error the process
// is dead and reaped.
func (s starter) launch(ctx context.Context, c *Child, program string, argv []string, o order, complaints *os.File) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	unix.SetNonblock(pair[0], true) // before NewFile, for deadlines
	conn, theirs := os.NewFile(uintptr(pair[0]), "shim"), os.NewFile(uintptr(pair[1]), "shim")
	defer conn.Close()

	files := inherited(s.spec)
	if complaints != nil {
		o.Stderr = len(files)
		files = append(files, files[2])
		files[2] = complaints.Fd()
	}
	argv = append(slices.Clone(argv), shimArg, strconv.Itoa(len(files)))
	files = append(files, theirs.Fd())
	pid, _, err := syscall.StartProcess(program, argv, &syscall.ProcAttr{Dir: s.spec.Dir, Env: os.Environ(), Files: files})
	theirs.Close()
	complaints.Close()
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
			return &errSilent{exit}
		}
		return err
	}
	return nil
}

var errEnded = errors.New("the shim ended")

// talk is the parent's side of what order describes.
func (s starter) talk(ctx context.Context, c *Child, conn *os.File, o order, committed func() bool) error {
	in, out := json.NewDecoder(conn), json.NewEncoder(conn)
	lost := func(err error) error {
		switch {
		case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
			return errors.New("no answer from systemd")
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
	c.Confinement.Warnings = c.group.warnings
	if c.group.clampedBy != "" {
		c.Confinement.CPUsFrom = c.group.clampedBy // the group's own is a copy of it
	}
	if err := s.verify(c); err != nil {
		return err
	}
	if s.spec.Ready != nil {
		s.spec.Ready(c.Confinement)
	}
	if !committed() { // the context ended; from here on it does not matter
		return lost(nil)
	}
	if err := out.Encode(goAhead{true}); err != nil {
		return lost(err)
	}
	if err := in.Decode(&r); err == nil {
		return ExecFailed(s.spec.Args[0], s.file, s.spec.Dir, r.Errno)
	}
	return nil
}

// inherited returns the files for the shim, in the order of their numbers: the
// three of the Spec, then whatever this process itself was given (descriptors
// without FD_CLOEXEC, as a jobserver's), under the same numbers.
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

// verify compares the proof with what was asked. A scope's parts are known only
// from the proof, and are filled in.
func (s starter) verify(c *Child) error {
	p, w := c.Confinement, c.group.want
	bad := func(format string, args ...any) error { return &ProofError{fmt.Sprintf(format, args...)} }

	if s.way == WaySystemd {
		if err := s.verifyScope(c); err != nil {
			return err
		}
	}
	for _, check := range []struct {
		controller, group string
		asked             bool
	}{{"cpu", p.CPUGroup, w.quota > 0}, {"memory", p.MemoryGroup, w.memory > 0}} {
		if check.asked && !slices.ContainsFunc(c.group.parts, func(part part) bool {
			return part.has(check.controller) && part.group == check.group
		}) {
			return bad("the child is in the wrong group, %s", check.group)
		}
	}
	if w.quota > 0 {
		// systemd rounds; otherwise what was written must stand there.
		got, asked := float64(p.QuotaMicros)/float64(max(p.PeriodMicros, 1)), float64(w.quota)/float64(w.period)
		exact := p.QuotaMicros == w.quota && p.PeriodMicros == w.period
		if !exact && (s.way != WaySystemd || got < asked*0.98-0.01 || got > asked*1.02+0.01 || p.QuotaMicros == 0) {
			return bad("quota %d of %d µs, %s", p.QuotaMicros, p.PeriodMicros, p.CPUGroup)
		}
		if p.CPUs == 0 || p.CPUs > got {
			return bad("effective CPU limit %g, %s", p.CPUs, p.CPUGroup)
		}
		if !bound(p.Policy) {
			return bad("the CPU quota does not hold a thread with %s", p.Policy)
		}
	}
	if w.memory > 0 && (p.LimitBytes == 0 || !rounded(p.LimitBytes, w.memory) || p.MemoryBytes == 0 || p.MemoryBytes > p.LimitBytes) {
		return bad("memory limit %d bytes, %s", p.LimitBytes, p.MemoryGroup)
	}
	return nil
}

// verifyScope checks that systemd's scope lifts the command out of no limit of
// the caller's, and notes its directories.
func (s starter) verifyScope(c *Child) error {
	cgroup, err := readText(s.machine.fsys, "/proc/self/cgroup")
	if err != nil {
		return err
	}
	mounts, err := readText(s.machine.fsys, "/proc/self/mountinfo")
	if err != nil {
		return err
	}
	for _, want := range []struct{ controller, group string }{{"cpu", c.Confinement.CPUGroup}, {"memory", c.Confinement.MemoryGroup}} {
		if want.group == "" {
			continue
		}
		h, err := findHierarchy(cgroup, mounts, want.controller)
		if err != nil {
			return err
		}
		if !groupName.MatchString(strings.TrimSuffix(path.Base(want.group), ".scope")) {
			return &ProofError{fmt.Sprintf("systemd has not put the child into a group for %s, %s", want.controller, want.group)}
		}
		if file := shed(s.machine.fsys, h, want.group); file != "" {
			return &shedError{file}
		}
		in := hierarchy{mount: h.mount, root: h.root, path: want.group}
		controllers := h.controllers
		if !h.v1 {
			controllers = []string{"cpu", "memory"}
		}
		c.group.parts = append(c.group.parts, part{v1: h.v1, controllers: controllers, dir: in.dir(), group: want.group})
	}
	return nil
}
