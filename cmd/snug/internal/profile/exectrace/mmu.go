// SPDX-License-Identifier: Apache-2.0

package exectrace

import "time"

// Windows are the window lengths of the minimum mutator utilisation.
var Windows = [...]time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second}

// mmu finds the minimum mutator utilisation: the smallest share of P time left to the
// program, over all windows of a length within the trace (Cheng and Blelloch,
// A Parallel, Real-Time Garbage Collector, 2001).
//
// The collector's share of the Ps is a step function of time. So the P time it has taken
// until t, taken(t), is piecewise linear, and so is taken(t+w)-taken(t). The maximum of
// that is where the share rises at t or falls at t+w, or at an end of the trace. Each of
// these windows is examined once, when its pieces are known. From one window to the next
// the value grows at most as fast as time passes, so windows that cannot reach the
// maximum yet are skipped. Only the corners of the last window are kept.
type mmu struct {
	last    corner
	blocks  []*[block]corner // in order of time, including last
	dropped int              // number of corners in dropped blocks
	n       int              // number of all corners so far
	spare   *[block]corner   // a dropped block, to reuse
	windows [len(Windows)]window
}

// block is the number of corners per allocation. A growing slice would be copied.
const block = 1 << 12

// corner is a change of the collector's share.
type corner struct {
	t     int64   // ns
	taken float64 // by the collector until then, in ns of all Ps
	share float64 // of the collector until then
}

// begin sets the start of the function.
func (m *mmu) begin(t int64) {
	m.add(corner{t: t})
	for i := range m.windows {
		m.windows[i].corner = m.last
	}
}

// at returns the k-th of all corners.
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

// to adds a corner; share is the collector's since the last corner.
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
		// Windows that begin at a corner and end in the last piece.
		for t-w.corner.t >= long {
			w.next++
			after := m.at(w.next)
			if w.next == 1 || after.share > w.corner.share {
				w.seen(last.taken + share*float64(w.corner.t+long-last.t) - w.corner.taken)
			}
			w.corner = *after
		}
		if w.any {
			// The error of the sums is less than a nanosecond.
			w.until = t + max(int64(w.worst-m.taken(w, t-long))-1, 0)
		}
	}
	if m.n-m.dropped == len(m.blocks)*block {
		m.drop(t)
	}
}

// pass advances a window to the first corner after a time.
func (m *mmu) pass(w *window, t int64) {
	if w.corner.t > t || w.next == m.n-1 {
		return
	}
	for w.next < m.n-1 && m.at(w.next).t <= t {
		w.next++
	}
	w.corner = *m.at(w.next)
}

// drop drops corners before the longest window that ends at a time.
func (m *mmu) drop(t int64) {
	w := &m.windows[len(m.windows)-1]
	m.pass(w, t-int64(Windows[len(Windows)-1]))
	for w.next-1-m.dropped >= block {
		m.spare = m.blocks[0]
		m.blocks = append(m.blocks[:0], m.blocks[1:]...)
		m.dropped += block
	}
}

// taken returns the P time that the collector has taken since a time. The time must be in
// the piece before the corner that begins the next window.
func (m *mmu) taken(w *window, t int64) float64 {
	return m.last.taken - w.corner.taken + w.corner.share*float64(w.corner.t-t)
}

// endHere examines the windows that end at the last corner. It is called when the share
// falls, and at the end of the trace.
func (m *mmu) endHere() {
	for i := range m.windows {
		if w := &m.windows[i]; w.any && m.last.t >= w.until {
			w.seen(m.taken(w, m.last.t-int64(Windows[i])))
		}
	}
}

// window is one length of window.
type window struct {
	next   int     // index of the corner that begins the next window
	corner corner  // that corner
	until  int64   // no window that ends before is worse than worst
	worst  float64 // the most that the collector has taken of a window
	any    bool    // there was a window
}

func (w *window) seen(taken float64) {
	if taken > w.worst {
		w.worst = taken
	}
	w.any = true
}

// minimum returns the minimum mutator utilisation for Windows[i], 0 to 1; false if the
// trace is shorter.
func (m *mmu) minimum(i int) (float64, bool) {
	w := &m.windows[i]
	return min(max(1-w.worst/float64(Windows[i]), 0), 1), w.any
}
