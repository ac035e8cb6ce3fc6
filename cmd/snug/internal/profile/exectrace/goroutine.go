// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"strings"

	"golang.org/x/exp/trace"
)

// g returns a goroutine; nil if it is unknown.
func (f *fold) g(id trace.GoID) *goState {
	slot := &f.recent[uint64(id)%uint64(len(f.recent))]
	if g := *slot; g != nil && g.id == id {
		return g
	}
	g := f.gs[id]
	if g != nil {
		*slot = g
	}
	return g
}

// goroutine handles a change of a goroutine's state, on P proc, or a report of it.
func (f *fold) goroutine(id trace.GoID, proc trace.ProcID, from, to trace.GoState, reason string) {
	if id < 0 {
		return
	}
	g := f.g(id)
	if g == nil {
		if to == trace.GoNotExist {
			return
		}
		g = &goState{id: id, state: to, since: f.now, sure: true}
		switch from {
		case trace.GoNotExist:
			f.created++
		case trace.GoUndetermined: // it existed before, and was always in this state
			g.since, g.sure = f.gen, false
		}
		f.gs[id] = g
		f.recent[uint64(id)%uint64(len(f.recent))] = g
		f.alive++
		f.peak = max(f.peak, f.alive)
	} else {
		if g.state == to {
			return // reported again, as at the beginning of each generation
		}
		f.leave(g, to)
		g.state, g.since, g.sure = to, f.now, true
	}
	switch to {
	case trace.GoRunning:
		if g.p = f.p(proc); g.p != nil {
			g.p.goroutines++
			f.turn(g.p, g.since)
		}
		if g.assist {
			g.assistSince = f.now
			f.takeP(g.p)
		}
	case trace.GoWaiting:
		if g.sure {
			g.why = f.waitFor(reason)
		}
	case trace.GoNotExist:
		delete(f.gs, id)
		f.recent[uint64(id)%uint64(len(f.recent))] = nil
		f.ended++
		f.alive--
	}
}

// leave accounts for the state of a goroutine until now.
func (f *fold) leave(g *goState, to trace.GoState) {
	d := f.now - g.since
	switch g.state {
	case trace.GoRunning:
		f.running = plus(f.running, d)
		if g.assist {
			f.endAssist(g)
		}
		f.endWork(g)
		if g.p != nil {
			g.p.goroutines--
			f.turn(g.p, f.now)
			g.p = nil
		}
	case trace.GoRunnable:
		f.runnable = plus(f.runnable, d)
		if g.sure && to == trace.GoRunning {
			f.latency.add(d)
		}
	case trace.GoWaiting:
		f.waiting = plus(f.waiting, d)
		if w := g.why; w != nil {
			w.n++
			w.sum = plus(w.sum, d)
			g.why = nil
		}
	case trace.GoSyscall:
		f.syscall = plus(f.syscall, d)
	}
}

// waitFor returns the sum of a reason to wait.
func (f *fold) waitFor(reason string) *wait {
	if w := f.lastWait; w != nil && w.reason == reason {
		return w
	}
	if reason == "" {
		reason = "unknown"
	}
	for _, w := range f.waits {
		if w.reason == reason {
			f.lastWait = w
			return w
		}
	}
	if len(f.waits) == maxReasons {
		return &f.otherWaits
	}
	w := &wait{reason: strings.Clone(reason)}
	f.waits = append(f.waits, w)
	return w
}

// assist handles the begin or the end of a goroutine's mark assist.
func (f *fold) assist(id trace.GoID, begin bool) {
	g := f.g(id)
	if g == nil || g.assist == begin {
		return
	}
	if begin {
		g.assist = true
		if g.state == trace.GoRunning {
			g.assistSince = f.now
			f.takeP(g.p)
		}
		return
	}
	if g.state == trace.GoRunning {
		f.endAssist(g)
	}
	g.assist = false
}

func (f *fold) endAssist(g *goState) {
	f.work[assisting] = plus(f.work[assisting], f.now-g.assistSince)
	f.releaseP(g.p)
}

// label handles the kind of the collector's work that a goroutine has just begun. It
// ends when the goroutine stops running.
func (f *fold) label(id trace.GoID, label string) {
	g := f.g(id)
	if g == nil || g.state != trace.GoRunning {
		return
	}
	f.endWork(g)
	switch label {
	case labelDedicated:
		g.work = dedicated
	case labelFractional:
		g.work = fractional
	case labelIdle:
		g.work = idle
	default:
		return
	}
	g.workSince = f.now
	if g.work != idle {
		f.takeP(g.p)
	} else if g.p != nil {
		g.p.idleMarking++
		f.turn(g.p, f.now)
	}
}

func (f *fold) endWork(g *goState) {
	if g.work == noWork {
		return
	}
	f.work[g.work] = plus(f.work[g.work], f.now-g.workSince)
	if g.work != idle {
		f.releaseP(g.p)
	} else if g.p != nil {
		g.p.idleMarking--
		f.turn(g.p, f.now)
	}
	g.work = noWork
}
