// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"bytes"
	"sync"

	"github.com/snug-go/snug/cmd/snug/internal/profile/golog"
)

// GCTrace is an io.Writer that finds the lines of GODEBUG=gctrace=1 in the stderr of a Go
// program. The zero value is ready; Write and Take may be called from several goroutines.
//
// The runtime writes such a line in pieces, so text of the program can end up inside it.
// Such a line is not counted; Traced.Missed shows it.
type GCTrace struct {
	mu      sync.Mutex
	partial []byte // an incomplete line
	last    uint64 // number of the last cycle seen; 0 is none yet
	sum     Traced
}

// Traced is the sum of the lines of a gctrace.
type Traced struct {
	Cycles uint64
	// Missed is how many cycles had no readable line, judged by the numbers of the
	// others.
	Missed uint64
	// Mixed reports that cycle numbers went backwards: several processes wrote, for
	// example children that inherit GODEBUG, and the sums are of all of them.
	Mixed bool
	// STW and STWMax are in seconds: of the first and third phase of each cycle, sweep
	// and mark termination, in which the world is stopped.
	STW, STWMax float64
	// CPU is the time that Ps spent on the collections, in seconds: assists and idle Ps too, and time
	// in which the kernel held a thread back.
	CPU float64
	// PeakHeap is the largest heap at the end of marking, in bytes, rounded down to MiB by the runtime.
	PeakHeap int64
	// Procs is GOMAXPROCS at the last cycle; 0 if there was none.
	Procs int
}

// longestLine is longer than any line of gctrace.
const longestLine = 1024

// Write processes the next piece of the stream. It never fails.
func (t *GCTrace) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte{'\n'})
		p = rest
		// It keeps the end of a line that is too long: a program's text without
		// a newline may stand before gctrace's.
		t.partial = append(t.partial, line[max(0, len(line)-longestLine):]...)
		if over := len(t.partial) - longestLine; over > 0 {
			t.partial = append(t.partial[:0], t.partial[over:]...)
		}
		if ended {
			t.line(t.partial)
			t.partial = t.partial[:0]
		}
	}
	return n, nil
}

// Take returns what was found since the last Take.
func (t *GCTrace) Take() Traced {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := t.sum
	t.sum = Traced{}
	return sum
}

// Plus returns the sum of two, of which b is the later.
func (a Traced) Plus(b Traced) Traced {
	b.Cycles += a.Cycles
	b.Missed += a.Missed
	b.Mixed = b.Mixed || a.Mixed
	b.STW += a.STW
	b.STWMax = max(b.STWMax, a.STWMax)
	b.CPU += a.CPU
	b.PeakHeap = max(b.PeakHeap, a.PeakHeap)
	if b.Procs == 0 {
		b.Procs = a.Procs
	}
	return b
}

func (t *GCTrace) line(text []byte) {
	c, ok := golog.ParseCycle(text)
	if !ok {
		return
	}
	sum, number := &t.sum, uint64(c.Number)
	switch {
	case number <= t.last:
		sum.Mixed = true
	case number > t.last+1 && t.last > 0:
		sum.Missed += number - t.last - 1
	}
	t.last = number
	sum.Cycles++
	sum.STW += c.Stops[0] + c.Stops[1]
	sum.CPU += c.CPU
	sum.STWMax = max(sum.STWMax, c.Stops[0], c.Stops[1])
	sum.PeakHeap = max(sum.PeakHeap, c.HeapEnd)
	sum.Procs = c.Procs
}
