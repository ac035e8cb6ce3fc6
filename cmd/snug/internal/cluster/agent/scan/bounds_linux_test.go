// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"testing"

	"github.com/snug-go/snug/limits"
)

// TestBoundsOf: what an agent allows itself fits together into its memory limit, with a tenth or more left.
func TestBoundsOf(t *testing.T) {
	for _, c := range []struct {
		limit  int64
		files  int
		open   int
		nobody bool
	}{
		{0, 20000, 20000, true},
		{-1, 7, 7, true},
		{64 << 20, 20000, 2621, false},
		{128 << 20, 20000, 5242, false},
		{128 << 20, 896, 896, false}, // ulimit -n
		{384 << 20, 20000, 15728, false},
		{1 << 40, 20000, 20000, false},
		{1 << 10, 20000, 0, false},
	} {
		b := boundsOf(c.limit, c.files)
		if b.files != c.open || (b.heap == 0) != c.nobody {
			t.Errorf("limit %d, at most %d files: %+v, want %d files", c.limit, c.files, b, c.open)
		}
		if most := int(b.heap/processBytes) + 1; b.processes != most && !c.nobody || c.nobody && b.processes != 0 {
			t.Errorf("limit %d: %d processes", c.limit, b.processes)
		}
		if sum := int64(b.files)*fileBytes + b.heap; !c.nobody && sum > c.limit/10*9 {
			t.Errorf("limit %d: %+v take %d bytes", c.limit, b, sum)
		}
	}
}

// TestFit: an agent follows its bounds: with fewer files it closes those that are open, and sees the same.
func TestFit(t *testing.T) {
	c := start(t)
	c.says("ready")
	limit, heap := int64(0), int64(-1)
	a := newScanner(t, Options{SetHeap: func(bytes int64) { heap = bytes }})
	a.own = func() (int64, int64) { return 0, limit }
	many := a.maxFiles
	for _, now := range []struct {
		limit int64
		files int
		heap  int64
		open  bool
	}{{0, many, -1, true}, {1 << 30, many, 1 << 30 / 100 * heapShare, true}, {1 << 30, 0, 1 << 30 / 100 * heapShare, false}, {0, many, 1 << 30 / 100 * heapShare, true}} {
		limit, a.maxFiles = now.limit, now.files
		d := scan(t, a)
		if _, p := find(d, c.pid()); p == nil || p.GOMAXPROCS.N != 3 {
			t.Fatalf("limit %d: %+v", limit, p)
		}
		e := a.known[c.pid()]
		if open := !e.closed; open != now.open || heap != now.heap {
			t.Errorf("limit %d, %d files: its files are open: %t, want %t; GOMEMLIMIT is %d, want %d", limit, now.files, open, now.open, heap, now.heap)
		}
	}
	if from, err := a.Scan(t.Context()); err != nil || from.Room.Files != many {
		t.Errorf("%+v, %v", from, err)
	}
}

// TestOwnMemory: the agent reads the memory of the group that it is in.
func TestOwnMemory(t *testing.T) {
	var m ownMemory
	defer m.close()
	used, limit := m.read()
	if used < 0 || limit < 0 || limit > 0 && used == 0 {
		t.Errorf("%d of %d bytes in use", used, limit)
	}
	unread := limits.Value[int64]{}
	for i, c := range []struct {
		used, hard limits.Value[int64]
		limit      int64
		known      bool
	}{
		{unread, unread, 0, false}, {limits.Of[int64](1), limits.Of[int64](100), 100, true}, {unread, unread, 100, true},
		{unread, limits.Of[int64](200), 200, true}, {limits.Of[int64](1), limits.NoLimit[int64](), 0, true},
	} {
		if i == 0 {
			m.used, m.limit = 0, 0
		}
		m.take(&limits.Memory{Unreclaimable: c.used, Hard: c.hard})
		if m.limit != c.limit || (m.used == 1) != c.known {
			t.Errorf("step %d: %d of %d bytes in use", i, m.used, m.limit)
		}
	}
}
