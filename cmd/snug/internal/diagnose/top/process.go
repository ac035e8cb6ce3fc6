// SPDX-License-Identifier: Apache-2.0

package top

import (
	"context"
	"errors"
	"path"
	"slices"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/examine"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/limits"
)

const (
	// topWindow is the time over which collections are counted and findings are judged.
	// Collections may be seconds apart, and findings should not flicker.
	topWindow = 30 * time.Second
	// topMoments is how many moments of the window are kept.
	topMoments = 15
)

// watched is a process that is read at each look.
type watched struct {
	examine.Examination
	closed  bool
	group   string // text of its /proc/PID/cgroup
	looked  int    // the last look that read more than the kernel's counters
	moments []observe.Moment
	last    observe.Moment
	ps      []psSeen
	row     finding.TopProcess
}

// psSeen holds the counts of Ps at one look.
type psSeen struct {
	at                   time.Time
	busy, spinning, idle float64
}

func (e *watched) close() {
	if !e.closed {
		e.Proc.Close()
		e.closed = true
	}
}

// again reads a process once more. It reports false if the process has ended or runs another
// program.
func (e *watched) again(w *watcher) bool {
	if e.closed {
		p, err := proc.Open(e.last.Go.Pid)
		if err != nil {
			return false
		}
		now, then := p.First(), e.last.Go.Stat
		if now.Started.Sub(then.Started).Abs() > time.Second {
			p.Close()
			return false
		}
		e.Proc, e.closed = p, false
		if len(w.known) > w.room {
			defer e.close()
		}
	} else if e.idle(w) {
		return true
	}
	e.Proc.Renew(context.Background())
	g := goproc.Look(e.Proc, e.Files)
	var denied *proc.Denied
	if g.Err != nil && !errors.As(g.Err, &denied) || g.Err == nil && (!g.Exe.IsGo || g.Path != e.last.Go.Path) {
		return false
	}
	e.note(w, g)
	return true
}

// idle reports whether a process did nothing since the last look, from the kernel's counters
// alone. All other figures are then unchanged.
func (e *watched) idle(w *watcher) bool {
	if w.tick-e.looked >= idleLooks || len(e.moments) == 0 {
		return false
	}
	stat, err := e.Proc.Stat()
	was := &e.last.Go.Stat
	if err != nil || stat.CPU != was.CPU || stat.State == 'R' || stat.Threads != was.Threads || stat.Name != was.Name {
		return false
	}
	l := w.refresh(e.group, e.Proc.Pid())
	if l == nil || e.last.Limits == nil || l.CPU.Throttle.Throttled != e.last.Limits.CPU.Throttle.Throttled {
		return false
	}
	now := time.Now()
	e.last.At = now
	if n := len(e.ps); n > 0 {
		procs := e.ps[n-1].busy + e.ps[n-1].idle
		e.sawPs(psSeen{at: now, idle: procs})
	}
	r := &e.row
	r.Used.Know(0, "")
	r.Memory.Know(stat.RSSBytes, "")
	if r.Waiting.Known() || e.last.Waits {
		r.Waiting.Know(0, "")
	}
	r.Throttled = figure.Of[float64]{}
	e.collections(r, &e.moments[0], &e.last)
	e.means(r)
	finding.Settle(r, r.Unknown)
	return true
}

// note records a look and makes the row.
func (e *watched) note(w *watcher, g *goproc.Facts) {
	now := time.Now()
	e.group, e.looked = observe.GroupOf(g.Pid), w.tick
	m := observe.Moment{At: now, Go: g, Limits: observe.OnCPUs(w.refresh(e.group, g.Pid), g.CPUs)}
	d, err := e.Proc.RunDelay(examine.MaxThreads)
	m.Delays, m.Waits = d, err == nil && d.Unread == 0
	prev := e.last
	e.last = m
	if g.IdlePs.Known() && g.SpinningPs.Known() && g.GOMAXPROCS.Known() {
		idle := float64(g.IdlePs.N)
		e.sawPs(psSeen{now, float64(g.GOMAXPROCS.N) - idle, float64(g.SpinningPs.N), idle})
	}
	e.keep(m)
	from := &e.moments[0]

	f := observe.Facts(g, m.Limits)
	r := finding.TopProcess{}
	if prev.Go == nil {
		observe.SinceStart(f, g)
		r.Process = observe.Row(g, m.Limits, rules.Check(f))
		r.Throttled.None()
	} else {
		e.Rates(f, from, &m)
		r.Process = observe.Row(g, m.Limits, rules.Check(f))
		lately := &rules.Facts{Quota: f.Quota}
		e.Rates(lately, &prev, &m)
		r.Used, r.Waiting, r.Throttled = lately.Used, lately.KernelWait, lately.Throttled
		e.collections(&r, from, &m)
	}
	e.rest(&r, f, m.Limits)
	e.means(&r)
	e.row = r
}

