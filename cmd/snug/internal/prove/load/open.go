// SPDX-License-Identifier: Apache-2.0

package load

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// inline is the size up to which the pacing thread sends a request itself. So
// little fits into the buffer of a socket even if the service is not reading.
const inline = 8 << 10

// job is one request. Its times are counted from the start of the tally.
type job struct {
	tally     *tally
	target    *target
	due, sent time.Duration
	again     bool // this is the second attempt
}

func (j job) deadline(timeout time.Duration) time.Time {
	return j.tally.start.Add(j.sent + timeout)
}

// openConn is a connection of an open loop. Its goroutine reads the answers;
// the pacing thread sends. What openLoop.mu guards comes after it.
type openConn struct {
	*conn
	target int // index

	job    job
	busy   bool  // job is to be answered
	dead   bool  // not to be used again
	failed error // why the request could not be sent
}

// openLoop sends requests when they are due. It keeps its connections from the
// warm-up to the window.
type openLoop struct {
	plan    Plan
	targets []target
	pending sync.WaitGroup // outstanding requests

	mu          sync.Mutex
	outstanding int
	idle        [][]*openConn // by target; the last used first, so that few stay in use
}

func newOpenLoop(p Plan, targets []target) *openLoop {
	return &openLoop{plan: p, targets: targets, idle: make([][]*openConn, len(targets))}
}

func (o *openLoop) run(length time.Duration, stream uint64) *tally {
	arrivals := newArrivals(o.plan.Seed, stream, o.plan.Rate)
	choice := rand.New(rand.NewPCG(o.plan.Seed, streamChoice))
	t := newTally(o.plan, length, o.plan.Rate*length.Seconds())
	pace := newPacer(t.start)
	defer pace.close()
	for due := arrivals.next(); due < length; due = arrivals.next() {
		n := 0
		if len(o.targets) > 1 {
			n = choice.IntN(len(o.targets))
		}
		pace.until(due)
		o.send(job{tally: t, target: &o.targets[n], due: due}, n)
	}
	pace.until(length)
	o.pending.Wait()
	return t
}

// send sends a request on an idle connection, else on a new one.
func (o *openLoop) send(j job, n int) {
	o.mu.Lock()
	if o.outstanding >= o.plan.Connections {
		o.mu.Unlock()
		j.tally.drop(j, fmt.Errorf("%d requests are outstanding already", o.plan.Connections))
		return
	}
	o.outstanding++
	o.pending.Add(1)
	c := o.take(n)
	if c != nil {
		j.sent = j.tally.now()
		c.job, c.busy = j, true
	}
	o.mu.Unlock()
	switch {
	case c == nil:
		go o.connect(j, n)
	case len(j.target.request) <= inline:
		o.write(c, j)
	default:
		go o.write(c, j)
	}
}

// take returns an idle connection, nil when there is none. The caller holds mu.
func (o *openLoop) take(n int) *openConn {
	for last := len(o.idle[n]) - 1; last >= 0; last-- {
		c := o.idle[n][last]
		o.idle[n] = o.idle[n][:last]
		if !c.dead {
			return c
		}
	}
	return nil
}

// write sends a request. If that fails, serve hears of it by the connection's
// end.
func (o *openLoop) write(c *openConn, j job) {
	if err := c.send(j.deadline(o.plan.Timeout)); err != nil {
		o.mu.Lock()
		c.failed = err
		o.mu.Unlock()
		c.Close()
	}
}

// connect sends a request on a new connection and then serves that.
func (o *openLoop) connect(j job, n int) {
	if !j.again {
		j.sent = j.tally.now()
	}
	made, err := dial(j.target, j.deadline(o.plan.Timeout))
	if err != nil {
		o.end(j, j.tally.now(), err)
		return
	}
	c := &openConn{conn: made, target: n, job: j, busy: true}
	if len(j.target.request) <= inline {
		o.write(c, j)
	} else {
		go o.write(c, j) // the service may answer before it has read all
	}
	o.serve(c)
}

// serve reads the answers on a connection until that ends.
func (o *openLoop) serve(c *openConn) {
	defer c.Close()
	for {
		err := c.receive()
		now := time.Now()
		j, busy, stale := o.settle(c, now, &err)
		switch {
		case stale:
			continue
		case !busy:
			return // it ended while idle, or the service spoke unasked
		}
		lost := errors.Is(err, errClosed) && c.used
		if lost && j.target.again && !j.again {
			// The service closed an idle connection just when it was to be used,
			// as it may: the request was not seen (RFC 9112, 9.3.1).
			j.again = true
			go o.connect(j, c.target)
			return
		}
		o.end(j, now.Sub(j.tally.start), err)
		if !c.keep {
			return
		}
	}
}

// settle takes the job that receive ended for, busy false when there was none,
// and makes the connection idle or dead. stale is a timeout that belongs to the
// job before: a deadline is set with each request, and not taken back when it
// is answered, which saves the work.
func (o *openLoop) settle(c *openConn, now time.Time, err *error) (j job, busy, stale bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if isTimeout(*err) {
		if !c.busy {
			return job{}, false, c.SetDeadline(time.Time{}) == nil
		}
		if c.failed == nil && now.Before(c.job.deadline(o.plan.Timeout)) {
			return job{}, false, true // write is about to set the next one
		}
	}
	if c.failed != nil {
		c.keep = false
		if !answered(*err) {
			*err = c.failed
		}
	}
	j, busy = c.job, c.busy
	c.busy = false
	if c.dead = !c.keep || !busy; !c.dead {
		o.idle[c.target] = append(o.idle[c.target], c)
	}
	return j, busy, false
}

// end counts a request that has ended.
func (o *openLoop) end(j job, end time.Duration, err error) {
	j.tally.end(j, end, err)
	o.mu.Lock()
	o.outstanding--
	o.mu.Unlock()
	o.pending.Done()
}
