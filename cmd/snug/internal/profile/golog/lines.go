// SPDX-License-Identifier: Apache-2.0

package golog

import (
	"bytes"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// GC sums up the lines of gctrace (package runtime, "Environment Variables";
// gcMarkTermination in runtime/mgc.go). All fields are unknown if Cycles is 0.
//
// The runtime rounds down: sizes to MiB, times to two digits or to whole
// milliseconds. A sum of times is therefore up to 10% too small.
type GC struct {
	Cycles int // collections in the figures
	// First and Last are the start times of the first and the last, in seconds since the process started.
	First, Last float64
	Procs       int // GOMAXPROCS at the last collection
	// CPU is the CPU time of all in seconds, without marking on idle Ps. Where the world is stopped, before and
	// after marking, it is wall time times the number of Ps, which exceeds the CPU time used if these are more
	// than the CPUs.
	CPU float64
	// Live heap and heap goal of the last collection, in bytes. The goal is NoGoal with GOGC=off and no
	// GOMEMLIMIT.
	Live, Goal int64

	// The runtime's numbers of the first and the last, from 1 at the start of the process. Lines between them
	// may be missing.
	firstNumber, lastNumber float64
}

// NoGoal is the goal of a heap without a bound.
const NoGoal = math.MaxInt64

// PerSecond returns the rate of collections between the first and the last. ok is
// false if there is no time between them.
func (g GC) PerSecond() (rate float64, ok bool) {
	if g.Last <= g.First || g.lastNumber <= g.firstNumber {
		return 0, false
	}
	return (g.lastNumber - g.firstNumber) / (g.Last - g.First), true
}

// Sched sums up the lines of schedtrace (schedtrace in runtime/proc.go). Each line is a sample
// of one moment. All fields are unknown if Looks is 0.
type Sched struct {
	Looks int // lines, that is, samples
	Procs int // GOMAXPROCS in the last sample

	idle, spinning float64 // sums; exact up to 2^53
	ms             float64 // of the last sample
}

// IdleProcs returns the mean number of idle Ps, 0 to GOMAXPROCS.
func (s Sched) IdleProcs() float64 { return s.idle / float64(s.Looks) }

// Spinning returns the mean number of threads looking for work.
func (s Sched) Spinning() float64 { return s.spinning / float64(s.Looks) }

// The first words of the lines, and the lines. A # is a number that counts, and a > an arrow, which Docker's
// json-file log escapes.
//
//	gc 7 @0.012s 2%: 0.018+0.48+0.003 ms clock, 0.03+0.1/0.4/0+0.006 ms cpu,
//	(1)  (2)     (3) (4)                        (5)
//	4->4->1 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P
//	(6)         (7)        (8)          (9)           (10)
//
// (1) number; (2) start time; (3) CPU share since the process started; (4) sweep
// termination, mark, mark termination; (5) the same, with marking split into assists,
// dedicated and fractional, idle; (6) heap at the start, at the end, live; (7) goal;
// (8) (9) other bytes scanned; (10) GOMAXPROCS. Go 1.26 adds
// " (checking for goroutine leaks)" after (3) for such collections.
//
//	SCHED 26ms: gomaxprocs=3 idleprocs=1 threads=5 spinningthreads=0 idlethreads=2 runqueue=1 [0 0 0]
//
// Since Go 1.20 needspinning follows spinningthreads.
const (
	gcWord = "gc "
	gcForm = `^gc # @#s [0-9]+%(?: \(checking for goroutine leaks\))?: #\+[0-9.]+\+# ms clock, ` +
		`#\+#/#/#\+# ms cpu, [0-9]+>#># MB, # MB goal, `
	gcSizes   = `[0-9]+ MB stacks, [0-9]+ MB globals, ` // not before Go 1.18
	schedWord = "SCHED "
	schedForm = `^SCHED #ms: gomaxprocs=# idleprocs=# threads=# spinningthreads=# `
)

const (
	maxSeconds = 1e9     // 30 years
	maxMiB     = 1 << 44 // 2^64 bytes, the goal of an unbounded heap
	noGoal     = 1 << 40 // MiB; 2^60 bytes are more than Go can address
	maxProcs   = 1 << 20
	maxCount   = 1<<32 - 1 // the runtime counts in int32 and uint32
)

var (
	gcLines    = lines(gcForm + gcSizes + "# P")
	cycles     = lines(gcForm + "(?:" + gcSizes + ")?# P")
	schedLines = lines(schedForm)
)

// lines returns an expression for a form, which is compiled when it is first used.
func lines(form string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(strings.NewReplacer(`#`, `([0-9]+(?:\.[0-9]+)?)`, `>`, `-(?:>|\\u003e)`).Replace(form))
	})
}

