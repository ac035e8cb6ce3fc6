// SPDX-License-Identifier: Apache-2.0

package golog

import "bytes"

// Sched sums up the lines of schedtrace (schedtrace in runtime/proc.go). Each line is a sample
// of one moment; means are over the samples. All fields are unknown if Looks is 0.
type Sched struct {
	// Looks is the number of lines, that is, samples.
	Looks int
	// First and Last are the times of the first and last sample, in seconds
	// since the runtime began to trace, soon after the process started.
	First, Last float64
	// Procs is GOMAXPROCS in the last sample; ProcsChanged reports whether it
	// had another value in an earlier one.
	Procs        int
	ProcsChanged bool
	// IdleProcs is the mean number of idle Ps, 0 to GOMAXPROCS.
	IdleProcs float64
	// Spinning is the mean number of threads looking for work.
	Spinning float64
	// Threads is the runtime's number of threads in the last sample, ThreadsMax the maximum.
	Threads, ThreadsMax int
	// QueueLooks is the number of samples with the queues of runnable goroutines. It is 0 with
	// GODEBUG=scheddetail=1, which writes them elsewhere; the fields below are then unknown.
	QueueLooks int
	// Queue is the mean number of goroutines waiting for a P, in the global
	// queue and the queues of all Ps; QueueMax is the maximum.
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

// parseSched parses the line at the start of b, and returns the number of bytes read.
//
//	SCHED 26ms: gomaxprocs=3 idleprocs=1 threads=5 spinningthreads=0 needspinning=0 idlethreads=2 runqueue=1 [0 0 0]
//	SCHED 26ms: gomaxprocs=3 idleprocs=1 threads=5 spinningthreads=0 needspinning=0 idlethreads=2 runqueue=1 [ 0 0 0 ] schedticks=[ 79 8 40 ]
//	SCHED 26ms: gomaxprocs=3 ... runqueue=1 gcwaiting=false nmidlelocked=0 stopwait=0 sysmonwait=false
//
// The first is of Go 1.18 to 1.24, with needspinning since 1.20; the second is of 1.25
// and later; the third is the first of the lines with scheddetail=1. The lengths of the
// queues of the Ps are in brackets.
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

// schedSums holds the figures so far.
type schedSums struct {
	Sched
	lastMs                int64
	idle, spinning, queue float64 // sums; exact up to 2^53
}

func (s *summer) addSched(l schedLine) {
	// The minimum period is 1 ms, so two lines of one process never have the same time.
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
