// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"slices"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/limits"
)

const (
	// window is how long collections are counted for, which may be minutes apart, and
	// what findings go by, which should not come and go.
	window = time.Minute
	// wholeLooks is at how many scans a process is looked at as if it were new: what it
	// may run on can change, and what could not be found out may be by then.
	wholeLooks = 20
	// groupLooks is at how many scans it is asked which groups it is in.
	groupLooks = 4
	// restLooks is at how many scans the memory is read of a process that does nothing.
	restLooks = 4
	// young processes are asked both at each scan: they may be on their way.
	young = time.Minute
	// maxMoments are kept of the window, however short the interval is.
	maxMoments = 5
)

// process is a Go process that is looked at again and again.
type process struct {
	p       *proc.Process
	closed  bool             // p is; it is opened again for each look
	group   string           // text of its /proc/PID/cgroup; "" = unknown
	moments []observe.Moment // of the window, some time apart; the first is where it begins
	last    observe.Moment
	prev    observe.Moment // of the scan before; its Go is nil at the first
	quota   changing[float64]
	memory  changing[int64]
}

func (e *process) close() {
	if !e.closed {
		e.p.Close()
		e.closed = true
	}
}

// again looks at a process again. It is false when that has ended, or runs another
// program.
func (e *process) again(s *scanner) bool {
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
		if len(s.known) > s.room {
			defer e.close()
		}
	}
	if !e.closed && len(s.known) <= s.room {
		e.p.KeepStat()
	}
	var g *goproc.Facts
	switch {
	case s.due(before, wholeLooks), before.Hint == "" && !before.GOMAXPROCS.Known() && !s.outside && isYoung(before):
		g = s.look(e.p)
	case !s.due(before, restLooks) && !isYoung(before):
		g = before.Resting(e.p)
	}
	if g == nil {
		g = before.Again(e.p)
	}
	if g.Err != nil || !g.Exe.IsGo {
		return false
	}
	e.note(s, g)
	return true
}

// due reports whether it is a process's turn for what is done at every so many scans.
func (s *scanner) due(g *goproc.Facts, every int) bool { return (s.tick+g.Pid)%every == 0 }

func isYoung(g *goproc.Facts) bool { return time.Since(g.Stat.Started) < young }

// note adds what was seen. Its limits are read when all processes were looked at.
func (e *process) note(s *scanner, g *goproc.Facts) {
	if e.group == "" || s.due(g, groupLooks) || isYoung(g) {
		if text := s.groupOf(g.Pid); text != "" && text != e.group {
			e.moved(text)
		}
	}
	e.prev = e.last
	e.last = observe.Moment{At: time.Now(), Go: g}
}

// moved notes that a process is in other groups. Their limits and counters are others than
// those before, and that is no resize.
func (e *process) moved(text string) {
	e.group = text
	e.quota, e.memory = changing[float64]{}, changing[int64]{}
	e.last.Limits, e.moments = nil, nil
}

// worked reports whether a process has used CPU time since the scan before, as far as the
// kernel's steps of 10 ms tell.
func (e *process) worked() bool {
	return e.prev.Go == nil || e.prev.Go.Stat.CPU != e.last.Go.Stat.CPU
}

// settle adds the limits to what was seen.
func (e *process) settle(l *limits.Limits) {
	now := e.last.At
	e.last.Limits = observe.OnCPUs(l, e.last.Go.CPUs)
	if l != nil {
		e.quota.note(l.CPU.Quota, now)
		e.memory.note(l.Memory.Hard, now)
	}
	if n := len(e.moments); n == 0 || now.Sub(e.moments[n-1].At) >= window/(maxMoments-1)-window/100 {
		e.moments = append(e.moments, e.last)
	}
	old := 0
	for old < len(e.moments)-1 && now.Sub(e.moments[old].At) > window {
		old++
	}
	e.moments = slices.Delete(e.moments, 0, old)
}
