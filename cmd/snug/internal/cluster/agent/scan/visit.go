// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/snapshot"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// scan visits all processes, and then reads the limits of the groups of Go processes.
func (s *Scanner) scan(ctx context.Context) (*result, error) {
	entries, err := proc.Entries()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	r := &result{skipped: map[string]int{}}
	if !s.at.IsZero() {
		r.interval = now.Sub(s.at)
	}
	s.at = now
	s.tick++
	entries = inTurn(entries, s.budgets.late)
	s.budgets = budgetsOf(ctx, s.opts.Once)
	used, limit := s.own()
	s.fit(limit)
	s.fits(used, limit, r)
	for _, entry := range entries {
		if entry.Pid == s.self {
			r.processes++
			s.noteUnseen(entry.Pid)
			continue
		}
		if err := s.pace.rest(ctx); err != nil {
			return nil, err
		}
		if s.visit(entry, r) {
			s.known[entry.Pid].tick = s.tick
		}
	}
	for pid, p := range s.known {
		if p.tick != s.tick {
			p.close()
			delete(s.known, pid)
		}
	}
	maps.DeleteFunc(s.others, func(_ int, o other) bool { return o.tick != s.tick })
	s.takeIn()
	return r, s.readGroups(ctx)
}

// visit inspects a process, and reports whether it is a Go process. Go processes are then
// in s.known.
func (s *Scanner) visit(entry proc.Entry, r *result) bool {
	pid := entry.Pid
	if p := s.known[pid]; p != nil {
		if s.lookAgain(p) {
			r.processes++
			return true
		}
		p.close()
		delete(s.known, pid)
	}
	o, seen := s.others[pid]
	if seen = seen && o.mark == entry.Mark; !seen {
		o = other{mark: entry.Mark}
	}
	o.tick = s.tick
	if seen && s.isOut(&o, r) {
		s.others[pid] = o
		return false
	}
	if seen && s.tick < o.due {
		s.pass(pid, o, r)
		return false
	}
	o.much = ""
	delete(s.others, pid)
	id, err := proc.ExeOf(pid)
	switch {
	case err == nil:
	case errors.Is(err, proc.ErrNone):
		if o.kernel = s.without(pid, r); o.kernel {
			s.pass(pid, o, r)
		}
		return false
	case errors.Is(err, proc.ErrDenied):
		s.skip(pid, snapshot.SkipDenied, r)
		if r.hint == "" {
			r.hint = denial(pid)
		}
		return false
	default:
		s.skip(pid, snapshot.SkipError, r)
		return false
	}
	is, known := s.files.IsGo(id)
	if !known || is {
		r.processes++
		if o.out = nil; s.meet(entry, &o, r) {
			return true
		}
		if o.out != nil {
			o.in, _ = s.bystanderOf(pid)
			o.due, s.others[pid] = s.tick+groupEvery, o
		}
		if is, known = s.files.IsGo(id); !known || is {
			s.noteUnseen(pid)
			return false // it was skipped and counted
		}
		r.processes--
	}
	s.lookBeside(pid, &o)
	s.pass(pid, o, r)
	return false
}

// pass records a process that is not a Go program, and when to inspect it again.
func (s *Scanner) pass(pid int, o other, r *result) {
	if o.much != "" {
		s.tooMuch(pid, o.much, r)
		s.others[pid] = o
		return
	}
	if !o.kernel {
		r.processes++
	}
	looked := s.tick >= o.due
	if looked {
		o.looks++
		o.due = s.tick + 1
		if o.kernel || o.looks > settling {
			o.due = s.tick + otherEvery
		}
		if o.looks == settling+1 {
			o.due += pid % otherEvery // spread over the scans
		}
	}
	s.notePresent(pid, &o, looked)
	s.others[pid] = o
}

// without classifies a process without an executable, and reports whether it is a kernel
// thread.
func (s *Scanner) without(pid int, r *result) (kernel bool) {
	stat, err := proc.StatOf(pid)
	switch {
	case err != nil:
		r.skipped[snapshot.SkipEnded]++
	case stat.Kernel:
		kernel = true
	case stat.Zombie():
		r.processes++
		r.skipped[snapshot.SkipZombie]++
	default:
		s.skip(pid, snapshot.SkipStarting, r)
	}
	return kernel
}

