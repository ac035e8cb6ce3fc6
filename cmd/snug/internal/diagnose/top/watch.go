// SPDX-License-Identifier: Apache-2.0

package top

import (
	"context"
	"errors"
	"maps"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/examine"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/limits"
)

const (
	// A process that did nothing is read in full only at every idleLooks-th look.
	idleLooks = 5
	// A process that is not a Go program is read again after otherLooks looks, because it
	// could become one; a kernel thread after kernelLooks.
	otherLooks, kernelLooks = 24, 200
	// young is the age below which a process may be about to run another program.
	young = 5 * time.Second
	// openFiles is the maximum of open files per process, including its share of its group's.
	// spareFiles is how many are left for everything else.
	openFiles, spareFiles = 3, 128
)

// watcher reads Go processes at each look. It keeps them open and remembers the processes that
// are not Go, so that the cost of a look depends on what has changed.
type watcher struct {
	k      *observe.Looker
	words  []string
	pids   []int // pids among words; nil if any word is not a number
	named  map[int]*namedPid
	self   map[int]bool
	tick   int
	at     time.Time
	known  map[int]*watched
	others map[int]passed
	groups map[string]*sharedGroup
	room   int // processes that may be kept open
}

// namedPid is a process that the user named by number. A number belongs to one process. A
// program's name, in contrast, is looked up at each look, because a restarted program has it
// again.
type namedPid struct {
	started time.Time // zero = not seen yet
	ended   bool
}

// passed is a process that is not shown.
type passed struct {
	due    int                  // look at which it is read again
	skip   observe.Skip         // why snug cannot read it; zero = not a Go program
	beside *finding.Unsupported // Go code beside its executable; nil = none
}

// sharedGroup holds the limits of all processes with the same /proc/PID/cgroup.
type sharedGroup struct {
	h    *limits.Handle
	tick int
}

func NewWatcher(words []string, attended bool) (*watcher, error) {
	w := &watcher{
		k: observe.New(), self: map[int]bool{os.Getpid(): true}, known: map[int]*watched{}, others: map[int]passed{},
		named:  map[int]*namedPid{},
		groups: map[string]*sharedGroup{}, room: max(16, (fileLimit()-spareFiles)/openFiles),
	}
	if attended {
		w.self[os.Getppid()] = true
	}
	for _, word := range words {
		if !slices.Contains(w.words, word) {
			w.words = append(w.words, word)
		}
	}
	for _, word := range w.words {
		pid := examine.PID(word)
		if pid == 0 {
			w.pids = nil
			clear(w.named)
			break
		}
		w.pids, w.named[pid] = append(w.pids, pid), &namedPid{}
	}
	return w, nil
}

func (w *watcher) Close() {
	for _, p := range w.known {
		p.close()
	}
	for _, g := range w.groups {
		g.h.Close()
	}
}

// First takes the first look. It fails if no named process exists.
func (w *watcher) First() (*finding.Watch, error) {
	d, err := w.Look()
	if err != nil || len(w.words) == 0 || len(d.Processes) > 0 || w.pids == nil && len(d.Unsupported) > 0 {
		return d, err
	}
	if len(w.pids) > 0 {
		return nil, examine.Passed(w.pids[0], w.k.Files)
	}
	hint := "snug ps lists all Go processes"
	if len(d.Others) > 0 {
		hint = examine.MaybeDenied
	}
	return nil, message.Failed(message.Typed(w.words...)+": no such Go process", hint)
}

// Look takes a look at all processes.
func (w *watcher) Look() (*finding.Watch, error) {
	now := time.Now()
	d := &finding.Watch{
		Head: finding.NewHead(finding.KindTop), At: now.Format(time.RFC3339), Machine: runtime.NumCPU(),
		Processes: []finding.TopProcess{}, Unsupported: []finding.Unsupported{}, Selected: append([]string{}, w.words...),
		Ended: []int{},
	}
	if !w.at.IsZero() {
		d.Seconds = new(now.Sub(w.at).Seconds())
	}
	w.at = now
	w.tick++
	clear(w.k.Limits)
	pids := w.pids
	if pids == nil {
		var err error
		if pids, err = proc.Pids(); errors.Is(err, proc.ErrNotLinux) {
			return nil, message.Failed("snug top needs Linux", "run it where the processes are")
		} else if err != nil {
			return nil, examine.Unlisted(err)
		}
	}
	there := make(map[int]bool, len(pids))
	for _, pid := range pids {
		there[pid] = true
	}
	for pid, p := range w.known {
		if !there[pid] || !p.again(w) {
			p.close()
			delete(w.known, pid) // it may be found again below, as another program
		}
	}
	maps.DeleteFunc(w.others, func(pid int, _ passed) bool { return !there[pid] })
	for _, pid := range w.pids {
		if w.known[pid] == nil && w.named[pid].over(pid) {
			d.Ended = append(d.Ended, pid)
		}
	}
	denied := observe.Skips{}
	for _, pid := range pids {
		if w.known[pid] == nil && !w.self[pid] && !slices.Contains(d.Ended, pid) {
			o := w.meet(pid)
			denied.Add(o.skip, pid)
			if o.beside != nil {
				d.Unsupported = append(d.Unsupported, *o.beside)
			}
		}
	}
	for text, g := range w.groups {
		if g.tick < w.tick-idleLooks {
			g.h.Close()
			delete(w.groups, text)
		}
	}
	for _, pid := range slices.Sorted(maps.Keys(w.known)) {
		d.Processes = append(d.Processes, w.known[pid].row)
	}
	d.Others = denied.List()
	return d, nil
}

