// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"

	"github.com/snug-go/snug"
)

func TestWatchFromManySides(t *testing.T) {
	knobs(t)
	before := runtime.GOMAXPROCS(0)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var all sync.WaitGroup
	for i := range 6 {
		all.Add(1)
		go func() {
			defer all.Done()
			for n := range 15 {
				o := watched()
				o.MemoryLimit += int64(i+n) << 20
				calls := 0 // unguarded: calls must not overlap
				o.OnPlan = func(p snug.Plan) {
					calls++
					if w := snug.Current(); w != nil {
						w.Stats()
						w.Plan()
						if n%3 == 0 {
							w.Undo()
						}
					}
					if n%5 == 0 {
						p, err := snug.Fit(hinted)
						if err != nil {
							t.Error(err)
						}
						p.Undo()
					}
				}
				w, err := snug.Watch(ctx, o)
				if err != nil {
					t.Error(err)
				}
				runtime.GC()
				if n%2 == 0 {
					go w.Undo()
					w.Undo()
				}
			}
		}()
	}
	all.Wait()
	last := watch(t, ctx, watched())
	last.Undo()
	eventually(t, "the end", func() bool { return len(goroutines()) == 0 })
	if n, m := runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1); n != before || m != math.MaxInt64 {
		t.Errorf("GOMAXPROCS = %d, GOMEMLIMIT = %d, want %d and none", n, m, before)
	}
}

func TestADryWatchBesideAFit(t *testing.T) {
	knobs(t)
	fitted := fit(t, hinted)
	defer fitted.Undo()
	o := watched()
	o.DryRun, o.MemoryLimit = true, 256<<20
	w := watch(t, context.Background(), o)
	eventually(t, "a few looks", func() bool { return w.Stats().Polls > 5 })
	p, s := w.Plan(), w.Stats()
	if p.GOMEMLIMIT.Action != snug.ActionWould || p.GOMEMLIMIT.Value != 256<<20-256<<20/10 || len(s.GivenUp) != 0 || s.Changes != 0 {
		t.Errorf("plan %+v, given up %v; want it reported and nothing else", p.GOMEMLIMIT, s.GivenUp)
	}
	w.Undo()
	if m := debug.SetMemoryLimit(-1); m != hintedMemory {
		t.Errorf("GOMEMLIMIT = %d, want the fit's", m)
	}
	eventually(t, "the end", func() bool { return len(goroutines()) == 0 })
}