// skip counts a process that is there and could not be inspected.
func (s *Scanner) skip(pid int, reason string, r *result) {
	r.processes++
	r.skipped[reason]++
	s.noteUnseen(pid)
}

// denial returns a hint what would help to inspect a process.
func denial(pid int) string {
	p, err := proc.Open(pid)
	if err != nil {
		return ""
	}
	defer p.Close()
	var denied *proc.Denied
	if _, err = p.ExeID(); errors.As(err, &denied) {
		return denied.Hint()
	}
	return ""
}

// meet inspects a process for the first time, and reports whether it is a Go process.
func (s *Scanner) meet(entry proc.Entry, o *other, r *result) bool {
	if s.met++; s.met%checkEvery == 0 {
		used, limit := s.own()
		s.fits(used, limit, r)
	}
	pid := entry.Pid
	group := s.groupOf(pid)
	if o.out = s.out[keyOfGroup(group)]; o.out != nil {
		s.noteOut(o.out, r)
		return false
	}
	b := s.budgets.of(proc.OneLook, group)
	p, err := proc.OpenWithin(pid, b)
	if err != nil {
		r.skipped[skipReason(err)]++
		return false
	}
	g := s.look(p)
	switch {
	case b.Over() != nil, errors.Is(g.Err, proc.ErrTooMuch):
		o := other{mark: entry.Mark, tick: s.tick}
		o.due, o.much = repeat(b, s.tick)
		r.processes-- // pass counts it
		s.pass(pid, o, r)
	case g.Err != nil:
		r.skipped[skipReason(g.Err)]++
	case !g.Exe.IsGo:
	// Also with several threads: in runc init, Go's runtime starts after the fork, and the
	// process is already in the container. Go programs that keep running do not fork without
	// exec.
	case g.Stat.Forked:
		r.skipped[snapshot.SkipStarting]++
	default:
		e := &process{p: p}
		if s.note(e, g); !s.admit(e.key, r) {
			o.out = s.out[e.key]
			s.noteOut(o.out, r)
			break
		}
		e.active = e.last.At
		if s.known[pid] = e; !s.keepsProcesses() {
			e.close()
		}
		return true
	}
	p.Close()
	return false
}

// skipReason returns the reason for an error.
func skipReason(err error) string {
	switch {
	case errors.Is(err, proc.ErrGone), errors.Is(err, fs.ErrNotExist):
		return snapshot.SkipEnded
	case errors.Is(err, proc.ErrDenied):
		return snapshot.SkipDenied
	case errors.Is(err, proc.ErrNone):
		return snapshot.SkipStarting
	}
	return snapshot.SkipError
}

// tooMuch counts a process that is skipped because of its budget.
func (s *Scanner) tooMuch(pid int, why string, r *result) {
	s.skip(pid, snapshot.SkipMuch, r)
	s.budgets.gap(pid, why)
	if s.budgets.late == 0 && s.budgets.sum.Over() != nil {
		s.budgets.late = pid
	}
}

// lookAgain inspects a known process. It returns false if the process has ended, or runs
// another program.
func (s *Scanner) lookAgain(e *process) bool {
	before := e.last.Go
	if e.closed {
		p, err := proc.Open(before.Pid)
		if err != nil {
			return false
		}
		first := p.First()
		if !first.Same(&before.Stat) {
			p.Close()
			return false
		}
		e.p, e.closed = p, false
		if !s.keepsProcesses() {
			defer e.close()
		}
	}
	if !e.closed && s.keepsProcesses() {
		e.p.KeepStat()
	}
	e.p.Allow(s.budgets.known.look(s.budgets.ctx, knownLook, e.pod))
	// What worked a scan ago probably works still: its state is read with its memory.
	rests, whole := e.rested && !isYoung(before) && before.Rests(e.p), wholeEvery
	if rests {
		whole = idleWholeEvery
	}
	g := before
	switch {
	case s.due(before, whole), before.Hint == "" && !before.GOMAXPROCS.Known() && !s.opts.Outside && isYoung(before):
		if id, err := e.p.ExeID(); err == nil {
			if _, known := s.files.IsGo(id); !known { // the cache had no room for its program: this is like its first look
				e.p.Allow(s.budgets.of(proc.OneLook, e.group))
			}
		}
		g = s.look(e.p)
	case !rests || s.due(before, restEvery):
		g = before.Again(e.p)
	}
	if b := e.p.Budget(); b.Over() != nil && !b.Spent() && e.p.Same() == nil {
		g = before
		s.budgets.gap(g.Pid, "the scan has read enough of its pod or of others: its figures are those of an earlier one")
	}
	if g.Err != nil || !g.Exe.IsGo {
		return false
	}
	s.note(e, g)
	if e.rested = rests || !isYoung(before) && g.Stat.Still(&before.Stat); !e.rested {
		e.active = e.last.At
	}
	return true
}

