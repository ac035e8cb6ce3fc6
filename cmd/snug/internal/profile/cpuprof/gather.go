// SPDX-License-Identifier: Apache-2.0

package cpuprof

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

const (
	// maxWords bounds the memory for stacks: 64 MiB of addresses.
	maxWords = 8 << 20
	// maxPlaces bounds the number of different pairs of thread and stack.
	maxPlaces = 1 << 19
)

// gather merges equal samples, so that memory grows with the number of places in
// a program, not with time.
type gather struct {
	stacks map[string]int32 // from addresses as bytes to an index into pcs
	pcs    [][]uint64
	words  int
	places map[place]*Sample
	key    []byte
	lost   uint64 // samples without room
}

type place struct {
	tid    uint32
	kernel bool
	stack  int32
}

func newGather() *gather {
	return &gather{stacks: map[string]int32{}, places: map[place]*Sample{}}
}

func (g *gather) add(r record) {
	g.key = g.key[:0]
	for _, pc := range r.pcs {
		g.key = binary.NativeEndian.AppendUint64(g.key, pc)
	}
	stack, ok := g.stacks[string(g.key)]
	if !ok {
		if g.words+len(r.pcs) > maxWords || len(g.places) >= maxPlaces {
			g.lost++
			return
		}
		stack = int32(len(g.pcs))
		g.stacks[string(g.key)] = stack
		g.pcs = append(g.pcs, slices.Clone(r.pcs))
		g.words += len(r.pcs)
	}
	at := place{r.tid, r.kernel, stack}
	s := g.places[at]
	if s == nil {
		if len(g.places) >= maxPlaces {
			g.lost++
			return
		}
		s = &Sample{TID: int(r.tid), Kernel: r.kernel, PCs: g.pcs[stack]}
		g.places[at] = s
	}
	s.Count++
	// Periods are 4 ms or more at the allowed rates; one above an hour is invalid.
	s.Nanos += int64(min(r.period, 3600e9))
}

// samples returns all samples, largest first, in a deterministic order.
func (g *gather) samples() []Sample {
	all := make([]Sample, 0, len(g.places))
	for _, s := range g.places {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b Sample) int {
		return cmp.Or(cmp.Compare(b.Nanos, a.Nanos), cmp.Compare(a.TID, b.TID), slices.Compare(a.PCs, b.PCs),
			boolCompare(a.Kernel, b.Kernel))
	})
	return all
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// seconds returns the total CPU time of samples.
func seconds(samples []Sample) float64 {
	total := 0.0
	for _, s := range samples {
		total += float64(s.Nanos)
	}
	return total / math.Pow10(9)
}
