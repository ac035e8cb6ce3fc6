// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"math"

	"github.com/snug-go/snug/internal/cgroup"
)

const unreclaimableField = "memory.unreclaimable_bytes"

// charge finds the level whose memory counts against Soft and names its files.
// It runs when figures changed.
func (h *Handle) charge() {
	m := &h.last.Memory
	h.charged = h.memory.own()
	if m.Soft.State == Known && m.SoftSource.Level != "" {
		for _, l := range h.memory.levels {
			if l.path == m.SoftSource.Level {
				h.charged = l
			}
		}
	}
	stat := ""
	h.kmem.name = ""
	if h.charged != nil {
		stat = h.charged.dir + "memory.stat"
		if h.memory.V1 {
			h.kmem.name = h.charged.dir + "memory.kmem.usage_in_bytes"
		}
	}
	if h.memstat.name != stat {
		h.memstat.name, h.paged = stat, false // what this poll read is another level's
	}
}

// readOwnStat takes from v1's memory.stat what this poll wants of it, where the
// poll reads that file for its limit in any case.
func (h *Handle) readOwnStat(text []byte, p *probe) {
	if h.charged != nil && p.name == h.memstat.name {
		h.pages, h.paged = unreclaimableV1(text), true
		h.memstat.err, h.memstat.missing = p.err, p.missing
	}
}

// readUnreclaimable reads how much memory the kernel cannot take back.
func (h *Handle) readUnreclaimable() {
	v := &h.last.Memory.Unreclaimable
	*v = Value[int64]{}
	if h.charged == nil {
		file, problem := h.memory.gap.File, h.memory.gap.Why
		if file == "" {
			file, problem = h.group.name, "no memory controller"
		}
		h.last.gapOnce(unreclaimableField, file, problem)
		return
	}
	pages, own := h.pages, Of[int64](0) // own: the kernel's
	failed := &h.memstat
	if !h.paged {
		text := h.memstat.now(&h.reader)
		if h.memory.V1 {
			pages = unreclaimableV1(text)
		} else {
			pages = unreclaimableV2(text)
		}
	}
	if h.memory.V1 && pages.State == Known {
		if text := h.kmem.now(&h.reader); !h.kmem.missing {
			own, failed = sized(cgroup.Count(cgroup.Trim(text))), &h.kmem
		}
	}
	if pages.State != Known || own.State != Known {
		problem := "not understood"
		if failed.err != nil {
			problem = why(failed.err)
		}
		h.last.gapOnce(unreclaimableField, failed.name, problem)
		return
	}
	h.last.gapClosed(unreclaimableField)
	*v = Of(plus(pages.N, own.N))
}

// unreclaimableV1 is what memory.stat of v1 (kernel doc:
// admin-guide/cgroup-v1/memory.rst) says about the pages of programs, those of
// the groups below included: anonymous memory (total_rss, huge pages and all)
// and shared memory with tmpfs (total_shmem, which old kernels count as cache
// alone). The kernel's own memory has a file of its own,
// memory.kmem.usage_in_bytes, where reclaimable slab cannot be told from the
// rest and is counted: about 3 % of the page cache on ext4, and directory
// entries. Buffers of TCP sockets are not: v1 does not charge them
// to the memory limit.
func unreclaimableV1(stat []byte) Value[int64] {
	var n [2]int64
	if seen := fields(stat, []string{"total_rss", "total_shmem"}, n[:]); seen&1 == 0 {
		return Value[int64]{}
	}
	return Of(plus(n[0], n[1]))
}

// What memory.stat of v2 is searched for.
const (
	statAnon = iota
	statShmem
	statSock
	statHugetlb
	statKernel
	statReclaimable
	statStacks
	statTables
	statPercpu
	statSlab
	statFields
)

// unreclaimableV2 is the same from memory.stat of v2 (kernel doc:
// admin-guide/cgroup-v2.rst):
//
//	anon + shmem + kernel - slab_reclaimable + sock + hugetlb
//
// kernel is there since 5.18 and holds stacks, page tables, per-CPU memory, slab,
// and what zswap compresses into; before, the sum of its unreclaimable parts
// stands for it. hugetlb is there where huge pages are charged
// (memory_hugetlb_accounting).
//
// Not counted: file_dirty and file_writeback, which can be taken once they are
// written; unevictable, which puts locked file pages into one number with
// locked anonymous and shared ones, that are in the sum already: a mapped file
// under mlock(2) is not seen. Counted too much: pages given back by MADV_FREE,
// which are anon until the kernel takes them.
func unreclaimableV2(stat []byte) Value[int64] {
	var n [statFields]int64
	seen := fields(stat, []string{"anon", "shmem", "sock", "hugetlb", "kernel", "slab_reclaimable",
		"kernel_stack", "pagetables", "percpu", "slab_unreclaimable"}, n[:])
	if seen&(1<<statAnon) == 0 {
		return Value[int64]{}
	}
	own := max(0, n[statKernel]-n[statReclaimable]) // the two are not counted at one moment
	if seen&(1<<statKernel) == 0 {
		own = plus(plus(n[statStacks], n[statTables]), plus(n[statPercpu], n[statSlab]))
	}
	return Of(plus(plus(plus(n[statAnon], n[statShmem]), plus(n[statSock], n[statHugetlb])), own))
}

// fields is cgroup.Field for several keys in one pass. A bit of seen is set for each
// key that is there; none is when one of the numbers makes no sense.
func fields(b []byte, keys []string, to []int64) (seen uint) {
	for len(b) > 0 {
		var line []byte
		line, b, _ = cgroup.Cut(b, '\n')
		key, number, _ := cgroup.Cut(line, ' ')
		for i := range keys {
			if string(key) != keys[i] {
				continue
			}
			n, ok := cgroup.Count(cgroup.Trim(number))
			if !ok {
				return 0
			}
			to[i] = n
			seen |= 1 << i
			break
		}
	}
	return seen
}

// plus adds two sizes; more than there can be is the most there can be.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
