// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"math"

	"github.com/snug-go/snug/internal/cgroup"
)

const unreclaimableField = "memory.unreclaimable_bytes"

// charge finds the level whose memory counts against Soft and names its files. It runs when
// figures changed.
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
		h.memstat.name, h.paged = stat, false // this poll has read another level's
	}
}

// readOwnStat parses v1's memory.stat when the poll has read it for the limit, so that the file
// is read once.
func (h *Handle) readOwnStat(text []byte, p *probe) {
	if h.charged != nil && p.name == h.memstat.name {
		h.pages, h.paged = unreclaimableV1(text), true
		h.memstat.err, h.memstat.missing = p.err, p.missing
	}
}

// readUnreclaimable reads how much memory the kernel cannot reclaim.
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
	pages, own := h.pages, Of[int64](0) // own: the kernel's own memory
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
			own, failed = valueOf(cgroup.Count(cgroup.Trim(text))), &h.kmem
		}
	}
	if pages.State != Known || own.State != Known {
		problem := "not understood"
		if failed.err != nil {
			problem = errText(failed.err)
		}
		h.last.gapOnce(unreclaimableField, failed.name, problem)
		return
	}
	h.last.gapClosed(unreclaimableField)
	*v = Of(plus(pages.N, own.N))
}

// unreclaimableV1 returns the pages of programs from v1's memory.stat (kernel doc:
// admin-guide/cgroup-v1/memory.rst), including the groups below: anonymous memory (total_rss,
// with huge pages) and shared memory with tmpfs (total_shmem; old kernels count it as cache
// only). The kernel's own memory is in memory.kmem.usage_in_bytes. It includes reclaimable
// slab, which cannot be separated: about 3 % of the page cache on ext4, and directory entries.
// TCP socket buffers are not included: v1 does not charge them to the memory limit.
func unreclaimableV1(stat []byte) Value[int64] {
	var n [2]int64
	if seen := fields(stat, []string{"total_rss", "total_shmem"}, n[:]); seen&1 == 0 {
		return Value[int64]{}
	}
	return Of(plus(n[0], n[1]))
}

// The fields read from v2's memory.stat.
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

// unreclaimableV2 is the same from v2's memory.stat (kernel doc: admin-guide/cgroup-v2.rst):
//
//	anon + shmem + kernel - slab_reclaimable + sock + hugetlb
//
// kernel exists since 5.18 and includes stacks, page tables, per-CPU memory, slab and zswap's
// compressed pages; on older kernels the sum of its unreclaimable parts replaces it. hugetlb
// exists if huge pages are charged (memory_hugetlb_accounting).
//
// Not counted: file_dirty and file_writeback, which can be reclaimed once written, and
// unevictable, which adds locked file pages to locked anonymous and shared ones that the sum
// already includes; so a mapped file under mlock(2) is missed. Overcounted: pages freed with
// MADV_FREE, which stay anon until the kernel reclaims them.
func unreclaimableV2(stat []byte) Value[int64] {
	var n [statFields]int64
	seen := fields(stat, []string{"anon", "shmem", "sock", "hugetlb", "kernel", "slab_reclaimable",
		"kernel_stack", "pagetables", "percpu", "slab_unreclaimable"}, n[:])
	if seen&(1<<statAnon) == 0 {
		return Value[int64]{}
	}
	own := max(0, n[statKernel]-n[statReclaimable]) // the two are not read at the same instant
	if seen&(1<<statKernel) == 0 {
		own = plus(plus(n[statStacks], n[statTables]), plus(n[statPercpu], n[statSlab]))
	}
	return Of(plus(plus(plus(n[statAnon], n[statShmem]), plus(n[statSock], n[statHugetlb])), own))
}

// fields is cgroup.Field for several keys in one pass. It sets a bit of seen for each key
// found, and none if a number is malformed.
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

// plus adds two sizes, capped at the largest int64.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