// over reports whether the process has ended. Another process may have its number by now.
func (n *namedPid) over(pid int) bool {
	if n.ended {
		return true
	}
	p, err := proc.Open(pid)
	if err != nil {
		n.ended = errors.Is(err, proc.ErrGone)
		return n.ended
	}
	defer p.Close()
	if n.started.IsZero() {
		n.started = p.First().Started
	}
	n.ended = p.First().Started.Sub(n.started).Abs() > time.Second
	return n.ended
}

// meet reads a process that is new or was not a Go program before.
func (w *watcher) meet(pid int) passed {
	if o, ok := w.others[pid]; ok && w.tick < o.due {
		return o
	}
	delete(w.others, pid)
	p, err := proc.Open(pid)
	if err != nil {
		return passed{}
	}
	o := passed{due: w.tick + otherLooks + pid%otherLooks/2}
	if !examine.Named(p, w.words) {
		if time.Since(p.First().Started) < young {
			o.due = w.tick + 1
		}
		p.Close()
		w.others[pid] = o
		return o
	}
	g := goproc.Look(p, w.k.Files)
	var denied *proc.Denied
	switch isDenied := errors.As(g.Err, &denied); {
	case isDenied && w.pids != nil, g.Err == nil && g.Exe.IsGo && !observe.Momentary(&g.Stat):
		e := &watched{Examination: examine.Examination{Proc: p, Files: w.k.Files}}
		w.known[pid] = e
		e.note(w, g)
		if len(w.known) > w.room {
			e.close()
		}
		return passed{}
	case observe.Unread(g.Err) != observe.Skip{}:
		o.skip = observe.Unread(g.Err)
	case g.Err != nil, observe.Momentary(&g.Stat):
		p.Close()
		return passed{}
	case g.Stat.Kernel:
		o.due = w.tick + kernelLooks
	default:
		var err error
		if g.Guest, err = w.k.Files.Guest(p); err != nil {
			o.skip.Why = err.Error()
		} else if g.Guest.Path != "" {
			g.Path, _, _ = p.Exe()
			o.beside, o.due = new(observe.Unsupported(g)), w.tick+idleLooks
		}
	}
	if !g.Stat.Kernel && time.Since(g.Stat.Started) < young {
		o.due = w.tick + 1
	}
	p.Close()
	w.others[pid] = o
	return o
}

// refresh returns the limits of a group, named by the text of /proc/PID/cgroup, and reads them
// once per look; nil = unknown.
func (w *watcher) refresh(group string, pid int) *limits.Limits {
	if l := w.k.Limits[group]; l != nil || group == "" {
		return l
	}
	for range 2 {
		s := w.groups[group]
		if s == nil {
			h, err := limits.Open(limits.Process{PID: pid})
			if err != nil {
				return nil
			}
			s = &sharedGroup{h: h}
			w.groups[group] = s
		}
		s.tick = w.tick
		l, err := s.h.Read(limits.Counters | limits.Detail | limits.Unreclaimable)
		if err == nil {
			w.k.Limits[group] = &l
			return &l
		}
		// The process it was opened on has ended. Others may remain in the group.
		s.h.Close()
		delete(w.groups, group)
	}
	return nil
}

// Looks takes looks until ctx ends or all named processes have ended. The second look follows
// the first soon.
func (w *watcher) Looks(ctx context.Context, interval time.Duration, retime <-chan time.Duration,
	to chan<- *finding.Watch) error {
	d, err := w.First()
	next := time.NewTimer(min(interval, time.Second))
	defer next.Stop()
	for err == nil {
		select {
		case to <- d:
		case <-ctx.Done():
			return nil
		}
		if d.Over() {
			return nil
		}
	wait:
		for {
			select {
			case <-ctx.Done():
				return nil
			case interval = <-retime:
				next.Reset(interval)
			case <-next.C:
				break wait
			}
		}
		next.Reset(interval)
		d, err = w.Look()
	}
	return err
}
