// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// talker is a stderr that sees who talks at the same time.
type talker struct {
	t       *testing.T
	talking atomic.Int32
	said    []byte
}

func (w *talker) Write(p []byte) (int, error) {
	if n := w.talking.Add(1); n != 1 {
		w.t.Errorf("%d at the same time", n)
	}
	for range 100 {
		runtime.Gosched()
	}
	w.said = append(w.said, p...)
	w.talking.Add(-1)
	return len(p), nil
}

// TestNotes: servers talk from several goroutines, and each waits for its turn.
func TestNotes(t *testing.T) {
	w := &talker{t: t}
	u := &ui{err: w}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { u.note("%s", "a") })
	}
	all.Wait()
	if got, want := string(w.said), strings.Repeat("snug: a\n", 8); got != want {
		t.Errorf("%q", got)
	}
}
