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

// The reasons why a scan skips a process.
const (
	skipEnded    = "ended"            // it ended, or became another program, during the scan
	skipZombie   = "zombie"           // it has ended, and its parent has not waited for it
	skipDenied   = finding.LeftDenied // the agent lacks the rights, so it may be Go or not
	skipMuch     = "too-much"         // it has more mapped than is looked at, or others took the scan's budget
	skipStarting = "starting"         // it has not run its own program yet, and looks like its parent
	skipError    = "error"            // any other error
	skipMemory   = "memory"           // the agent has no memory for more, see crowd
)

// reasons lists all reasons, so that each is a series from the first scan on.
var reasons = [...]string{skipDenied, skipEnded, skipError, skipMemory, skipStarting, skipMuch, skipZombie}

const (
	// settling is the number of scans that inspect a new process that is not Go's every time:
	// it may be a script that is about to run a Go program.
	settling = 4
	// otherEvery is the interval, in scans, at which it is inspected from then on.
	otherEvery = 4
)

// scanner keeps the state between scans.
type scanner struct {
	files    *goproc.Cache
	outside  bool
	node     *node // where to read limits; nil = this machine
	self     int
	maxFiles int // how many may be open, whatever the memory
	bounds   bounds
	own      func() (used, limit int64) // see ownMemory
	setHeap  func(int64)                // nil = none
	pace     pacer
	window   time.Duration // see windowOf
	whole    bool          // the sum of what a scan reads has no bound
	budgets  budgets       // of this scan
	named    bool          // containers have names, so the document lists those without Go too

	tick    int
	known   map[int]*process
	open    int // of known, those that stay open
	others  map[int]other
	besides int               // of others, those with Go code beside their executable
	groups  map[string]*group // by the text of /proc/PID/cgroup
	at      time.Time         // of the last scan

	most    int               // Go processes that may be known; 0 = no bound
	out     map[string]*crowd // by the keys of groups
	dropped int               // known processes that were left out
	shed    int               // the scan that last changed most
	met     int               // processes, since the memory was last looked at

	bystanders   map[string]*bystander // by keyOfPlace
	unplaced     int                   // the last scan that could not inspect a process in an unknown container
	settledAfter time.Duration
}

// other is a process that is not a Go program.
type other struct {
	mark   uint64 // identifies the process: another mark is another process
	kernel bool   // a kernel thread
	looks  int
	due    int // the scan that inspects it again
	tick   int // the last scan that found it
	in     *bystander
	out    *crowd               // of a Go process that is left out; nil = it is not
	code   int64                // bytes of code that it had mapped at the last look, see proc.CodeOf
	beside *finding.Unsupported // Go code in it; nil = none
	much   string               // why it is unknown what it is or has; "" = it is known
}

// result is the outcome of one scan.
type result struct {
	interval  time.Duration // since the previous scan; 0 = this is the first
	processes int
	skipped   map[string]int
	hint      string // what would help with denied processes
}

// scan visits all processes, and then reads the limits of the groups of Go processes.
func (s *scanner) scan(ctx context.Context) (*result, error) {
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
	s.begin(ctx, s.whole)
	used, limit := s.own()
	s.fit(limit)
	s.fits(used, limit, r)
	if s.node != nil {
		s.node.scan = s.tick
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
		r.skipped[skipDenied]++
		s.noteUnseen(pid)
		if r.hint == "" {
			r.hint = denial(pid)
		}
		return false
	default:
		r.processes++
		r.skipped[skipError]++
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
func (s *scanner) pass(pid int, o other, r *result) {
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
func (s *scanner) without(pid int, r *result) (kernel bool) {
	stat, err := proc.StatOf(pid)
	switch {
	case err != nil:
		r.skipped[skipEnded]++
	case stat.Kernel:
		kernel = true
	case stat.Zombie():
		r.processes++
		r.skipped[skipZombie]++
	default:
		r.processes++
		r.skipped[skipStarting]++
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
func (s *scanner) meet(entry proc.Entry, o *other, r *result) bool {
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
	b := s.budget(proc.OneLook, group)
	p, err := proc.OpenWithin(pid, b)
	if err != nil {
		r.skipped[skipReason(err)]++
		return false
	}
	g := s.look(p)
	switch {
	case b.Over() != nil, errors.Is(g.Err, proc.ErrTooMuch):
		o := other{mark: entry.Mark, tick: s.tick}
		o.due, o.much = s.again(b)
		r.processes-- // pass counts it
		s.pass(pid, o, r)
	case g.Err != nil:
		r.skipped[skipReason(g.Err)]++
	case !g.Exe.IsGo:
	// Also with several threads: in runc init, Go's runtime starts after the fork, and the
	// process is already in the container. Go programs that keep running do not fork without
	// exec.
	case g.Stat.Forked:
		r.skipped[skipStarting]++
	default:
		e := &process{p: p}
		if e.note(s, g); !s.admit(e.key, r) {
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

// look inspects a process, without its memory if s.outside.
func (s *scanner) look(p *proc.Process) *goproc.Facts {
	if s.outside {
		return goproc.LookOutside(p, s.files)
	}
	return goproc.Look(p, s.files)
}

// skipReason returns the reason for an error.
func skipReason(err error) string {
	switch {
	case errors.Is(err, proc.ErrGone), errors.Is(err, fs.ErrNotExist):
		return skipEnded
	case errors.Is(err, proc.ErrDenied):
		return skipDenied
	case errors.Is(err, proc.ErrNone):
		return skipStarting
	}
	return skipError
}

func (s *scanner) close() {
	s.closeFiles()
	if s.node != nil {
		s.node.close()
	}
}