// keep adds a moment to the window. Moments in it keep a minimum distance.
func (e *watched) keep(m observe.Moment) {
	if n := len(e.moments); n == 0 || m.At.Sub(e.moments[n-1].At) >= topWindow/topMoments-topWindow/100 {
		e.moments = append(e.moments, m)
	}
	old := 0
	for old < len(e.moments)-1 && m.At.Sub(e.moments[old].At) > topWindow {
		old++
	}
	e.moments = slices.Delete(e.moments, 0, old)
}

func (e *watched) sawPs(s psSeen) {
	e.ps = append(e.ps, s)
	e.ps = slices.DeleteFunc(e.ps, func(o psSeen) bool { return s.at.Sub(o.at) > topWindow })
}

// means adds the average counts of Ps.
func (e *watched) means(r *finding.TopProcess) {
	n := float64(len(e.ps))
	if n == 0 {
		return
	}
	var sum psSeen
	for _, s := range e.ps {
		sum.busy, sum.spinning, sum.idle = sum.busy+s.busy, sum.spinning+s.spinning, sum.idle+s.idle
	}
	r.Busy.Know(sum.busy/n, "")
	r.Spinning.Know(sum.spinning/n, "")
	r.Idle.Know(sum.idle/n, "")
}

// collections adds the figures of the collections between two moments.
func (e *watched) collections(r *finding.TopProcess, a, b *observe.Moment) {
	took := b.At.Sub(a.At).Seconds()
	if took <= 0 {
		return
	}
	r.Window.Know(took, "")
	r.Lately, r.Stopped = observe.SpreadSince(a.Go.SchedLatency, b.Go.SchedLatency),
		observe.SpreadSince(a.Go.GCStops, b.Go.GCStops)
	if !a.Go.Collections.Known() || !b.Go.Collections.Known() || b.Go.Collections.N < a.Go.Collections.N {
		return
	}
	n := float64(b.Go.Collections.N - a.Go.Collections.N)
	r.PerMinute.Know(n/took*60, "")
	if a.Go.PauseTotal.Known() && b.Go.PauseTotal.Known() && b.Go.PauseTotal.N >= a.Go.PauseTotal.N {
		stopped := (b.Go.PauseTotal.N - a.Go.PauseTotal.N).Seconds()
		r.Paused.Know(min(1, stopped/took), "")
		if n > 0 {
			r.MeanPause.Know(stopped/n, "")
		}
	}
	r.GC = observe.CollectorShare(a.Go, b.Go)
}

// rest adds the figures that only the detail shows.
func (e *watched) rest(r *finding.TopProcess, f *rules.Facts, l *limits.Limits) {
	g := e.last.Go
	if r.Name = finding.UTF8(path.Base(g.Path)); g.Path == "" {
		r.Name = finding.UTF8(g.Stat.Name)
	}
	r.Threads = g.Stat.Threads
	if g.CPUs > 0 {
		r.CPUs.Know(g.CPUs, "")
	}
	gap := func(field, why string) {
		r.Unknown = append(r.Unknown, finding.Gap{Field: field, File: "/proc", Why: finding.UTF8(why)})
	}
	var denied *proc.Denied
	if errors.As(g.Err, &denied) {
		gap("program", proc.ErrDenied.Error()+" ("+denied.Hint()+")")
	} else if g.Hint != "" {
		gap("program", "its memory may not be read ("+g.Hint+")")
	}
	r.Heap, r.Mapped = figure.As[int64](g.HeapLive), figure.As[int64](g.Mapped)
	if !r.Heap.Read() {
		gap("heap_bytes", r.Heap.Why)
	}
	if !g.IdlePs.Known() {
		for _, field := range []string{"busy_ps", "spinning_ps", "idle_ps"} {
			gap(field, g.IdlePs.Why)
		}
	}
	if f.Module != "" {
		r.Module = new(finding.UTF8(f.Module))
	}
	if g.GOMEMLIMIT.Known() && f.MemLimitBy != "" {
		r.SetLimit = new(f.MemLimitBy)
	}
	finding.Settle(r, r.Unknown)
}
