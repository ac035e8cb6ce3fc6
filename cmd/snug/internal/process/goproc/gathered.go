// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"io"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// gathered reads memory. The reads that are foreseen, which are those of the look before, are made
// with one system call, in their order. Each serves one read: what is read again is read anew, or was
// foreseen twice.
type gathered struct {
	mem   io.ReaderAt
	ahead []proc.Range // foreseen and not used yet
	data  []byte       // of ahead, as far as it could be read
	reads []proc.Range // all reads
}

// gather foresees the same reads as before; none = it makes each when it is asked for.
func gather(p *proc.Process, mem io.ReaderAt, before []proc.Range) *gathered {
	return &gathered{mem: mem, ahead: before, data: p.Gather(before), reads: make([]proc.Range, 0, len(before))}
}

func (g *gathered) ReadAt(b []byte, addr int64) (int, error) {
	r := proc.Range{Addr: uint64(addr), Size: len(b)}
	if r.Size > 0 {
		g.reads = append(g.reads, r)
	}
	at := 0
	for i, one := range g.ahead {
		if at += one.Size; at > len(g.data) {
			break
		}
		if one == r {
			copy(b, g.data[at-r.Size:])
			g.ahead, g.data = g.ahead[i+1:], g.data[at:]
			return r.Size, nil
		}
	}
	return g.mem.ReadAt(b, addr)
}

// keep returns the reads to foresee the next time: before if they are the same.
func (g *gathered) keep(before []proc.Range) []proc.Range {
	if slices.Equal(g.reads, before) {
		return before
	}
	return g.reads
}
