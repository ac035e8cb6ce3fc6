// SPDX-License-Identifier: Apache-2.0

package exectrace

import "time"

// Windows are those that the minimum mutator utilisation is told for.
var Windows = [...]time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second}

// mmu finds the minimum mutator utilisation: of all windows of a length within the
// trace the smallest share of P time that was left to the program (Cheng and Blelloch,
// A Parallel, Real-Time Garbage Collector, 2001).
//
// The collector's share of the Ps is a step function of time, so what it has taken up
// to a time, taken(t), is a line of straight pieces, and so is taken(t+w)-taken(t). That
// has its largest value where the share rises at t or falls at t+w, or at an end of the
// trace. Each of these is looked at once, when the pieces that it needs are known. Only
// the corners of the last window are kept.
type mmu struct {
	corners []corner // in time; [0] is the oldest that is still needed
	dropped int      // how many were before
	windows [len(Windows)]window
}

// corner is where the collector's share changes.
type corner struct {
	t     int64   // ns
	taken float64 // by the collector until then, in ns of all Ps
	share float64 // that it had until then
}

// begin is where the function begins.
func (m *mmu) begin(t int64) { m.corners = append(m.corners, corner{t: t}) }

// to goes on to a time, at a share that the collector had since the last corner.
func (m *mmu) to(t int64, share float64) {
	last := m.corners[len(m.corners)-1]
	if t <= last.t {
		return
	}
	if share < last.share {
		m.endHere()
	}
	m.corners = append(m.corners, corner{t, last.taken + share*float64(t-last.t), share})
	for i := range m.windows {
		w := &m.windows[i]
		long := int64(Windows[i])
		// Those that begin at a corner and end in the last piece.
		for {
			k := w.next - m.dropped
			c := &m.corners[k]
			if t-c.t < long {
				break
			}
			if m.corners[k+1].share > c.share || w.next == 0 {
				w.seen(last.taken + share*float64(c.t+long-last.t) - c.taken)
			}
			w.next++
		}
	}
	// A piece is needed as long as a window may begin in it.
	spare := m.windows[len(m.windows)-1].next - 1 - m.dropped
	if spare > 4096 && spare > len(m.corners)/2 {
		m.corners = m.corners[:copy(m.corners, m.corners[spare:])]
		m.dropped += spare
	}
}

// endHere looks at the windows that end at the last corner. It is called where the
// share falls, and at the end of the trace.
func (m *mmu) endHere() {
	now := &m.corners[len(m.corners)-1]
	for i := range m.windows {
		w := &m.windows[i]
		// It begins in the piece before the corner that is next to begin one.
		if k := w.next - m.dropped; k > 0 {
			c := &m.corners[k]
			w.seen(now.taken - c.taken + c.share*float64(c.t-(now.t-int64(Windows[i]))))
		}
	}
}

// window is one length of window.
type window struct {
	next  int     // the corner that is the next to begin one, dropped ones counted
	worst float64 // most that the collector has taken of one
	any   bool    // there was one
}

func (w *window) seen(taken float64) {
	if taken > w.worst {
		w.worst = taken
	}
	w.any = true
}

// least is the minimum mutator utilisation for Windows[i], 0 to 1; false when the trace
// is shorter.
func (m *mmu) least(i int) (float64, bool) {
	w := &m.windows[i]
	return min(max(1-w.worst/float64(Windows[i]), 0), 1), w.any
}
