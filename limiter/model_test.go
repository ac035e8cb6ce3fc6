// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"context"
	"testing"
)

// call is an Acquire that had to wait.
type call struct {
	cancel context.CancelFunc
	result chan error
}

// FuzzModel applies the same operations to a Limiter and to the simplest model of one, a size, a
// count and a list, and compares them after each. Two bytes encode one operation.
func FuzzModel(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 1, 1, 0, 1, 0, 2, 0, 2, 0})                         // wait, be served, give back
	f.Add([]byte{0, 1, 1, 0, 1, 0, 1, 0, 3, 1, 2, 0})                   // give up in the middle
	f.Add([]byte{1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 4, 9, 4, 0, 2, 0, 2, 0}) // grow and shrink
	f.Add([]byte{1, 0, 1, 0, 1, 0, 5, 0, 5, 1, 2, 0, 5, 0})             // give up while being served
	f.Fuzz(func(t *testing.T, ops []byte) {
		const start = 2
		l := New(start)
		size, used := start, 0
		var queue []call
		defer func() {
			for _, c := range queue {
				c.cancel()
				<-c.result
			}
		}()
		served := func() { // the first in the model's queue
			c := queue[0]
			queue = queue[1:]
			if err := <-c.result; err != nil {
				t.Fatalf("%v for the first who waits", err)
			}
			c.cancel()
		}
		for ; len(ops) >= 2 && len(queue) < 64; ops = ops[2:] {
			arg := int(ops[1])
			switch ops[0] % 6 {
			case 0: // try
				want := used < size && len(queue) == 0
				if got := l.TryAcquire(); got != want {
					t.Fatalf("TryAcquire %t, want %t", got, want)
				}
				if want {
					used++
				}
			case 1: // acquire, waiting if necessary
				ctx, cancel := context.WithCancel(context.Background())
				if used < size {
					if err := l.Acquire(ctx); err != nil {
						t.Fatal(err)
					}
					used++
					cancel()
					break
				}
				c := call{cancel, make(chan error, 1)}
				go func() { c.result <- l.Acquire(ctx) }()
				queue = append(queue, c)
				l.untilWaiting(t, len(queue))
			case 2: // release
				if used == 0 {
					break
				}
				l.Release()
				if used > size || len(queue) == 0 {
					used--
				} else {
					served()
				}
			case 3: // a waiter gives up
				if len(queue) == 0 {
					break
				}
				i := arg % len(queue)
				queue[i].cancel()
				if err := <-queue[i].result; err != context.Canceled {
					t.Fatalf("%v for one who gave up", err)
				}
				queue = append(queue[:i:i], queue[i+1:]...)
			case 4: // resize
				size = max(1, arg%8)
				l.SetSize(arg % 8)
				for used < size && len(queue) > 0 {
					used++
					served()
				}
			case 5: // the first waiter gives up at the moment it is served
				if len(queue) == 0 || used > size {
					break
				}
				go queue[0].cancel()
				l.Release()
				err := <-queue[0].result
				queue = queue[1:]
				switch {
				case err == nil: // it has the permit
				case len(queue) > 0:
					served() // it goes to the next one
				default:
					used--
				}
			}
			l.check(t, size, used, len(queue))
		}
	})
}