// note records the facts of a scan. settle adds the limits later.
func (s *Scanner) note(e *process, g *goproc.Facts) {
	if e.group == "" || s.due(g, groupEvery) || isYoung(g) {
		if text := s.groupsOf(e, g.Pid); text != "" && text != e.group {
			e.moved(text)
		}
	}
	e.prev = e.last
	e.last = observe.Moment{At: time.Now(), Go: g}
}

// lookAtFiles reads the resident pages of files: often at the start, then rarely, because they hardly change.
func (s *Scanner) lookAtFiles(e *process) {
	if at := e.last.At; at.Sub(e.filesAt) >= e.filesFor {
		p, err := proc.OpenWithin(e.last.Go.Pid, s.budgets.files.look(s.budgets.ctx, proc.OneLook, e.pod))
		if err != nil {
			return // it ended meanwhile
		}
		defer p.Close()
		files, code, err := p.Files()
		if err != nil { // what was known holds, and the next scan tries again, unless this is too much for any
			if p.Budget().Spent() {
				e.filesAt = at
			}
			return
		}
		e.files, e.code = float64(files), float64(code)
		e.filesAt, e.filesFor = at, min(2*e.filesFor+10*time.Second, 10*time.Minute)
	}
}

// readGroups reads the limits of all groups with Go processes, once per group, and stores
// them in each process. A group in which no process has used CPU time was not throttled
// either, and its memory hardly changes, so it is read at some scans only.
func (s *Scanner) readGroups(ctx context.Context) error {
	s.open = 0
	for pid, p := range s.known {
		if !p.closed {
			s.open++
		}
		g := p.in
		if g == nil || g.tick < s.tick-1 || p.group != g.text {
			if g = s.groups[p.group]; g == nil {
				g = newGroup(p.group, pid)
				s.groups[p.group] = g
			}
			p.in = g
		}
		if g.tick != s.tick {
			g.tick, g.worked, g.pid = s.tick, false, pid
		}
		g.worked = g.worked || p.worked()
	}
	open, waiting := 0, 0 // those that work and are not open have the first claim to room
	for _, g := range s.groups {
		if g.h != nil {
			open++
		} else if g.works(s.tick) {
			waiting++
		}
	}
	for text, g := range s.groups {
		if g.h != nil {
			open-- // unless it stays
		} else if g.works(s.tick) {
			waiting--
		}
		if g.tick != s.tick {
			g.close()
			delete(s.groups, text)
			continue
		}
		if due := (s.tick+g.turn)%limitsEvery == 0; due || g.limits == nil || g.worked {
			if err := s.pace.rest(ctx); err != nil {
				return err
			}
			if text != "" {
				g.limits = g.read(s.tree(), due, (s.tick+g.turn)%g.detailEvery() == 0)
			}
			if !s.hasRoom(open+1, 0) || !g.worked && !s.hasRoom(open+1, waiting) {
				g.close()
			}
		}
		if g.h != nil {
			open++
		}
	}
	for _, p := range s.known {
		p.settle(p.in.limits, s.window)
		if s.named { // sizing is by workload
			if err := s.pace.rest(ctx); err != nil {
				return err
			}
			s.lookAtFiles(p)
		}
	}
	return nil
}
