// SPDX-License-Identifier: Apache-2.0

package load

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

// afterError is how long a user of a closed loop waits after a failure. Without it, the
// generator would burn CPU time while every request fails at once.
const afterError = 10 * time.Millisecond

// closedLoop is a number of users, which may change in the window. They keep their connections
// from the warm-up to the window.
type closedLoop struct {
	plan    Plan
	targets []target
	users   []user
}

type user struct {
	choice *rand.Rand
	conns  []*conn // by target, nil when not connected
	client *client // over HTTP/2
}

func newClosedLoop(p Plan, targets []target) *closedLoop {
	l := &closedLoop{plan: p, targets: targets, users: make([]user, max(p.Connections, p.To))}
	for i := range l.users {
		l.users[i].choice = rand.New(rand.NewPCG(p.Seed, streamChoice+uint64(i)))
		l.users[i].conns = make([]*conn, len(targets))
		if overHTTP2(targets) {
			l.users[i].client = newClient()
		}
	}
	return l
}

// run lets the users send until the time is over. It waits for outstanding requests after
// the warm-up, and cuts them off after the window: waiting would add uncounted requests
// to the work of the service.
func (l *closedLoop) run(length time.Duration, stream uint64) *tally {
	t := newTally(l.plan, length, 1000*length.Seconds())
	var group sync.WaitGroup
	if stream == streamWindow {
		t.slice(l.plan.Slices)
	}
	for i := range l.users {
		from, until := l.active(i, length, stream)
		if from >= until {
			continue
		}
		group.Go(func() {
			time.Sleep(from - t.now())
			l.loop(&l.users[i], t, until, stream == streamWindow)
		})
	}
	group.Wait()
	return t
}

// active returns when user i sends: its first request is not before from, and the last one before
// until. In the warm-up the number of users does not change.
func (l *closedLoop) active(i int, length time.Duration, stream uint64) (from, until time.Duration) {
	first, last := l.plan.Connections, l.plan.To
	if stream != streamWindow || last == 0 {
		last = first
	}
	step := func(n int) time.Duration { // each number of users lasts as long
		return time.Duration(float64(length) * float64(n) / float64(max(first, last)-min(first, last)+1))
	}
	switch {
	case i < min(first, last):
		return 0, length
	case i < last:
		return step(i - first + 1), length
	case i < first:
		return 0, step(first - i)
	}
	return 0, 0
}

func (l *closedLoop) loop(u *user, t *tally, until time.Duration, cut bool) {
	for {
		sent := t.now()
		if sent >= until {
			return
		}
		n := 0
		if len(l.targets) > 1 {
			n = u.choice.IntN(len(l.targets))
		}
		limit := sent + l.plan.Timeout
		if cut {
			limit = min(limit, t.length)
		}
		j := job{tally: t, target: &l.targets[n], due: sent, sent: sent}
		err := u.request(j, n, t.start.Add(limit))
		end := t.now()
		if cut && end >= t.length {
			t.cut()
			return
		}
		t.end(j, end, err)
		if err != nil {
			time.Sleep(min(afterError, t.length-end))
		}
	}
}

// request sends one request and reads the answer.
func (u *user) request(j job, n int, deadline time.Time) error {
	if j.target.call != nil {
		return u.client.exchange(j.target.call, deadline)
	}
	for {
		c := u.conns[n]
		if c == nil {
			var err error
			if c, err = dial(j.target, deadline); err != nil {
				return err
			}
			u.conns[n] = c
		}
		err := c.exchange(deadline)
		if !c.keep {
			c.Close()
			u.conns[n] = nil
		}
		// A service may close an idle connection just before it is used
		// (RFC 9112, 9.3.1).
		if errors.Is(err, errClosed) && c.used && j.target.retry {
			continue
		}
		return err
	}
}
