// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

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
		p, err := proc.OpenWithin(e.last.Go.Pid, s.budgets.known.look(s.budgets.ctx, proc.OneLook, e.pod))
		if err != nil {
			return // it ended meanwhile
		}
		defer p.Close()
		files, code, err := p.Files()
		if err != nil {
			return // what was known holds, and the next scan tries again
		}
		e.files, e.code, e.filesAt, e.filesFor = float64(files), float64(code), at, min(2*e.filesFor+10*time.Second, 10*time.Minute)
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
