// SPDX-License-Identifier: Apache-2.0

package holders

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// TestHostileGoroutines: no list of goroutines makes it read more than the bounds, and what cannot
// be read is counted.
func TestHostileGoroutines(t *testing.T) {
	r := simulated(t, 32)
	list := uint64(0x9000)
	for what, c := range map[string]struct {
		change func(m *moving)
		fails  bool
		unread int
	}{
		"as it is":         {func(*moving) {}, false, 0},
		"not started":      {func(m *moving) { m.set(simBuckets+8, 0) }, true, 0},
		"too many":         {func(m *moving) { m.set(simBuckets+8, 1<<40) }, true, 0},
		"a list elsewhere": {func(m *moving) { m.set(simBuckets, 1<<62) }, true, 0},
		"an address":       {func(m *moving) { m.set(list, ^uint64(0)) }, false, 1},
		"no stack":         {func(m *moving) { m.set(simG+0x1000, 1<<63) }, false, 1},
		"a huge stack":     {func(m *moving) { m.set(simG+0x1000+8, 1<<62) }, false, 1},
		"a copied stack":   {func(m *moving) { m.set(simG+0x1000+80, statusCopyStack) }, false, 1},
		"an odd SP":        {func(m *moving) { m.set(simG+0x1000+16, simStack+1) }, false, 1},
		"an end":           {func(m *moving) { m.set(simG+0x1000+80, 6) }, false, 0},
		"no state":         {func(m *moving) { m.set(simG+0x1000+80, 77) }, false, 0},
		"no PC":            {func(m *moving) { m.set(simG+0x1000+24, 0) }, false, 0},
		"a reason":         {func(m *moving) { m.set(simG+0x1000+96, 255) }, false, 0},
		"another start":    {func(m *moving) { m.set(simG+0x1000+112, r.file.TextStart+65) }, false, 1},
		"other fields": {func(m *moving) {
			for _, g := range []uint64{0x1000, 0x2000} {
				m.set(simG+g+112, r.file.TextStart+65)
			}
		}, true, 0},
	} {
		const first, second = simG + 0x1000, simG + 0x2000
		m := &moving{parts: map[uint64][]byte{
			simBuckets: make([]byte, 64), list: make([]byte, 16), simStack: make([]byte, 48),
			first: make([]byte, 128), second: make([]byte, 128),
		}}
		m.set(simBuckets, list)
		m.set(simBuckets+8, 2)
		for i, g := range []uint64{first, second} {
			m.set(list+8*uint64(i), g)
			m.set(g, simStack)
			m.set(g+8, simStack+48)
			m.set(g+16, simStack)
			m.set(g+24, r.file.TextStart+64)
			m.set(g+80, statusWaiting)
			m.set(g+88, uint64(7+i))
		}
		c.change(m)
		r.mem = m
		r.at = gobin.Records{AllGs: gobin.Var{Addr: simBuckets}, Offsets: simOffsets}
		got, err := r.Goroutines()
		if (err != nil) != c.fails {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if err == nil && got.Unread != c.unread {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

// TestManyGoroutines: a long list ends when a hundredth of it is not in memory, or when the budget does, and then what was
// looked at is spread over the list.
func TestManyGoroutines(t *testing.T) {
	const n, list, first = 3 * inOrder, 0x4000_0000, 0x10_0000
	for what, c := range map[string]struct {
		calls int64
		in    int // of the list, that are in memory
		fails bool
		reads int // at most
		left  int
	}{
		"nothing is there":         {1 << 30, 0, true, n/100 + 10, 0},
		"half is there":            {1 << 30, n / 2, true, 2 * n, 0},
		"all are there":            {1 << 30, n, false, 2 * n, 0},
		"more than the budget":     {1000, n, false, 1010, n - 997},
		"and half of it is there":  {1000, n / 2, false, 1010, 0},
		"no more than the list":    {3, n, false, 10, n},
		"not even enough for that": {1, n, true, 10, 0},
	} {
		r := simulated(t, 32)
		m := &moving{parts: map[uint64][]byte{simBuckets: make([]byte, 64), list: make([]byte, 8*n), first: make([]byte, 128*c.in+8)}}
		m.set(simBuckets, list)
		m.set(simBuckets+8, n)
		for i := range uint64(n) {
			le.PutUint64(m.parts[list][8*i:], first+128*i)
			if i < uint64(c.in) { // it has no stack while it runs
				g := m.parts[first][128*i:]
				le.PutUint64(g[80:], statusRunning)
				le.PutUint64(g[88:], 7+i)
			}
		}
		r.budget = proc.NewBudget(t.Context(), proc.Amount{Bytes: 1 << 40, Calls: c.calls, Time: time.Hour}, nil)
		r.mem = r.budget.Within(m)
		r.at = gobin.Records{AllGs: gobin.Var{Addr: simBuckets}, Offsets: simOffsets}
		got, err := r.Goroutines()
		if (err != nil) != c.fails || m.reads > c.reads {
			t.Errorf("%s: %v, %d reads", what, err, m.reads)
		}
		if err == nil && (c.left > 0 && got.Left != c.left || got.Total+got.Runtime+got.Unread+got.Left != n) {
			t.Errorf("%s: %d, %d left", what, got.Total, got.Left)
		}
		if what == "more than the budget" && (len(got.Groups) != 1 || got.Groups[0].IDs[1] != 7+4) {
			t.Errorf("%s: %+v", what, got.Groups)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := simulated(t, 32)
	r.budget = proc.NewBudget(ctx, Budget, nil)
	r.mem = r.budget.Within(r.mem)
	cancel()
	if _, err := r.Heap(); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
