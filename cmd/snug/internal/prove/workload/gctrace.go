// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"sync"
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
			t.line(string(t.partial))
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

func (t *GCTrace) line(s string) {
	c, ok := parseCycle(s)
	if !ok {
		return
	}
	sum := &t.sum
	switch {
	case c.number <= t.last:
		sum.Mixed = true
	case c.number > t.last+1 && t.last > 0:
		sum.Missed += c.number - t.last - 1
	}
	t.last = c.number
	sum.Cycles++
	sum.STW += (c.phases[0] + c.phases[2]) / 1000
	sum.CPU += c.cpu / 1000
	sum.STWMax = max(sum.STWMax, c.phases[0]/1000, c.phases[2]/1000)
	sum.PeakHeap = max(sum.PeakHeap, c.heaps[1]<<20)
	sum.Procs = c.procs
}

// cycle is a line of gctrace.
type cycle struct {
	number uint64
	phases [3]float64 // clock, ms: sweep termination, mark, mark termination
	heaps  [3]int64   // MiB: at the start, at the end of marking, live
	cpu    float64    // ms, of all phases
	procs  int
}

// parseCycle parses a line such as
//
//	gc 7 @0.012s 2%: 0.018+0.48+0.003 ms clock, 0.03+0.1/0.4/0+0.006 ms cpu, 4->4->1 MB, 4 MB goal,
//
// 0 MB stacks, 0 MB globals, 2 P
//
//	number phases heaps procs
//
// as gcMarkTermination prints it (runtime/mgc.go). Go 1.18 added stacks and globals. The
// line may end with "(forced)", and Go 1.26 may put "(checking for goroutine leaks)"
// after the percentage.
func parseCycle(s string) (cycle, bool) {
	var c cycle
	at := strings.LastIndex(s, "gc ")
	if at < 0 {
		return c, false
	}
	head, rest, ok := strings.Cut(s[at+len("gc "):], ": ")
	number, when, ok2 := strings.Cut(head, " @")
	if !ok || !ok2 || !strings.Contains(when, "s ") || !strings.Contains(when, "%") {
		return c, false
	}
	n, err := strconv.ParseUint(number, 10, 32) // memstats.numgc is a uint32
	if err != nil || n == 0 {
		return c, false
	}
	c.number = n
	parts := strings.Split(rest, ", ")
	if len(parts) < 5 {
		return c, false
	}
	clock, ok := strings.CutSuffix(parts[0], " ms clock")
	heap, ok2 := strings.CutSuffix(parts[2], " MB")
	procs, ok3 := strings.CutSuffix(strings.TrimSuffix(strings.TrimRight(parts[len(parts)-1], "\r"), " (forced)"), " P")
	if !ok || !ok2 || !ok3 || !strings.HasSuffix(parts[1], " ms cpu") || !strings.HasSuffix(parts[3], " MB goal") {
		return c, false
	}
	phases, heaps := strings.Split(clock, "+"), strings.Split(heap, "->")
	if len(phases) != 3 || len(heaps) != 3 {
		return c, false
	}
	for i := range 3 {
		ms, err := strconv.ParseFloat(phases[i], 64)
		if err != nil || !(ms >= 0 && ms < 1e9) {
			return c, false
		}
		c.phases[i] = ms
		if c.heaps[i], err = strconv.ParseInt(heaps[i], 10, 64); err != nil || c.heaps[i] < 0 ||
			c.heaps[i] > math.MaxInt64>>20 {
			return c, false
		}
	}
	// 0.03+0.1/0.4/0+0.006: mark is assists, workers and idle Ps.
	for n := range strings.FieldsFuncSeq(strings.TrimSuffix(parts[1], " ms cpu"),
		func(r rune) bool { return r == '+' || r == '/' }) {
		ms, err := strconv.ParseFloat(n, 64)
		if err != nil || !(ms >= 0 && ms < 1e9) {
			return c, false
		}
		c.cpu += ms
	}
	c.procs, err = strconv.Atoi(procs)
	return c, err == nil && c.procs > 0
}
