// SPDX-License-Identifier: Apache-2.0

package golog

import "bytes"

// Sched is what the lines of schedtrace say (schedtrace in runtime/proc.go).
// Each is a look at one moment; means are over the looks. All of it is unknown
// when Looks is 0.
type Sched struct {
	// Looks is how many lines the figures are of.
	Looks int
	// First and Last are when the first and the last was written, in seconds
	// since the runtime began to trace, soon after the process started.
	First, Last float64
	// Procs is GOMAXPROCS at the last look; ProcsChanged says that it was
	// something else at another.
	Procs        int
	ProcsChanged bool
	// IdleProcs is the mean number of Ps with nothing to run, 0 to GOMAXPROCS.
	IdleProcs float64
	// Spinning is the mean number of threads that looked for work and had none.
	Spinning float64
	// Threads is how many threads the runtime had at the last look,
	// ThreadsMax at most.
	Threads, ThreadsMax int
	// QueueLooks is how many looks told of the queues of runnable goroutines.
	// It is 0 with GODEBUG=scheddetail=1, which writes them elsewhere; what
	// follows is unknown then.
	QueueLooks int
	// Queue is the mean number of goroutines that waited for a P, in the global
	// queue and those of the Ps together; QueueMax the largest.
	Queue    float64
	QueueMax int
}

// schedLine is one line.
type schedLine struct {
	ms        int64
	procs     int64
	idle      int64
	threads   int64
	spinning  int64
	queue     int64 // global and local
	hasQueues bool
}

const (
	schedWord = "SCHED "

	maxCount = 1<<31 - 1 // the runtime counts in int32
	maxMs    = 1e12      // 30 years
)

// parseSched reads the line that b begins with, and returns how many bytes of it
// were looked at.
//
//	SCHED 26ms: gomaxprocs=3 idleprocs=1 threads=5 spinningthreads=0 needspinning=0 idlethreads=2 runqueue=1 [0 0 0]
//	SCHED 26ms: gomaxprocs=3 idleprocs=1 threads=5 spinningthreads=0 needspinning=0 idlethreads=2 runqueue=1 [ 0 0 0 ] schedticks=[ 79 8 40 ]
//	SCHED 26ms: gomaxprocs=3 ... runqueue=1 gcwaiting=false nmidlelocked=0 stopwait=0 sysmonwait=false
//
// The first is of Go 1.18 to 1.24, needspinning since 1.20; the second of 1.25
// and later; the third is the first line of many with scheddetail=1. In brackets
// are the lengths of the queues of the Ps.
func parseSched(b []byte) (schedLine, int, verdict) {
	var l schedLine
	c := cursor{b: b}
	c.word(schedWord)
	l.ms = c.number(maxMs)
	c.word("ms: gomaxprocs=")
	if c.failed {
		return l, c.at, other
	}
	l.procs = c.number(maxProcs)
	c.word(" idleprocs=")
	l.idle = c.number(maxCount)
	c.word(" threads=")
	l.threads = c.number(maxCount)
	c.word(" spinningthreads=")
	l.spinning = c.number(maxCount)
	if c.optional(" needspinning=") {
		c.number(maxCount)
	}
	c.word(" idlethreads=")
	c.number(maxCount)
	c.word(" runqueue=")
	l.queue = c.number(maxCount)
	if c.failed || l.procs == 0 || l.idle > l.procs || l.spinning > l.threads {
		return l, c.at, damaged
	}
	if bytes.HasPrefix(c.rest(), []byte(" gcwaiting=")) {
		return l, c.at, good
	}
	c.word(" [")
	c.optional(" ")
	for i := int64(0); i < l.procs && !c.failed; i++ {
		if i > 0 {
			c.word(" ")
		}
		l.queue += c.number(maxCount)
	}
	c.optional(" ")
	c.word("]")
	if c.failed {
		return l, c.at, damaged
	}
	l.hasQueues = true
	return l, c.at, good
}

// schedSums are the figures so far.
type schedSums struct {
	Sched
	lastMs                int64
	idle, spinning, queue float64 // sums; exact up to 2^53
}

func (s *summer) addSched(l schedLine) {
	// The shortest period is a millisecond, so two lines of one process never
	// say the same time.
	if s.sched.Looks > 0 && l.ms <= s.sched.lastMs {
		s.restart()
	}
	s.sched.add(l)
}

func (g *schedSums) add(l schedLine) {
	if g.Looks == 0 {
		g.First = float64(l.ms) / 1000
	} else if int(l.procs) != g.Procs {
		g.ProcsChanged = true
	}
	g.Looks++
	g.lastMs, g.Last = l.ms, float64(l.ms)/1000
	g.Procs = int(l.procs)
	g.idle += float64(l.idle)
	g.spinning += float64(l.spinning)
	g.Threads = int(l.threads)
	g.ThreadsMax = max(g.ThreadsMax, g.Threads)
	if l.hasQueues {
		g.QueueLooks++
		g.queue += float64(l.queue)
		g.QueueMax = max(g.QueueMax, int(min(l.queue, maxCount)))
	}
}

func (g *schedSums) figures() Sched {
	s := g.Sched
	if s.Looks > 0 {
		s.IdleProcs = g.idle / float64(s.Looks)
		s.Spinning = g.spinning / float64(s.Looks)
	}
	if s.QueueLooks > 0 {
		s.Queue = g.queue / float64(s.QueueLooks)
	}
	return s
}
