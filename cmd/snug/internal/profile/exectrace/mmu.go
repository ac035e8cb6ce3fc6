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
// trace. Each of these is looked at once, when the pieces that it needs are known; but
// from one with less than the largest yet it cannot grow faster than time goes by, and
// those before it could are passed over. Only the corners of the last window are kept.
type mmu struct {
	last    corner
	blocks  []*[block]corner // in time, last among them
	dropped int              // how many corners are in blocks that were dropped before
	n       int              // corners there have been
	spare   *[block]corner   // one that was dropped
	windows [len(Windows)]window
}

// block is how many corners are allocated at a time: a slice that grew would be copied.
const block = 1 << 12

// corner is where the collector's share changes.
type corner struct {
	t     int64   // ns
	taken float64 // by the collector until then, in ns of all Ps
	share float64 // that it had until then
}

// begin is where the function begins.
func (m *mmu) begin(t int64) {
	m.add(corner{t: t})
	for i := range m.windows {
		m.windows[i].corner = m.last
	}
}

// at is the k-th corner of all.
func (m *mmu) at(k int) *corner {
	i := uint(k - m.dropped)
	return &m.blocks[i/block][i%block]
}

func (m *mmu) add(c corner) {
	if m.n-m.dropped == len(m.blocks)*block {
		b := m.spare
		if b == nil {
			b = new([block]corner)
		}
		m.spare = nil
		m.blocks = append(m.blocks, b)
	}
	m.last = c
	*m.at(m.n) = c
	m.n++
}

// to goes on to a time, at a share that the collector had since the last corner.
func (m *mmu) to(t int64, share float64) {
	last := m.last
	if t <= last.t {
		return
	}
	if share < last.share {
		m.endHere()
	}
	m.add(corner{t, last.taken + share*float64(t-last.t), share})
	for i := range m.windows {
		w := &m.windows[i]
		if w.any && t < w.until {
			continue
		}
		long := int64(Windows[i])
		m.pass(w, last.t-long)
		// Those that begin at a corner and end in the last piece.
		for t-w.corner.t >= long {
			w.next++
			after := m.at(w.next)
			if w.next == 1 || after.share > w.corner.share {
				w.seen(last.taken + share*float64(w.corner.t+long-last.t) - w.corner.taken)
			}
			w.corner = *after
		}
		if w.any {
			// A nanosecond is more than sums are off by.
			w.until = t + max(int64(w.worst-m.taken(w, t-long))-1, 0)
		}
	}
	if m.n-m.dropped == len(m.blocks)*block {
		m.drop(t)
	}
}

// pass goes on to the first corner after a time.
func (m *mmu) pass(w *window, t int64) {
	if w.corner.t > t || w.next == m.n-1 {
		return
	}
	for w.next < m.n-1 && m.at(w.next).t <= t {
		w.next++
	}
	w.corner = *m.at(w.next)
}

// drop forgets corners before a window that ends at a time.
func (m *mmu) drop(t int64) {
	w := &m.windows[len(m.windows)-1]
	m.pass(w, t-int64(Windows[len(Windows)-1]))
	for w.next-1-m.dropped >= block {
		m.spare = m.blocks[0]
		m.blocks = append(m.blocks[:0], m.blocks[1:]...)
		m.dropped += block
	}
}

// taken is what the collector has taken since a time, which lies in the piece before the
// corner that is next to begin a window.
func (m *mmu) taken(w *window, t int64) float64 {
	return m.last.taken - w.corner.taken + w.corner.share*float64(w.corner.t-t)
}

// endHere looks at the windows that end at the last corner. It is called where the
// share falls, and at the end of the trace.
func (m *mmu) endHere() {
	for i := range m.windows {
		if w := &m.windows[i]; w.any && m.last.t >= w.until {
			w.seen(m.taken(w, m.last.t-int64(Windows[i])))
		}
	}
}

// window is one length of window.
type window struct {
	next   int     // which corner is the next to begin one
	corner corner  // that one
	until  int64   // none that ends before is worse than what was seen
	worst  float64 // most that the collector has taken of one
	any    bool    // there was one
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
