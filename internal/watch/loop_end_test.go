// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package watch

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

func TestLoopEnds(t *testing.T) {
	for _, c := range []struct {
		name    string
		how     func(w *world, l *Loop, done chan struct{})
		failure string
		undone  int
	}{
		{"the context ends", func(w *world, l *Loop, done chan struct{}) { close(done) }, "", 0},
		{"undo", func(w *world, l *Loop, done chan struct{}) { l.Undo(); l.Undo() }, "", 2},
		{"a later fit takes over", func(w *world, l *Loop, done chan struct{}) { w.do(func() { w.taken = true }) }, "", 0},
		{"reading panics", func(w *world, l *Loop, done chan struct{}) { w.do(func() { w.broken = true }) }, "broken", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{quota: 8, memory: 512 * mib, busy: true}
				l, done := watching(w, Config{})
				time.Sleep(3500 * time.Millisecond)
				c.how(w, l, done)
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if s := l.Stats(); !s.Ended || s.Failure != c.failure || w.undone != c.undone || !w.closed {
					t.Errorf("ended %v, failure %q, undone %d, files closed %v; want true, %q, %d, true", s.Ended, s.Failure, w.undone, w.closed, c.failure, c.undone)
				}
			})
		})
	}
}

func TestACallbackThatPanics(t *testing.T) {
	for failure, callback := range map[string]func(){"theirs": func() { panic("theirs") }, "runtime.Goexit": runtime.Goexit} {
		synctest.Test(t, func(t *testing.T) {
			w := &world{quota: 8, memory: 512 * mib, busy: true}
			l, _ := watching(w, Config{OnPlan: func(Update) { callback() }})
			time.Sleep(1500 * time.Millisecond)
			w.do(func() { w.memory = 256 * mib })
			time.Sleep(3 * time.Second)
			if s := l.Stats(); !s.Ended || s.Failure != failure {
				t.Errorf("ended %v, failure %q; want %q", s.Ended, s.Failure, failure)
			}
			w.expect(t, 8, less(256*mib))
		})
	}
}

func TestIdleIsLookedAtLess(t *testing.T) {
	polls := func(busy bool) (n int64) {
		synctest.Test(t, func(t *testing.T) {
			w := &world{quota: 8, memory: 512 * mib, busy: busy}
			l, done := watching(w, Config{})
			time.Sleep(10 * time.Minute)
			n = l.Stats().Polls
			close(done)
		})
		return n
	}
	if busy, idle := polls(true), polls(false); busy < 595 || idle > busy/3 || idle < 100 {
		t.Errorf("%d looks in 10 minutes of work, %d in 10 idle minutes; want 600 and a quarter of it", busy, idle)
	}
}
