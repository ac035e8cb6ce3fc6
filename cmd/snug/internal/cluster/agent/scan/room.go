// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"cmp"
	"maps"
	"math"
	"runtime/debug"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/snapshot"
	"github.com/snug-go/snug/limits"
)

// An agent looks at no more processes than its memory is for. Beyond that whole containers are left out, those with
// most processes first, so that the figures of the others are complete. What is left out is counted.

const (
	// fullShare is the share of the memory limit, in percent, that cannot be reclaimed, from which containers are left
	// out. roomyShare is that up to which there is room for more.
	fullShare, roomyShare = 80, 75
	// checkEvery is the number of new processes after which the memory is looked at again.
	checkEvery = 64
	// fewShare is the share of the processes that may be known, in percent, below which they are not what fills the
	// memory.
	fewShare = 25
	// growEvery is the least time between two steps up, in scans.
	growEvery = 8
)

// fits keeps the agent within its memory: beside the bound for processes, which is an estimate, by what is in use.
func (s *Scanner) fits(used, limit int64, r *result) {
	switch {
	case limit <= 0:
		s.most = 0
	case used >= limit/100*fullShare && (s.shed == 0 || s.tick > s.shed+1):
		if s.shed = s.tick; len(s.known)*100 >= s.bounds.processes*fewShare {
			s.most = max(1, len(s.known)*3/4)
		}
		defer debug.FreeOSMemory()
	case s.most < s.bounds.processes && used < limit/100*roomyShare && s.tick >= s.shed+growEvery:
		s.shed, s.most = s.tick, min(s.bounds.processes, s.most+max(1, s.most/8))
	}
	for s.most > 0 && len(s.known) > s.most {
		large, _ := s.largest("")
		s.leaveOut(large.key, r)
	}
}

// largest returns the container with most known processes, and how many are known of another.
func (s *Scanner) largest(other string) (most crowd, own int) {
	counts := map[string]int{}
	for _, p := range s.known {
		counts[p.key]++
	}
	for key, n := range counts {
		if n > most.n || n == most.n && key > most.key {
			most = crowd{key: key, n: n}
		}
	}
	return most, counts[other]
}

// admit reports whether there is room for a process of a container. It leaves out others that are larger, or this one.
func (s *Scanner) admit(key string, r *result) bool {
	for s.most > 0 && len(s.known) >= s.most {
		large, own := s.largest(key)
		if large.n <= own+1 {
			s.leaveOut(key, r)
			return false
		}
		s.leaveOut(large.key, r)
	}
	return true
}

// leaveOut leaves out a container. Those of its processes that this scan has not visited yet are counted when it does.
func (s *Scanner) leaveOut(key string, r *result) {
	s.out[key] = &crowd{key: key}
	for pid, p := range s.known {
		if p.key != key {
			continue
		}
		if s.dropped++; p.tick == s.tick {
			s.noteOut(s.out[key], r)
			s.noteUnseen(pid)
		}
		p.close()
		delete(s.known, pid)
	}
}

// noteOut counts a process that is left out.
func (s *Scanner) noteOut(c *crowd, r *result) {
	if c.tick != s.tick {
		c.tick, c.n = s.tick, 0
	}
	c.n++
	r.skipped[snapshot.SkipMemory]++
}

// isOut reports whether a process that was left out still is.
func (s *Scanner) isOut(o *other, r *result) bool {
	if o.out == nil || s.out[o.out.key] != o.out || s.tick >= o.due {
		return false
	}
	r.processes++
	s.noteOut(o.out, r)
	if o.in != nil {
		o.in.unseen = s.tick
	}
	return true
}

// takeIn lets the next scan look at containers that were left out, as far as there is room: the smallest first. It
// forgets those that are gone.
func (s *Scanner) takeIn() {
	maps.DeleteFunc(s.out, func(_ string, c *crowd) bool { return c.tick != s.tick })
	room := math.MaxInt
	if s.most > 0 {
		room = s.most*9/10 - len(s.known)
	}
	smaller := func(x, y *crowd) int { return cmp.Or(cmp.Compare(x.n, y.n), cmp.Compare(x.key, y.key)) }
	for _, c := range slices.SortedFunc(maps.Values(s.out), smaller) {
		if room -= c.n; room < 0 {
			return
		}
		delete(s.out, c.key)
	}
}

