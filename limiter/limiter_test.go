// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// waiters returns the length of the queue, and checks its links.
func (l *Limiter) waiters(t testing.TB) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, last := 0, (*waiter)(nil)
	for w := l.queue.first; w != nil; w = w.next {
		if w.prev != last || !w.queued {
			t.Fatal("the queue's links are broken")
		}
		last = w
		n++
	}
	if l.queue.last != last {
		t.Fatal("the queue's end is not its last")
	}
	s := l.state.Load()
	if (s&waiting != 0) != (n > 0) {
		t.Fatalf("waiting bit is %t with %d waiters", s&waiting != 0, n)
	}
	if n > 0 && used(s) < size(s) {
		t.Fatalf("%d wait while %d of %d permits are in use", n, used(s), size(s))
	}
	return n
}

// untilWaiting returns when n goroutines wait.
func (l *Limiter) untilWaiting(t testing.TB, n int) {
	for l.waiters(t) != n {
		runtime.Gosched()
	}
}

func (l *Limiter) check(t testing.TB, size, used, waiting int) {
	t.Helper()
	if l.Size() != size || l.InUse() != used || l.waiters(t) != waiting {
		t.Fatalf("size %d, %d in use, %d waiting; want %d, %d, %d",
			l.Size(), l.InUse(), l.waiters(t), size, used, waiting)
	}
}

func TestSizes(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, c := range []struct {
		name string
		l    *Limiter
		want int
	}{
		{"fixed", New(3), 3},
		{"zero is one", New(0), 1},
		{"negative is one", New(-5), 1},
		{"largest", New(math.MaxInt), maxSize},
		{"as many as Ps", NewProcs(1), 4},
		{"half, exact", NewProcs(0.5), 2},
		{"half of five quarters rounds up", NewProcs(0.3), 2},
		{"more than Ps", NewProcs(2.5), 10},
		{"no factor is one", NewProcs(0), 1},
		{"negative factor", NewProcs(-1), 1},
		{"not a number", NewProcs(math.NaN()), 1},
		{"infinite", NewProcs(math.Inf(1)), maxSize},
	} {
		if got := c.l.Size(); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestAcquireRelease(t *testing.T) {
	l := New(2)
	ctx := context.Background()
	if err := l.Acquire(ctx); err != nil || !l.TryAcquire() {
		t.Fatal("two permits were not to be had")
	}
	if l.TryAcquire() {
		t.Fatal("a third permit of two")
	}
	l.check(t, 2, 2, 0)
	l.Release()
	l.Release()
	l.check(t, 2, 0, 0)
}

func TestReleaseWithoutAcquirePanics(t *testing.T) {
	l := New(2)
	l.TryAcquire()
	l.Release()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
		l.check(t, 2, 0, 0)
	}()
	l.Release()
}

func TestDoneContext(t *testing.T) {
	l := New(1)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("not what ctx.Err returns"))
	for range 100 {
		if err := l.Acquire(ctx); err != context.Canceled {
			t.Fatalf("%v with a free permit, want %v", err, context.Canceled)
		}
	}
	if err := l.Go(ctx, func() { t.Error("run in spite of the error") }); err != context.Canceled {
		t.Fatalf("%v, want %v", err, context.Canceled)
	}
	l.check(t, 1, 0, 0)
}

// queueUp starts n goroutines that wait in a known order, and returns the channels on which they
// report their numbers.
func queueUp(t *testing.T, l *Limiter, ctx []context.Context) (granted, failed chan int) {
	granted, failed = make(chan int, len(ctx)), make(chan int, len(ctx))
	for i, ctx := range ctx {
		go func() {
			if l.Acquire(ctx) == nil {
				granted <- i
			} else {
				failed <- i
			}
		}()
		l.untilWaiting(t, i+1)
	}
	return granted, failed
}

func contexts(n int) ([]context.Context, []context.CancelFunc) {
	ctxs, cancels := make([]context.Context, n), make([]context.CancelFunc, n)
	for i := range ctxs {
		ctxs[i], cancels[i] = context.WithCancel(context.Background())
	}
	return ctxs, cancels
}

func TestFirstComeFirstServed(t *testing.T) {
	l := New(1)
	l.TryAcquire()
	ctx, cancel := contexts(8)
	granted, failed := queueUp(t, l, ctx)
	for _, i := range []int{0, 4, 7} { // the first, one inside, the last
		cancel[i]()
		if got := <-failed; got != i {
			t.Fatalf("%d gave up, want %d", got, i)
		}
	}
	l.check(t, 1, 1, 5)
	for _, want := range []int{1, 2, 3, 5, 6} {
		if l.TryAcquire() {
			t.Fatal("overtook those who wait")
		}
		l.Release()
		if got := <-granted; got != want {
			t.Fatalf("%d was served, want %d", got, want)
		}
	}
	l.check(t, 1, 1, 0)
	for _, c := range cancel {
		c()
	}
}

