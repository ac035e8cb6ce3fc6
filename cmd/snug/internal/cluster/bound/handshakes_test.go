// SPDX-License-Identifier: Apache-2.0

package bound

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
)

// TestHandshakes: the newest that waits is the next, and one that gives up takes no turn with it.
func TestHandshakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h Handshakes
		most := runtime.GOMAXPROCS(0)
		for range most {
			if !h.enter(t.Context()) {
				t.Fatal("no turn")
			}
		}
		var got []int
		next := func(i int, ctx context.Context) {
			go func() {
				if h.enter(ctx) {
					got = append(got, i)
				}
			}()
			synctest.Wait()
		}
		gone, leave := context.WithCancel(t.Context())
		for i := range 3 {
			next(i, t.Context())
		}
		next(3, gone)
		next(4, t.Context())
		leave()
		synctest.Wait()
		for range 4 {
			h.leave()
			synctest.Wait()
		}
		if !slices.Equal(got, []int{4, 2, 1, 0}) {
			t.Errorf("in the order %v", got)
		}
		for range most {
			h.leave()
		}
		if h.busy != 0 || len(h.waiting) != 0 {
			t.Errorf("%d are busy, %d wait", h.busy, len(h.waiting))
		}
	})
}
