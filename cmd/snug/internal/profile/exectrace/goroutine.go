// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"strings"

	"golang.org/x/exp/trace"
)

// g is a goroutine that is known; nil when it is not.
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

// goroutine is a goroutine that changes its state, on P proc, or is told to have one.
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
		case trace.GoUndetermined: // it was there before, and all that time in this state
			g.since, g.sure = f.gen, false
		}
		f.gs[id] = g
		f.recent[uint64(id)%uint64(len(f.recent))] = g
		f.alive++
		f.peak = max(f.peak, f.alive)
	} else {
		if g.state == to {
			return // told again, as at the beginning of each generation
		}
		f.leave(g, to)
		g.state, g.since, g.sure = to, f.now, true
	}
	switch to {
	case trace.GoRunning:
		g.p = f.p(proc)
		if g.assist {
			g.helps = f.now
			f.collects(g.p)
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

// leave accounts for the state that a goroutine was in until now.
func (f *fold) leave(g *goState, to trace.GoState) {
	d := f.now - g.since
	switch g.state {
	case trace.GoRunning:
		f.running = plus(f.running, d)
		if g.assist {
			f.helped(g)
		}
		f.worked(g)
		g.p = nil
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

// waitFor is the sum for a reason to wait.
func (f *fold) waitFor(reason string) *wait {
	if w := f.lastWait; w != nil && w.reason == reason {
		return w
	}
	if reason == "" {
		reason = "not told"
	}
	for _, w := range f.waits {
		if w.reason == reason {
			f.lastWait = w
			return w
		}
	}
	if len(f.waits) == mostReasons {
		return &f.otherWaits
	}
	w := &wait{reason: strings.Clone(reason)}
	f.waits = append(f.waits, w)
	return w
}

// assist is a goroutine that begins or ends to help the collector.
func (f *fold) assist(id trace.GoID, begin bool) {
	g := f.g(id)
	if g == nil || g.assist == begin {
		return
	}
	if begin {
		g.assist = true
		if g.state == trace.GoRunning {
			g.helps = f.now
			f.collects(g.p)
		}
		return
	}
	if g.state == trace.GoRunning {
		f.helped(g)
	}
	g.assist = false
}

func (f *fold) helped(g *goState) {
	f.work[assisting] = plus(f.work[assisting], f.now-g.helps)
	f.leaves(g.p)
}

// label says which kind of the collector's work a goroutine has just begun. It holds
// until it stops running.
func (f *fold) label(id trace.GoID, label string) {
	g := f.g(id)
	if g == nil || g.state != trace.GoRunning {
		return
	}
	f.worked(g)
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
	g.works = f.now
	if g.work != idle {
		f.collects(g.p)
	}
}

func (f *fold) worked(g *goState) {
	if g.work == noWork {
		return
	}
	f.work[g.work] = plus(f.work[g.work], f.now-g.works)
	if g.work != idle {
		f.leaves(g.p)
	}
	g.work = noWork
}
