// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"io"
	"slices"
	"sync"

	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// gathered reads memory. The reads that are foreseen, which are those of the look before, are made
// with one system call, in their order. Each serves one read: what is read again is read anew, or was
// foreseen twice.
type gathered struct {
	mem   io.ReaderAt
	ahead []proc.Range // foreseen and not used yet
	data  []byte       // of ahead, as far as it could be read
	room  *[]byte      // for data
	reads []proc.Range // all reads
}

// gather foresees the same reads as before; none = it makes each when it is asked for.
func gather(p *proc.Process, mem io.ReaderAt, before []proc.Range) *gathered {
	g := &gathered{mem: mem, ahead: before, reads: make([]proc.Range, 0, len(before))}
	if len(before) > 0 {
		g.room = rooms.Get().(*[]byte)
		g.data = p.Gather(before, *g.room)
		if g.data != nil {
			*g.room = g.data[:0]
		}
	}
	return g
}

// rooms are kept for the next process: what was read of one is a few kilobytes.
var rooms = sync.Pool{New: func() any { return new([]byte) }}

// done ends the use of what was taken.
func (g *gathered) done() {
	if g.room != nil {
		rooms.Put(g.room)
	}
	g.room, g.data, g.ahead = nil, nil, nil
}

func (g *gathered) ReadAt(b []byte, addr int64) (int, error) {
	if foreseen := g.take(addr, len(b)); foreseen != nil {
		return copy(b, foreseen), nil
	}
	return g.mem.ReadAt(b, addr)
}

// take returns the bytes of a read that was foreseen, valid until done; nil = it was not.
func (g *gathered) take(addr int64, size int) []byte {
	r := proc.Range{Addr: uint64(addr), Size: size}
	if size == 0 {
		return nil
	}
	g.reads = append(g.reads, r)
	at := 0
	for i, one := range g.ahead {
		if at += one.Size; at > len(g.data) {
			break
		}
		if one == r {
			taken := g.data[at-size : at : at]
			g.ahead, g.data = g.ahead[i+1:], g.data[at:]
			return taken
		}
	}
	return nil
}

// keep returns the reads to foresee the next time: before if they are the same.
func (g *gathered) keep(before []proc.Range) []proc.Range {
	if slices.Equal(g.reads, before) {
		return before
	}
	return g.reads
}
