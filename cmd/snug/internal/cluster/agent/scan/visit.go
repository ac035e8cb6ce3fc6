// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/snapshot"
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
	if s.node != nil {
		s.node.Begin(s.tick)
	}
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
		r.processes++
		r.skipped[snapshot.SkipDenied]++
		s.noteUnseen(pid)
		if r.hint == "" {
			r.hint = denial(pid)
		}
		return false
	default:
		r.processes++
		r.skipped[snapshot.SkipError]++
		s.noteUnseen(pid)
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
		r.processes++
		r.skipped[snapshot.SkipStarting]++
		s.noteUnseen(pid)
	}
	return kernel
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
	r.processes++
	r.skipped[snapshot.SkipMuch]++
	s.noteUnseen(pid)
	s.budgets.gap(pid, why)
	if s.budgets.late == 0 && s.budgets.sum.Over() != nil {
		s.budgets.late = pid
	}
}
