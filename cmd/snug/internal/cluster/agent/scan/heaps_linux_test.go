// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/snapshot"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

var held [][]byte

// hold allocates what the heap of the child is full of.
//
//go:noinline
func hold() (all [][]byte) {
	for range 40 {
		all = append(all, make([]byte, 1<<20))
	}
	return all
}

func TestHeapDue(t *testing.T) {
	const limit = 1000 << 20
	now := time.Date(2026, 11, 27, 2, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		used, limit int64
		growth      float64
		before      time.Duration // 0 = never
		then        int64
		want        bool
	}{
		"no limit":                        {900 << 20, 0, 0, 0, 0, false},
		"memory unknown":                  {0, limit, 0, 0, 0, false},
		"half full, at rest":              {600 << 20, limit, 0, 0, 0, false},
		"half full, at the limit in 400s": {600 << 20, limit, 1 << 20, 0, 0, true},
		"half full, at the limit in 4000": {600 << 20, limit, 1 << 20 / 10, 0, 0, false},
		"less, and fast":                  {400 << 20, limit, 100 << 20, 0, 0, false},
		"shrinking":                       {600 << 20, limit, -1 << 20, 0, 0, false},
		"three quarters":                  {750 << 20, limit, 0, 0, 0, true},
		"read a minute ago":               {760 << 20, limit, 0, time.Minute, 750 << 20, false},
		"read a minute ago, and it grew":  {820 << 20, limit, 0, time.Minute, 750 << 20, true},
		"read long ago":                   {750 << 20, limit, 0, time.Hour, 750 << 20, true},
	} {
		var before time.Time
		if c.before > 0 {
			before = now.Add(-c.before)
		}
		if got := heapDue(c.used, c.limit, c.growth, now, before, c.then); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestHeaps reads the heap of a process, and keeps it after its end.
func TestHeaps(t *testing.T) {
	child := start(t)
	child.says("ready")
	fmt.Fprintln(child.in, "hold")
	child.says("done")
	a := newScanner(t, Options{})
	at, p := find(scan(t, a), child.pid())
	if p == nil {
		t.Fatal("it is not known")
	}
	c := *at
	c.Processes = []finding.NodeProcess{*p}
	c.Unreclaimable, c.MemoryLimit = figure.New(int64(60<<20), ""), figure.New(int64(64<<20), "")
	a.heaps = heaps{} // a scan may have read it
	after := func(d time.Duration, all ...finding.Container) []finding.LastHeap {
		n := &finding.Node{Containers: all}
		a.keepHeaps(n, time.Date(2026, 11, 27, 2, 0, 0, 0, time.UTC).Add(d))
		return n.Heaps
	}
	a.budgets.sum = spent(t) // what the scan has read of others is no reason to know nothing of this one
	seen := after(0, c)
	if len(seen) != 1 || len(seen[0].Holders) == 0 || len(seen[0].Holders) > maxHolders || seen[0].Gone != nil || seen[0].PID != child.pid() {
		t.Fatalf("%+v", seen)
	}
	h := seen[0].Holders[0]
	if !strings.HasSuffix(h.Function, ".hold") || !strings.HasPrefix(h.At, "heaps_linux_test.go:") || h.Bytes < 30<<20 || h.Bytes > 60<<20 {
		t.Errorf("%+v, want 40 MiB of hold", h)
	}
	t.Logf("%v s of CPU time", seen[0].Took)
	// Neither within heapPace, nor again soon without growth.
	other := c
	other.ID = new("another")
	if seen = after(heapPace/2, c, other); len(seen) != 1 {
		t.Errorf("%d heaps: two reads within %v", len(seen), heapPace)
	}
	if seen = after(heapPace, c, other); len(seen) != 2 || seen[0].ID == nil || *seen[0].ID != "another" {
		t.Errorf("%+v", seen)
	}
	if seen = after(2*heapPace, c); seen[0].At != "2026-11-27T02:00:30Z" || seen[0].Gone == nil || seen[1].At != "2026-11-27T02:00:00Z" || seen[1].Gone != nil {
		t.Errorf("%+v", seen)
	}
	child.cmd.Process.Kill()
	child.cmd.Wait()
	seen = after(time.Hour)
	if len(seen) != 2 || seen[1].Gone == nil || *seen[1].Gone != "2026-11-27T03:00:00Z" || seen[1].At != "2026-11-27T02:00:00Z" || seen[1].Holders[0] != h {
		t.Errorf("after its end: %+v", seen)
	}
	// A process that has ended is not read.
	fresh := c
	fresh.ID = new("fresh")
	if seen = after(2*time.Hour, fresh); len(seen) != 2 {
		t.Errorf("%+v", seen)
	}
	if seen = after(time.Hour + keepHeap + time.Minute); len(seen) != 0 {
		t.Errorf("%d after a day", len(seen))
	}
}

// TestHeapsBounded: the heaps that are kept, and their texts, are bounded.
func TestHeapsBounded(t *testing.T) {
	var h heaps
	for i := range maxHeaps + 10 {
		h.keep(&keptHeap{key: fmt.Sprint(i)})
		h.keep(&keptHeap{key: fmt.Sprint(i)})
	}
	if len(h.kept) != maxHeaps || h.of("9") != nil || h.of("10") == nil {
		t.Errorf("%d heaps", len(h.kept))
	}
	if got := snapshot.Short(strings.Repeat("x", 5000)); len(got) != 203 {
		t.Errorf("a text of %d bytes", len(got))
	}
}
