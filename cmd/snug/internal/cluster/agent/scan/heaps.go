// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"time"

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
