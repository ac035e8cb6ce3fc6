// SPDX-License-Identifier: Apache-2.0

// Package limiter bounds how many goroutines do something at once, by a number
// that can follow GOMAXPROCS: what is bound by CPU should run as often as
// there are Ps, and that number changes when a container is resized.
//
// A Limiter does not look at GOMAXPROCS by itself. Call Refresh when it has changed:
//
//	work := limiter.Procs(1)
//	w, err := snug.Watch(ctx, snug.WatchOptions{OnPlan: func(snug.Plan) { work.Refresh() }})
//
// and around the work
//
//	if err := work.Acquire(ctx); err != nil {
//		return err
//	}
//	defer work.Release()
//
// Permits are given in the order in which they were asked for. A Limiter has
// no goroutine of its own and needs no closing.
//
// Permits all have the same weight; for requests of different weights there is
// golang.org/x/sync/semaphore, whose size does not change.
package limiter

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// maxSize is the largest size: used and size share a word.
const maxSize = math.MaxInt32

// Limiter hands out permits, as many at once as its size. Make one with New or
// Procs. Its methods may be called from several goroutines; it must not be
// copied.
type Limiter struct {
	// state is all that uncontended calls need, in one word:
	//
	//	bit 63     someone is waiting: everyone goes through mu
	//	bits 32-62 size
	//	bits 0-31  permits in use, more than size after a shrink
	//
	// Bit 63 is set only while no permit is free, so that newcomers, who take
	// free ones, cannot overtake; and while it is set only the holder of mu
	// changes the word, which makes handing a permit over plain.
	state atomic.Uint64

	mu     sync.Mutex
	queue  queue
	factor float64 // permits per P; 0 when the size is fixed
}

const (
	waiting  = 1 << 63
	sizeOne  = 1 << 32
	usedMask = sizeOne - 1
)

func size(s uint64) uint64 { return s &^ waiting >> 32 }
func used(s uint64) uint64 { return s & usedMask }

// New returns a Limiter of a fixed size of n permits. An n below 1 counts as 1.
func New(n int) *Limiter {
	l := &Limiter{}
	l.state.Store(clamp(float64(n)) << 32)
	return l
}

// Procs returns a Limiter whose size is factor times GOMAXPROCS, rounded up, and
// at least 1: also where factor is 0, negative or NaN. It looks at GOMAXPROCS now
// and whenever Refresh is called, and at no other time.
func Procs(factor float64) *Limiter {
	if !(factor > 0) { // NaN too
		factor = math.SmallestNonzeroFloat64 // size 1, and still no fixed one
	}
	l := &Limiter{factor: factor}
	l.state.Store(l.procs() << 32)
	return l
}

// Acquire waits for a permit, and returns nil once it has one; Release gives it
// back. It returns ctx.Err, and has no permit, when ctx is done first. A ctx that
// is done already is an error even if a permit is free.
func (l *Limiter) Acquire(ctx context.Context) error {
	done := ctx.Done()
	select {
	case <-done:
		return ctx.Err()
	default:
	}
	if l.TryAcquire() {
		return nil
	}
	return l.wait(ctx, done)
}

// TryAcquire takes a permit if one is free and nobody waits for it, and says
// whether it did.
func (l *Limiter) TryAcquire() bool {
	for {
		s := l.state.Load()
		if used(s) >= size(s) {
			return false
		}
		if l.state.CompareAndSwap(s, s+1) {
			return true
		}
	}
}

// Release gives a permit back. It panics when none is in use: that is a mistake in
// the program, as unlocking an unlocked mutex is, and a Limiter with more permits
// than its size would no longer limit.
func (l *Limiter) Release() {
	for {
		s := l.state.Load()
		switch {
		case s&waiting != 0:
			l.mu.Lock()
			passed := l.state.Load()&waiting != 0
			if passed {
				l.pass()
			}
			l.mu.Unlock()
			if passed {
				return
			}
		case used(s) == 0:
			panic("limiter: Release without Acquire")
		case l.state.CompareAndSwap(s, s-1):
			return
		}
	}
}

