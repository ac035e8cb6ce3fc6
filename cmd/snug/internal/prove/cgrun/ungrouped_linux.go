// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package cgrun

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Warnings for a command without a group of its own.
const (
	sharedWarning = "no cgroup was made: periods, throttling, pressure and out-of-memory kills are counted for the " +
		"whole group, snug and its load generator included"
	unlimitedWarning = "nothing is enforced: the command runs in no cgroup of its own"
)

// withoutGroup starts the command in snug's own groups.
func (s starter) withoutGroup(ctx context.Context, name string) (*Child, error) {
	g := &group{name: name, ungrouped: true}
	o := s.order(want{})
	o.Bound, o.RT = !s.spec.RealTime, s.spec.RealTime
	if s.way == WayContainer {
		o.CPU, o.Memory, o.Own = true, true, true
		g.shared = s.ownParts()
		g.warnings = []string{sharedWarning}
	} else {
		g.warnings = []string{unlimitedWarning}
	}
	if s.spec.Marked {
		g.processes.Mark = "_SNUG_COMMAND=" + name
		o.Env = append(o.Env, []byte(g.processes.Mark))
	}
	g.before = usage(s.machine.fsys, g.shared)
	c := &Child{group: g}
	if err := s.launch(ctx, c, "/proc/self/exe", []string{"snug"}, o, nil); err != nil {
		g.guard.stop()
		return nil, err
	}
	return c, nil
}

// ownParts returns the visible groups of this process that have counters.
func (s starter) ownParts() []part {
	text, _ := readText(s.machine.fsys, "/proc/self/cgroup")
	mounts, _ := readText(s.machine.fsys, "/proc/self/mountinfo")
	var parts []part
	for _, controller := range []string{"cpu", "memory"} {
		h, err := findHierarchy(s.machine.fsys, text, mounts, controller)
		if err != nil || len(parts) > 0 && parts[0].dir == h.dir() {
			continue
		}
		parts = append(parts, part{v1: h.v1, controllers: h.controllers, dir: h.dir(), group: h.path})
	}
	return parts
}

// verifyWithoutGroup checks that the command is in snug's groups, and that CPU limits hold it.
func (s starter) verifyWithoutGroup(c *Child) error {
	p := c.Confinement
	if bound(p.Policy) == s.spec.RealTime {
		return &ProofError{"the child has " + p.Policy}
	}
	if s.way == WayNone {
		return nil
	}
	text, err := readText(s.machine.fsys, "/proc/self/cgroup")
	if err != nil {
		return err
	}
	for controller, group := range map[string]string{"cpu": p.CPUGroup, "memory": p.MemoryGroup} {
		h, err := findGroup(text, controller)
		if err == nil && h.path != group {
			return &ProofError{fmt.Sprintf("%s: the child is in the wrong group", group)}
		}
	}
	return nil
}

// tie starts the watchdog of a confined command.
func (s starter) tie(c *Child) error {
	w := watchedGroup(c.group.name, c.group.parts, c.group.scope)
	if c.group.ungrouped {
		p, err := processGroupOf(c.pid)
		if err != nil {
			return err
		}
		p.Mark = c.group.processes.Mark
		c.group.processes, w.Processes = p, p
	}
	guard, err := watch(w)
	c.group.guard = guard
	return err
}

// A processGroup is the process group that a command leads. The zero value is none.
type processGroup struct {
	ID      int // pid of the leader
	Session int
	Started uint64 // start time of the leader, in clock ticks since boot
	Mark    string // in the environment of its members, and of those that left it; "" = not marked
}

// processStat holds some fields of /proc/PID/stat (proc_pid_stat(5)).
type processStat struct {
	state                  byte
	parent, group, session int
	waitedFor              time.Duration // CPU time of children that were waited for
	started                uint64
}

// userHz is the number of clock ticks per second in /proc, 100 on every architecture
// (USER_HZ).
const userHz = 100

// readStat reads /proc/PID/stat:
//
//	PID (name) state ppid pgrp session ... cutime cstime ... starttime ...
//	 1    2      3    4    5      6          16     17          22
//
// The name may contain any characters, brackets and spaces too.
func readStat(pid int) (s processStat, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return s, false
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(f) < 20 {
		return s, false
	}
	number := func(field int) uint64 {
		n, err := strconv.ParseUint(f[field-3], 10, 64)
		ok = ok && err == nil
		return n
	}
	ok = true
	s = processStat{
		state: f[0][0], parent: int(number(4)), group: int(number(5)), session: int(number(6)),
		waitedFor: time.Duration(number(16)+number(17)) * time.Second / userHz, started: number(22),
	}
	return s, ok
}

// processGroupOf returns the group that a process leads.
func processGroupOf(pid int) (processGroup, error) {
	s, ok := readStat(pid)
	if !ok || s.group != pid {
		return processGroup{}, fmt.Errorf("/proc/%d/stat: the command has no process group of its own", pid)
	}
	return processGroup{ID: pid, Session: s.session, Started: s.started}, nil
}

// reused reports whether the number of the group now belongs to another group. The
// kernel does not reuse it while a member lives.
func (p processGroup) reused() bool {
	s, ok := readStat(p.ID)
	return ok && s.started != p.Started
}

// has reports whether a process is alive in the group.
func (p processGroup) has(pid int) bool {
	if p.ID == 0 {
		return false
	}
	s, ok := readStat(pid)
	switch {
	case !ok || s.state == 'Z' || s.state == 'X':
		return false
	case s.group == p.ID && s.session == p.Session && !p.reused():
		return true
	case p.Mark == "":
		return false
	}
	env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return slices.Contains(strings.Split(string(env), "\x00"), p.Mark)
}

// pids returns the living processes of the group.
func (p processGroup) pids() []int {
	if p.ID == 0 {
		return nil
	}
	var list []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && p.has(pid) {
			list = append(list, pid)
		}
	}
	return list
}

// cpuTime returns the CPU time of a command without a group of its own, as described at
// Usage; nil if it cannot be read.
func (c *Child) cpuTime() *time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	var sum time.Duration
	if c.reaped && c.failed != nil {
		return nil
	} else if c.reaped {
		sum = c.exit.UserTime + c.exit.SystemTime + c.shim.User + c.shim.System
	} else if d, ok := cpuOf(c.pid); ok {
		sum = d
	} else {
		return nil
	}
	for _, pid := range c.group.processes.pids() {
		if d, ok := cpuOf(pid); ok && pid != c.pid {
			sum += d
		}
	}
	return &sum
}

// cpuOf returns the CPU time of a process, from its clock (clock_getcpuclockid(3); the
// clock's number is built as in Linux include/linux/posix-timers_types.h), and of the
// children it has waited for.
func cpuOf(pid int) (time.Duration, bool) {
	const sched = 2 // CPUCLOCK_SCHED
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|sched, &ts); err != nil {
		return 0, false
	}
	s, ok := readStat(pid)
	return time.Duration(ts.Nano()) + s.waitedFor, ok
}
