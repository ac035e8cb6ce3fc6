// SPDX-License-Identifier: Apache-2.0

package load

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// inline is the maximum size in bytes of a request that the pacing thread sends itself:
// it fits into the buffer of a socket even if the service does not read.
const inline = 8 << 10

// job is one request. Its times count from the start of the tally.
type job struct {
	tally     *tally
	target    *target
	due, sent time.Duration
	retried   bool // this is the second attempt
}

func (j job) deadline(timeout time.Duration) time.Time {
	return j.tally.start.Add(j.sent + timeout)
}

// openConn is a connection of an open loop. Its goroutine reads the answers; the pacing
// thread sends. openLoop.mu guards the fields from job on.
type openConn struct {
	*conn
	target int // index

	job    job
	busy   bool  // job waits for its answer
	dead   bool  // do not use it again
	failed error // why the request could not be sent
}

// openLoop sends requests when they are due. It keeps its connections from the warm-up to
// the window.
type openLoop struct {
	plan    Plan
	targets []target
	pending sync.WaitGroup // outstanding requests

	mu          sync.Mutex
	outstanding int
	idle        [][]*openConn // by target, as a stack, so that few stay in use

	clients []*client // over HTTP/2, used in turn
	next    int       // of clients
}

func newOpenLoop(p Plan, targets []target) *openLoop {
	o := &openLoop{plan: p, targets: targets, idle: make([][]*openConn, len(targets))}
	if overHTTP2(targets) {
		for range http2Conns {
			o.clients = append(o.clients, newClient())
		}
	}
	return o
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

// send sends a request on an idle connection, or on a new one.
func (o *openLoop) send(j job, n int) {
	o.mu.Lock()
	if o.outstanding >= o.plan.Connections {
		o.mu.Unlock()
		j.tally.drop(j, fmt.Errorf("%d requests are outstanding already", o.plan.Connections))
		return
	}
	o.outstanding++
	o.pending.Add(1)
	if j.target.call != nil {
		o.next++
		c := o.clients[o.next%http2Conns]
		o.mu.Unlock()
		go o.call(j, c)
		return
	}
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

// call sends a request over HTTP/2 and reads the answer.
func (o *openLoop) call(j job, c *client) {
	j.sent = j.tally.now()
	err := c.exchange(j.target.call, j.deadline(o.plan.Timeout))
	o.end(j, j.tally.now(), err)
}

// take returns an idle connection, nil if there is none. The caller holds mu.
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

// write sends a request. If that fails it closes the connection, which ends serve.
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
	if !j.retried {
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

// serve reads the answers on a connection until it ends.
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
			return // it ended while idle, or the service sent data without a request
		}
		lost := errors.Is(err, errClosed) && c.used
		if lost && j.target.retry && !j.retried {
			// The service closed an idle connection just before it was used,
			// which it may: it did not see the request (RFC 9112, 9.3.1).
			j.retried = true
			go o.connect(j, c.target)
			return
		}
		o.end(j, now.Sub(j.tally.start), err)
		if !c.keep {
			return
		}
	}
}

// settle returns the job that receive ended for, with busy false if there was none, and
// makes the connection idle or dead. stale reports a timeout of the job before: each
// request sets a deadline, and an answer does not reset it, which saves the work.
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