// text adds the lines of the runtime that begin in the first n bytes of b.
func (s *Summary) text(b []byte, n int) {
	find(b, n, gcWord, gcLines, s.addGC)
	find(b, n, schedWord, schedLines, s.addSched)
}

// find calls add with the numbers of each line that begins with a word in the first n bytes of b. Lines do not
// overlap, and no word is within one, so the time is linear in len(b).
func find(b []byte, n int, word string, line func() *regexp.Regexp, add func(number []float64)) {
	for at := 0; at < n; {
		i := bytes.Index(b[at:min(len(b), n+len(word))], []byte(word))
		if i < 0 || at+i >= n {
			return
		}
		at += i
		found := line().FindSubmatchIndex(b[at:])
		if found == nil {
			at += len(word)
			continue
		}
		var number []float64
		for i := 2; i < len(found); i += 2 {
			v, _ := strconv.ParseFloat(string(b[at+found[i]:at+found[i+1]]), 64) // too large: +Inf
			number = append(number, v)
		}
		add(number)
		at += found[1]
	}
}

// addGC adds a line of gctrace, unless a number in it makes no sense.
func (s *Summary) addGC(number []float64) {
	n, at, cpu := number[0], number[1], []float64{number[4], number[5], number[6], number[8]}
	live, goal, procs := number[10], number[11], number[12]
	if n < 1 || n > maxCount || max(at, cpu[0]/1000, cpu[1]/1000, cpu[2]/1000, cpu[3]/1000) > maxSeconds ||
		live >= noGoal || goal > maxMiB || procs < 1 || procs > maxProcs {
		return
	}
	if s.GC.Cycles > 0 && (n <= s.GC.lastNumber || at < s.GC.Last) {
		*s = Summary{}
	}
	g := &s.GC
	if g.Cycles == 0 {
		g.firstNumber, g.First = n, at
	}
	g.Cycles++
	g.lastNumber, g.Last, g.Procs = n, at, int(procs)
	for _, ms := range cpu {
		g.CPU += ms / 1000
	}
	g.Live, g.Goal = int64(live)<<20, NoGoal
	if goal < noGoal {
		g.Goal = int64(goal) << 20
	}
}

// addSched adds a line of schedtrace, unless a number in it makes no sense.
func (s *Summary) addSched(number []float64) {
	ms, procs, idle, threads, spinning := number[0], number[1], number[2], number[3], number[4]
	if ms > maxSeconds*1000 || procs < 1 || procs > maxProcs || idle > procs || threads > maxCount || spinning > threads {
		return
	}
	// The minimum period is 1 ms, so two lines of one process never have the same time.
	if s.Sched.Looks > 0 && ms <= s.Sched.ms {
		*s = Summary{}
	}
	d := &s.Sched
	d.Looks++
	d.Procs, d.ms = int(procs), ms
	d.idle += idle
	d.spinning += spinning
}

// Cycle is one collection. Times are in seconds.
type Cycle struct {
	Number  uint32
	Stops   [2]float64 // sweep and mark termination, in which the world is stopped
	CPU     float64    // that Ps spent on it: assists and idle Ps too
	HeapEnd int64      // bytes at the end of marking
	Procs   int
}

// ParseCycle returns the last collection in a line of a log; false = there is none.
func ParseCycle(line []byte) (c Cycle, ok bool) {
	if at := bytes.LastIndex(line, []byte(gcWord)); at >= 0 {
		find(line[at:], 1, gcWord, cycles, func(n []float64) {
			end, procs := n[9], n[12]
			if ok = n[0] >= 1 && n[0] <= maxCount && procs >= 1 && procs <= maxProcs && end < noGoal; !ok {
				return
			}
			c = Cycle{Number: uint32(n[0]), Stops: [2]float64{n[2] / 1000, n[3] / 1000}, HeapEnd: int64(end) << 20,
				Procs: int(procs)}
			for _, ms := range n[4:9] {
				c.CPU += ms / 1000
			}
		})
	}
	return c, ok
}
