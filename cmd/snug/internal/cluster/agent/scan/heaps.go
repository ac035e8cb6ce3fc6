// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/snapshot"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/examine"
	"github.com/snug-go/snug/cmd/snug/internal/process/holders"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// The agent reads who holds the memory of a container that comes near its memory limit, because
// after the OOM kill there is nothing to read.

const (
	// heapPace is the least time between two reads on the node. A read takes a pass over the
	// functions of the program: measured were 5 ms of CPU time for a small one, and 50 ms for
	// Prometheus.
	heapPace = 30 * time.Second
	// heapAgain is the time after which a container's heap is read again, unless its memory has
	// grown by a heapStep-th of the limit since.
	heapAgain = 5 * time.Minute
	heapStep  = 20
	// heapSoon is the time to the limit, at the pace of the last scans, from which it is read
	// when half full.
	heapSoon = 10 * time.Minute
	// maxHeaps bounds the containers whose heap is kept, keepHeap how long after they are gone.
	maxHeaps = 64
	keepHeap = 24 * time.Hour
	// maxHolders bounds what is kept of one: with texts of snapshot.Short 4 KB.
	maxHolders = 5
	// maxSites and maxSiteCalls bound the memory of a read to about 15 MB.
	maxSites, maxSiteCalls = 1 << 14, 1 << 19
)

// heaps are the heaps last read.
type heaps struct {
	kept []*keptHeap // last read first, one of each container
	last time.Time   // of the last read
}

type keptHeap struct {
	finding.LastHeap
	key        string    // keyOfContainer
	read, gone time.Time // gone is zero while the container is there
}

// of returns a container's heap; nil if there is none.
func (h *heaps) of(key string) *keptHeap {
	for _, one := range h.kept {
		if one.key == key {
			return one
		}
	}
	return nil
}

// heapDue decides whether a heap is read. used and limit are bytes; growth is bytes a second, 0 if
// unknown. before is the last read of the container and then its memory at that time; the zero
// time = there was none.
func heapDue(used, limit int64, growth float64, now, before time.Time, then int64) bool {
	if limit <= 0 || used <= 0 {
		return false
	}
	near := used >= limit/4*3
	toward := used >= limit/2 && growth > 0 && float64(limit-used)/growth < heapSoon.Seconds()
	if !near && !toward {
		return false
	}
	return before.IsZero() || now.Sub(before) >= heapAgain || used-then >= limit/heapStep
}

// keep adds a heap in place of the container's last one. It forgets the one read longest ago if
// there are too many.
func (h *heaps) keep(one *keptHeap) {
	all := []*keptHeap{one}
	for _, other := range h.kept {
		if other.key != one.key && len(all) < maxHeaps {
			all = append(all, other)
		}
	}
	h.kept = all
}

// settle notes which containers are gone, and forgets those long gone.
func (h *heaps) settle(there map[string]bool, now time.Time) {
	var all []*keptHeap
	for _, one := range h.kept {
		switch {
		case there[one.key]:
			one.gone, one.Gone = time.Time{}, nil
		case one.gone.IsZero():
			one.gone, one.Gone = now, new(now.Format(time.RFC3339))
		}
		if one.gone.IsZero() || now.Sub(one.gone) <= keepHeap {
			all = append(all, one)
		}
	}
	h.kept = all
}

// keepHeaps reads at most one heap, forgets the old ones, and adds all to the document.
func (s *Scanner) keepHeaps(d *finding.Node, now time.Time) {
	if s.opts.Outside {
		return
	}
	there := map[string]bool{}
	var next *finding.Container
	for i := range d.Containers {
		c := &d.Containers[i]
		k := snapshot.KeyOf(c)
		there[k] = true
		old := s.heaps.of(k)
		if old == nil {
			old = &keptHeap{}
		}
		used, known := c.Unreclaimable.Get()
		limit, limited := c.MemoryLimit.Get()
		if known && limited && heapDue(used, limit, s.trends.Pace(k, s.opts.Interval), now, old.read, old.Memory) &&
			(next == nil || float64(used)/float64(limit) > float64(next.Unreclaimable.N)/float64(next.MemoryLimit.N)) {
			next = c
		}
	}
	if next != nil && now.Sub(s.heaps.last) >= heapPace {
		s.heaps.last = now
		if h := s.readHeap(next); h != nil {
			h.At = now.Format(time.RFC3339)
			s.heaps.keep(&keptHeap{LastHeap: *h, key: snapshot.KeyOf(next), read: now})
		}
	}
	s.heaps.settle(there, now)
	for _, one := range s.heaps.kept {
		d.Heaps = append(d.Heaps, one.LastHeap)
	}
}

// readHeap reads the heap of a container's largest Go process; nil if that has ended.
func (s *Scanner) readHeap(c *finding.Container) *finding.LastHeap {
	largest := &c.Processes[0]
	for i := range c.Processes {
		if p := &c.Processes[i]; p.Memory.N > largest.Memory.N {
			largest = p
		}
	}
	known := s.known[largest.PID]
	if known == nil {
		return nil
	}
	p, err := proc.Open(largest.PID)
	if err != nil {
		return nil
	}
	defer p.Close()
	if first := p.First(); !first.Same(&known.last.Go.Stat) {
		return nil
	}
	h := &finding.LastHeap{
		ContainerNames: c.ContainerNames, PodUID: c.PodUID, ID: c.ID, Unit: c.Unit,
		PID: largest.PID, Name: snapshot.Short(largest.Name),
		Memory: c.Unreclaimable.N, Limit: c.MemoryLimit.N, Holders: []finding.HeapHolder{},
	}
	begin := proc.CPUTime()
	err = holding(p, proc.NewBudget(s.budgets.ctx, heapLook, nil), h)
	if p.Same() != nil {
		return nil // it ended meanwhile
	}
	h.Took = (proc.CPUTime() - begin).Seconds()
	if err != nil {
		h.Why = snapshot.Short(err.Error())
	} else if len(h.Holders) == 0 {
		h.Why = "the runtime's profile has no live object"
	}
	return h
}

// holding adds the functions that hold most.
func holding(p *proc.Process, b *proc.Budget, h *finding.LastHeap) error {
	r, err := holders.OpenProcess(p, b)
	if err != nil {
		return err
	}
	defer r.Close()
	r.Bound(maxSites, maxSiteCalls)
	heap, err := r.Heap()
	if err != nil {
		return err
	}
	for _, one := range examine.Holding(heap, r.NewNames(), maxHolders) {
		function, at, what := snapshot.Short(one.Function), snapshot.Short(one.At), snapshot.Short(one.For)
		h.Holders = append(h.Holders, finding.HeapHolder{Function: function, At: at, For: what, Bytes: int64(one.N)})
	}
	return nil
}
