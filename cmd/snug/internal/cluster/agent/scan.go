// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// The reasons for which a process is passed over.
const (
	passedEnded    = "ended"            // it ended, or became another program, while it was looked at
	passedZombie   = "zombie"           // it has ended, and its parent has not asked how
	passedDenied   = finding.LeftDenied // it may not be looked at, so whether it is Go's is unknown
	passedStarting = "starting"         // it has run no program of its own yet, and looks like its parent
	passedError    = "error"            // the kernel said something else
)

// reasons are all of them, so that each is a series from the first scan on.
var reasons = [...]string{passedDenied, passedEnded, passedError, passedStarting, passedZombie}

const (
	// settling is at how many scans a process that is not Go's is looked at every time: it
	// may be a script that is about to run a Go program.
	settling = 4
	// otherLooks is at how many scans it is looked at once from then on.
	otherLooks = 4
)

// scanner keeps what is known from one scan to the next.
type scanner struct {
	files   *goproc.Cache
	outside bool
	node    *node // where limits are read; nil = this machine
	self    int
	room    int // processes that may be kept open, and groups
	pace    pacer
	named   bool // containers have names, so that those without Go are of interest

	tick   int
	known  map[int]*process
	others map[int]other
	groups map[string]*group // by the text of /proc/PID/cgroup
	at     time.Time         // of the last scan

	bystanders   map[string]*bystander // by keyOfPlace
	unplaced     int                   // the scan at which there was a process that was not looked at, nobody knows where
	settledAfter time.Duration
}

// other is a process that is none of Go's.
type other struct {
	mark   uint64 // as long as it is the same, so is the process
	kernel bool   // it is a thread of the kernel
	looks  int
	due    int // the scan at which it is looked at again
	tick   int // the scan at which it was there
	in     *bystander
}

// result is what one scan saw.
type result struct {
	interval  time.Duration // since the scan before; 0 = this is the first
	processes int
	passed    map[string]int
	hint      string // what would help with those denied
}

// scan goes through all processes, and then through the groups of those that are Go's.
func (s *scanner) scan(ctx context.Context) (*result, error) {
	entries, err := proc.Entries()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	r := &result{passed: map[string]int{}}
	if !s.at.IsZero() {
		r.interval = now.Sub(s.at)
	}
	s.at = now
	s.tick++
	there := make(map[int]bool, len(s.known))
	for _, entry := range entries {
		if entry.Pid == s.self {
			r.processes++
			s.unseen(entry.Pid)
			continue
		}
		if err := s.pace.rest(ctx); err != nil {
			return nil, err
		}
		if s.visit(entry, r) {
			there[entry.Pid] = true
		}
	}
	for pid, p := range s.known {
		if !there[pid] {
			p.close()
			delete(s.known, pid)
		}
	}
	maps.DeleteFunc(s.others, func(_ int, o other) bool { return o.tick != s.tick })
	return r, s.readGroups(ctx)
}

// visit looks at a process, and reports whether it is a Go process that is known from
// here on.
func (s *scanner) visit(entry proc.Entry, r *result) bool {
	pid := entry.Pid
	if p := s.known[pid]; p != nil {
		if p.again(s) {
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
	if seen && s.tick < o.due {
		s.pass(pid, o, r)
		return false
	}
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
		r.passed[passedDenied]++
		s.unseen(pid)
		if r.hint == "" {
			r.hint = denial(pid)
		}
		return false
	default:
		r.processes++
		r.passed[passedError]++
		s.unseen(pid)
		return false
	}
	is, known := s.files.IsGo(id)
	if !known || is {
		r.processes++
		if s.meet(pid, r) {
			return true
		}
		if is, known = s.files.IsGo(id); !known || is {
			s.unseen(pid)
			return false // it was passed over, and counted
		}
		r.processes--
	}
	s.pass(pid, o, r)
	return false
}

// pass notes a process that is none of Go's, and when to look at it again.
func (s *scanner) pass(pid int, o other, r *result) {
	if !o.kernel {
		r.processes++
	}
	looked := s.tick >= o.due
	if looked {
		o.looks++
		o.due = s.tick + 1
		if o.kernel || o.looks > settling {
			o.due = s.tick + otherLooks
		}
		if o.looks == settling+1 {
			o.due += pid % otherLooks // not all of them at once
		}
	}
	s.beside(pid, &o, looked)
	s.others[pid] = o
}

// without sorts a process that has no executable, and reports whether it is a thread of
// the kernel.
func (s *scanner) without(pid int, r *result) (kernel bool) {
	stat, err := proc.StatOf(pid)
	switch {
	case err != nil:
		r.passed[passedEnded]++
	case stat.Kernel:
		kernel = true
	case stat.Zombie():
		r.processes++
		r.passed[passedZombie]++
	default:
		r.processes++
		r.passed[passedStarting]++
		s.unseen(pid)
	}
	return kernel
}

// denial is what would help to look at a process.
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

// meet looks at a process for the first time.
func (s *scanner) meet(pid int, r *result) bool {
	p, err := proc.Open(pid)
	if err != nil {
		r.passed[passedOf(err)]++
		return false
	}
	g := s.look(p)
	switch {
	case g.Err != nil:
		r.passed[passedOf(g.Err)]++
	case !g.Exe.IsGo:
	// With several threads too: in runc init Go's runtime has started after the fork, and it
	// is in the container that it makes, or runs a command in. No Go program that stays forks
	// without running another.
	case g.Stat.Forked:
		r.passed[passedStarting]++
	default:
		e := &process{p: p}
		e.note(s, g)
		if s.known[pid] = e; len(s.known) > s.room {
			e.close()
		}
		return true
	}
	p.Close()
	return false
}

// look looks at a process as far as it may.
func (s *scanner) look(p *proc.Process) *goproc.Facts {
	if s.outside {
		return goproc.LookOutside(p, s.files)
	}
	return goproc.Look(p, s.files)
}

// passedOf is the reason that an error stands for.
func passedOf(err error) string {
	switch {
	case errors.Is(err, proc.ErrGone), errors.Is(err, fs.ErrNotExist):
		return passedEnded
	case errors.Is(err, proc.ErrDenied):
		return passedDenied
	case errors.Is(err, proc.ErrNone):
		return passedStarting
	}
	return passedError
}

func (s *scanner) close() {
	for _, p := range s.known {
		p.close()
	}
	for _, g := range s.groups {
		g.close()
	}
	if s.node != nil {
		s.node.close()
	}
}
