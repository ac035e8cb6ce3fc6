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
		ContainerNames: c.ContainerNames, PodUID: c.PodUID, ID: c.ID, Unit: c.Unit, PID: largest.PID, Name: snapshot.Short(largest.Name),
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
		h.Holders = append(h.Holders, finding.HeapHolder{Function: snapshot.Short(one.Function), At: snapshot.Short(one.At), For: snapshot.Short(one.For), Bytes: int64(one.N)})
	}
	return nil
}