// Go waits for a permit like Acquire, then runs f in a goroutine of its own
// that gives the permit back when f ends, even by panic or runtime.Goexit. It
// returns as soon as f is started; when it returns an error, f is not run.
func (l *Limiter) Go(ctx context.Context, f func()) error {
	if err := l.Acquire(ctx); err != nil {
		return err
	}
	go func() {
		defer l.Release()
		f()
	}()
	return nil
}

// Size returns how many permits can be in use at once.
func (l *Limiter) Size() int { return int(size(l.state.Load())) }

// InUse returns how many permits are in use. After a shrink that can be more
// than Size.
func (l *Limiter) InUse() int { return int(used(l.state.Load())) }

// SetSize sets the size to n, at least 1, and fixes it: Refresh no longer
// changes it. A smaller size takes no permit away from anyone; it holds once
// enough were given back. A larger one lets waiting callers go on at once.
func (l *Limiter) SetSize(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.factor = 0
	l.resize(clamp(float64(n)))
}

// Refresh gives a Limiter made by Procs the size that GOMAXPROCS asks for now,
// with the effects of SetSize. On any other it does nothing. It takes the
// scheduler's lock for a moment, so it belongs where GOMAXPROCS changes, for
// instance in snug's WatchOptions.OnPlan, and not on the path of a request.
func (l *Limiter) Refresh() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.factor > 0 {
		l.resize(l.procs())
	}
}

func (l *Limiter) procs() uint64 { return clamp(l.factor * float64(runtime.GOMAXPROCS(0))) }

func clamp(x float64) uint64 { return uint64(min(max(math.Ceil(x), 1), maxSize)) }

// wait is Acquire's way when no permit is free.
func (l *Limiter) wait(ctx context.Context, done <-chan struct{}) error {
	l.mu.Lock()
	for {
		s := l.state.Load()
		if s&waiting != 0 {
			break
		}
		if used(s) < size(s) { // one was given back meanwhile
			if l.state.CompareAndSwap(s, s+1) {
				l.mu.Unlock()
				return nil
			}
		} else if l.state.CompareAndSwap(s, s|waiting) {
			break
		}
	}
	// Waiters are not pooled: a channel made inside a testing/synctest bubble
	// must not turn up outside of it.
	w := &waiter{ready: make(chan struct{})}
	l.queue.push(w)
	l.mu.Unlock()

	select {
	case <-w.ready:
		select {
		case <-done: // both at once: a done ctx is an error
		default:
			return nil
		}
	case <-done:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.queued {
		l.queue.remove(w)
		l.settle(l.state.Load())
	} else { // it got a permit all the same: on to the next one
		l.giveBack()
	}
	return ctx.Err()
}

// giveBack is Release for the holder of mu.
func (l *Limiter) giveBack() {
	for {
		s := l.state.Load()
		if s&waiting != 0 {
			l.pass()
			return
		}
		if l.state.CompareAndSwap(s, s-1) {
			return
		}
	}
}

// pass hands a permit that is in use to the first waiter, or gives it back
// when the size has shrunk below what is in use. The caller holds mu and has
// seen the waiting bit.
func (l *Limiter) pass() {
	s := l.state.Load()
	if used(s) > size(s) {
		l.state.Store(s - 1)
		return
	}
	l.queue.pop()
	l.settle(s)
}

// resize sets the size and gives what is free to those who wait. The caller
// holds mu.
func (l *Limiter) resize(n uint64) {
	for {
		s := l.state.Load()
		next := s&(waiting|usedMask) | n<<32
		if s&waiting == 0 {
			if l.state.CompareAndSwap(s, next) {
				return
			}
			continue
		}
		for used(next) < n && l.queue.first != nil {
			l.queue.pop()
			next++
		}
		l.settle(next)
		return
	}
}

// settle stores a state in which the waiting bit is set, without it when
// nobody waits any more. The caller holds mu.
func (l *Limiter) settle(s uint64) {
	if l.queue.first == nil {
		s &^= waiting
	}
	l.state.Store(s)
}