// filesPerProcess is the number of files open for a process: its directory, memory and stat.
const filesPerProcess = 3

// keepsProcesses reports whether processes stay open: those that are known need at most half of the
// files.
func (s *Scanner) keepsProcesses() bool { return len(s.known)*filesPerProcess <= s.bounds.files/2 }

// filesPerGroup is the number of files open for a group: three or four for each level, and some more.
// If groups share files, filesOfItsOwn are open beside those that node counts.
const filesPerGroup, filesOfItsOwn = 33, 2

// hasRoom reports whether a number of groups may be open, and more be opened after them, beside the
// processes that are open.
func (s *Scanner) hasRoom(open, more int) bool {
	files := more*filesPerGroup + s.open*filesPerProcess
	if s.node != nil {
		files += s.node.Files() + open*filesOfItsOwn
	} else {
		files += open * filesPerGroup
	}
	return files <= s.bounds.files
}

// fit makes the bounds those of the memory limit in bytes, which may have changed; 0 = none or unknown.
func (s *Scanner) fit(limit int64) {
	if now := boundsOf(limit, s.maxFiles); now != s.bounds {
		if now.files < s.bounds.files {
			s.closeFiles()
		}
		if s.bounds, s.most = now, now.processes; s.opts.SetHeap != nil && now.heap > 0 {
			s.opts.SetHeap(now.heap)
		}
	}
}

// closeFiles closes all files of processes and groups. The next scans open as many again as they may.
func (s *Scanner) closeFiles() {
	for _, p := range s.known {
		p.close()
	}
	for _, g := range s.groups {
		g.close()
	}
}

// bounds are what an agent allows itself, so that it lives in its memory limit beside any number of processes.
type bounds struct {
	files int   // open for processes and groups; others are opened for each look
	heap  int64 // GOMEMLIMIT of the agent; 0 = unset
	// processes is how many Go processes may be known; 0 = no bound.
	processes int
}

// fileBytes is the kernel's memory for an open file of procfs or cgroupfs: a page for its text, its inode and its
// names. Measured were 4.5 to 4.9 KiB.
const fileBytes = 5 << 10

// processBytes is the part of that GOMEMLIMIT for a process alone in its container: what is kept of both, of the last
// two documents, the text of the metrics, and what a scan and its answers leave to collect.
const processBytes = 56 << 10

// The shares of the memory limit, in percent. What is left is for the program's own pages, and for what the kernel
// keeps of files that are closed.
const filesShare, heapShare = 20, 55

// boundsOf returns the bounds for a memory limit in bytes, 0 = none or unknown, where no more than files may be open.
func boundsOf(limit int64, files int) bounds {
	if limit <= 0 {
		return bounds{files: files}
	}
	heap := limit / 100 * heapShare
	most := limit / 100 * filesShare / fileBytes
	return bounds{files: int(min(int64(files), most)), heap: heap, processes: int(heap/processBytes) + 1}
}

// ownMemory reads the memory of the agent's own container.
type ownMemory struct {
	h           *limits.Handle
	used, limit int64 // as last read
}

// read returns the bytes in use that the kernel cannot reclaim, and the limit; 0 = none, or never known. What cannot
// be read is as it was: reads fail where memory is short, and no limit would lift all bounds then.
func (m *ownMemory) read() (used, limit int64) {
	if m.h == nil {
		m.h, _ = limits.Open(limits.Process{})
	}
	if l, err := m.h.Read(limits.Unreclaimable); err == nil {
		m.take(&l.Memory)
	}
	return m.used, m.limit
}

func (m *ownMemory) take(now *limits.Memory) {
	if used, ok := now.Unreclaimable.Get(); ok {
		m.used = used
		if own := ownBytes(); own > 0 {
			m.used = min(used, own) // with v1 the kernel counts caches of closed files, which it can reclaim
		}
	}
	if limit, _ := now.Hard.Get(); now.Hard.State != limits.Unknown {
		m.limit = limit
	}
}

func (m *ownMemory) close() { m.h.Close() }
