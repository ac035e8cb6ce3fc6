// SPDX-License-Identifier: Apache-2.0

// Package limiter bounds the number of goroutines that do something at once. The bound can follow
// GOMAXPROCS: CPU-bound work should use as many goroutines as there are Ps, and that number
// changes when a container is resized.
//
// A Limiter does not read GOMAXPROCS by itself. Call Refresh when it has changed:
//
//	work := limiter.NewProcs(1)
//	w, err := snug.Watch(ctx, snug.WatchOptions{OnPlan: func(snug.Plan) { work.Refresh() }})
//
// and around the work
//
//	if err := work.Acquire(ctx); err != nil {
//		return err
//	}
//	defer work.Release()
//
// Permits are granted in the order in which they were requested. A Limiter has no goroutine of its
// own and needs no closing.
//
// All permits have the same weight. For requests of different weights, but with a fixed size, use
// golang.org/x/sync/semaphore.
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

// Limiter grants permits, at most its size at once. Make one with New or NewProcs. Its methods are
// safe for concurrent use; it must not be copied.
type Limiter struct {
	// state is everything uncontended calls need, in one word:
	//
	//	bit 63     a goroutine is waiting: every call goes through mu
	//	bits 32-62 size
	//	bits 0-31  permits in use, more than size after a shrink
	//
	// Bit 63 is set only while no permit is free, so new callers, who take free permits, cannot
	// overtake waiting ones. While it is set, only the holder of mu changes the word, which
	// makes passing on a permit simple.
	state atomic.Uint64

	mu     sync.Mutex
	queue  queue
	factor float64 // permits per P; 0 if the size is fixed
}

const (
	waiting  = 1 << 63
	sizeOne  = 1 << 32
	usedMask = sizeOne - 1
)

func size(s uint64) uint64 { return s &^ waiting >> 32 }
func used(s uint64) uint64 { return s & usedMask }

// New returns a Limiter with a fixed size of n permits. An n below 1 counts as 1.
func New(n int) *Limiter {
	l := &Limiter{}
	l.state.Store(clamp(float64(n)) << 32)
	return l
}

// NewProcs returns a Limiter whose size is factor times GOMAXPROCS, rounded up, and at least 1, even
// if factor is 0, negative or NaN. It reads GOMAXPROCS now and whenever you call Refresh.
func NewProcs(factor float64) *Limiter {
	if !(factor > 0) { // also NaN
		factor = math.SmallestNonzeroFloat64 // size 1, but not fixed
	}
	l := &Limiter{factor: factor}
	l.state.Store(l.procs() << 32)
	return l
}

// Acquire waits for a permit and returns nil once it has one; call Release to return it. If ctx is
// done first, or already, Acquire takes no permit and returns ctx.Err, even if a permit is free.
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

// TryAcquire takes a permit if one is free and no goroutine is waiting, and reports whether it
// did.
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

// Release returns a permit. It panics if none is in use: like unlocking an unlocked mutex, that is
// a bug in the program, and a Limiter with extra permits would no longer limit.
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

// Go waits for a permit like Acquire, then runs f in a new goroutine, which releases the permit
// when f ends, even by panic or runtime.Goexit. Go returns as soon as f is started; if it returns
// an error, f is not run.
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

// Size returns the number of permits that can be in use at once.
func (l *Limiter) Size() int { return int(size(l.state.Load())) }

// InUse returns the number of permits in use. After the size was reduced it can exceed Size.
func (l *Limiter) InUse() int { return int(used(l.state.Load())) }

// SetSize sets the size to n, at least 1, and fixes it: Refresh no longer changes it. A smaller
// size takes effect as permits are released. A larger one lets waiting callers go on at once.
func (l *Limiter) SetSize(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.factor = 0
	l.resize(clamp(float64(n)))
}

// Refresh sets the size of a Limiter made by NewProcs from the current GOMAXPROCS, with the effects of
// SetSize. On any other Limiter it does nothing. It takes the scheduler's lock briefly, so call it
// where GOMAXPROCS changes, for instance in snug's WatchOptions.OnPlan, and not for each request.
func (l *Limiter) Refresh() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.factor > 0 {
		l.resize(l.procs())
	}
}

func (l *Limiter) procs() uint64 { return clamp(l.factor * float64(runtime.GOMAXPROCS(0))) }

func clamp(x float64) uint64 { return uint64(min(max(math.Ceil(x), 1), maxSize)) }

// wait is the slow path of Acquire, for when no permit is free.
func (l *Limiter) wait(ctx context.Context, done <-chan struct{}) error {
	l.mu.Lock()
	for {
		s := l.state.Load()
		if s&waiting != 0 {
			break
		}
		if used(s) < size(s) { // one was released meanwhile
			if l.state.CompareAndSwap(s, s+1) {
				l.mu.Unlock()
				return nil
			}
		} else if l.state.CompareAndSwap(s, s|waiting) {
			break
		}
	}
	// Waiters are not pooled: a channel made inside a testing/synctest bubble must not be used
	// outside it.
	w := &waiter{ready: make(chan struct{})}
	l.queue.push(w)
	l.mu.Unlock()

	select {
	case <-w.ready:
		select {
		case <-done: // both are ready: a done ctx is an error
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
	} else { // it was granted a permit: pass it on
		l.giveBack()
	}
	return ctx.Err()
}

// giveBack is Release for a caller that holds mu.
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

// pass gives a permit in use to the first waiter, or frees it if more permits are in use than the
// size. The caller holds mu and has seen the waiting bit.
func (l *Limiter) pass() {
	s := l.state.Load()
	if used(s) > size(s) {
		l.state.Store(s - 1)
		return
	}
	l.queue.pop()
	l.settle(s)
}

// resize sets the size and grants free permits to waiters. The caller holds mu.
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

// settle stores a state that has the waiting bit, and clears the bit if there are no waiters left.
// The caller holds mu.
func (l *Limiter) settle(s uint64) {
	if l.queue.first == nil {
		s &^= waiting
	}
	l.state.Store(s)
}