func TestSetSize(t *testing.T) {
	l := New(1)
	l.TryAcquire()
	ctx, cancel := contexts(5)
	granted, _ := queueUp(t, l, ctx)
	l.SetSize(3) // two are woken, in order
	if a, b := <-granted, <-granted; a+b != 1 {
		t.Fatalf("%d and %d were woken, want 0 and 1", a, b)
	}
	l.check(t, 3, 3, 3)
	l.SetSize(2) // no permit is taken away, and one less is passed on
	l.check(t, 2, 3, 3)
	l.Release()
	l.check(t, 2, 2, 3)
	l.Release()
	if got := <-granted; got != 2 {
		t.Fatalf("%d was served, want 2", got)
	}
	l.SetSize(0) // is 1
	l.check(t, 1, 2, 2)
	l.SetSize(10)
	<-granted
	<-granted
	l.check(t, 10, 4, 0)
	for range 4 {
		l.Release()
	}
	l.check(t, 10, 0, 0)
	for _, c := range cancel {
		c()
	}
}

func TestRefresh(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	l, fixed, set := NewProcs(1.5), New(7), NewProcs(1)
	set.SetSize(9)
	for range 3 {
		l.TryAcquire()
	}
	ctx, cancel := contexts(2)
	granted, _ := queueUp(t, l, ctx)
	runtime.GOMAXPROCS(3)
	if l.Size() != 3 {
		t.Errorf("size %d before Refresh", l.Size())
	}
	for _, l := range []*Limiter{l, fixed, set} {
		l.Refresh()
	}
	<-granted
	<-granted
	l.check(t, 5, 5, 0)
	fixed.check(t, 7, 0, 0)
	set.check(t, 9, 0, 0)
	runtime.GOMAXPROCS(1)
	l.Refresh()
	l.check(t, 2, 5, 0)
	for _, c := range cancel {
		c()
	}
}

func TestGo(t *testing.T) {
	l := New(2)
	var wg sync.WaitGroup
	var now, most atomic.Int64
	for i := range 50 {
		wg.Add(1)
		err := l.Go(context.Background(), func() {
			defer wg.Done()
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			runtime.Gosched()
			now.Add(-1)
			if i%2 == 0 {
				runtime.Goexit()
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	if most.Load() > 2 {
		t.Errorf("%d at once, want at most 2", most.Load())
	}
	for l.InUse() > 0 { // the permit is released after f has ended
		runtime.Gosched()
	}
}

func TestNoAllocations(t *testing.T) {
	l := New(1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l.Acquire(ctx) // creates ctx's channel
	l.Release()
	if n := testing.AllocsPerRun(100, func() {
		l.Acquire(ctx)
		l.Release()
	}); n != 0 {
		t.Errorf("%v allocations without contention, want 0", n)
	}
	if n := testing.AllocsPerRun(100, func() { l.Refresh() }); n != 0 {
		t.Errorf("%v allocations in Refresh, want 0", n)
	}
}

// TestStorm: goroutines acquire, wait, give up and release, while the size changes. Never are more
// permits in use than the largest size; at the end none is lost and none was created.
func TestStorm(t *testing.T) {
	const largest = 5
	for _, c := range []struct {
		name           string
		cancel, resize bool
	}{
		{"steady", false, false},
		{"cancelled", true, false},
		{"resized", false, true},
		{"cancelled and resized", true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := New(largest)
			var out, done atomic.Int64
			var wg sync.WaitGroup
			stop := make(chan struct{})
			if c.resize {
				go func() {
					defer close(stop)
					for done.Load() < 16 {
						l.SetSize(1 + rand.IntN(largest))
						runtime.Gosched()
					}
				}()
			} else {
				close(stop)
			}
			for range 16 {
				wg.Add(1)
				go func() {
					defer wg.Done()
					defer done.Add(1)
					for i := range 2000 {
						ctx, cancel := context.WithCancel(context.Background())
						if c.cancel && i%3 > 0 {
							go cancel()
						}
						if l.Acquire(ctx) == nil {
							if n := out.Add(1); n > largest {
								t.Errorf("%d permits of %d", n, largest)
							}
							if i%5 == 0 {
								runtime.Gosched()
							}
							out.Add(-1)
							l.Release()
						}
						cancel()
					}
				}()
			}
			wg.Wait()
			<-stop
			l.SetSize(largest)
			l.check(t, largest, 0, 0)
			for range largest {
				if !l.TryAcquire() {
					t.Fatal("a permit was lost")
				}
			}
			if l.TryAcquire() {
				t.Fatal("a permit was made")
			}
		})
	}
}

func ExampleLimiter_Go() {
	work := NewProcs(1) // and work.Refresh() from snug's WatchOptions.OnPlan
	var sum atomic.Int64
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Add(1)
		err := work.Go(context.Background(), func() {
			defer wg.Done()
			sum.Add(int64(i))
		})
		if err != nil {
			wg.Done()
		}
	}
	wg.Wait()
	fmt.Println(sum.Load())
	// Output: 45
}
