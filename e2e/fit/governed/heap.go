// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"syscall"
	"time"
	"unsafe"
)

// node is a part of the live heap: 144 bytes, a size class of its own, with two pointers for the
// collector to follow.
type node struct {
	links [2]*node
	_     [128]byte
}

const blockNodes = 512

// nodeBytes is the size of a node including its slot in a block.
const nodeBytes = int64(unsafe.Sizeof(node{})) + int64(unsafe.Sizeof((*node)(nil)))

// heap is a live heap.
type heap struct {
	blocks [][]*node
	nodes  int64
	seed   uint64
}

func (h *heap) bytes() int64 { return h.nodes * nodeBytes }

// grow adds nodes until the heap has at least this many bytes. Each node points at random nodes.
func (h *heap) grow(bytes int64) {
	for h.bytes() < bytes {
		last := len(h.blocks) - 1
		if last < 0 || len(h.blocks[last]) == blockNodes {
			h.blocks = append(h.blocks, make([]*node, 0, blockNodes))
			last++
		}
		n := new(node)
		for i := range n.links {
			n.links[i] = h.any()
		}
		h.blocks[last] = append(h.blocks[last], n)
		h.nodes++
	}
}

// any returns a random node; nil if there is none.
func (h *heap) any() *node {
	if h.nodes == 0 {
		return nil
	}
	h.seed = h.seed*6364136223846793005 + 1442695040888963407
	i := int64(h.seed>>33) % h.nodes
	return h.blocks[i/blockNodes][i%blockNodes]
}

// pieces is the number of allocations per operation.
const pieces = 8

// litter makes garbage of this many bytes; 8 KiB take about 6 µs.
func litter(bytes int) (sum byte) {
	var all [pieces][]byte
	for i := range all {
		all[i] = make([]byte, bytes/pieces)
		all[i][0] = byte(i)
	}
	for i := range all {
		s := sha256.Sum256(all[i])
		sum ^= s[0]
	}
	return sum
}

// foreign is memory outside of the Go runtime.
type foreign struct {
	mapped  []byte
	touched int
}

// grow touches pages of a mapping of this many bytes: in each call the pages of one tick at a rate
// per second. It reports whether all pages are touched.
func (f *foreign) grow(bytes, perSecond int64, tick time.Duration) (done bool, err error) {
	if f.mapped == nil {
		f.mapped, err = syscall.Mmap(-1, 0, int(bytes), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			return false, err
		}
		// A huge page would add 2 MiB at once instead of one page at a time.
		const noHugePage = 15 // MADV_NOHUGEPAGE of madvise(2)
		syscall.Madvise(f.mapped, noHugePage)
	}
	until := min(len(f.mapped), f.touched+int(float64(perSecond)*tick.Seconds()))
	for ; f.touched < until; f.touched += 4096 {
		f.mapped[f.touched] = 1
	}
	f.touched = min(f.touched, len(f.mapped))
	return f.touched == len(f.mapped), nil
}

func (f *foreign) drop() {
	if f.mapped != nil {
		syscall.Munmap(f.mapped)
	}
	f.mapped, f.touched = nil, 0
}
