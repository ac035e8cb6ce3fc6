// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/internal/hook"
)

// asker continually requests dry runs of a pod's creation, one after the other.
type asker struct {
	stop  atomic.Bool
	group sync.WaitGroup

	// Results, valid after the end: asked counts the requests, refused the refusals, missed the
	// pods that were neither given anything nor skipped; longest is the longest request.
	asked, refused, missed int
	longest                time.Duration
}

// ask runs an asker until it is stopped or the test ends.
func (f *fleet) ask(t testing.TB) *asker {
	a := &asker{}
	a.group.Go(func() {
		for !a.stop.Load() {
			begin := time.Now()
			answer := f.Create(t, "/api/v1/namespaces/cart/pods?dryRun=All", probe(a.asked))
			a.longest = max(a.longest, time.Since(begin))
			a.asked++
			if !answer.OK() {
				t.Errorf("a pod was refused: %d %s", answer.Code, answer.Message())
				a.refused++
			} else if _, said := hook.Stored(answer.Object); said == "" {
				a.missed++
			}
			time.Sleep(5 * time.Millisecond) // leave CPU time to the processes under test
		}
	})
	t.Cleanup(a.end)
	return a
}

func (a *asker) end() {
	a.stop.Store(true)
	a.group.Wait()
}
