// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"cmp"
	"maps"
	"math"
	"runtime/debug"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/snapshot"
)

// An agent looks at no more processes than its memory is for. Beyond that whole containers are left out, those with
// most processes first, so that the figures of the others are complete. What is left out is counted.

const (
	// fullShare is the share of the memory limit, in percent, that cannot be reclaimed, from which containers are left out.
	// roomyShare is that up to which there is room for more.
	fullShare, roomyShare = 80, 75
	// checkEvery is the number of new processes after which the memory is looked at again.
	checkEvery = 64
	// fewShare is the share of the processes that may be known, in percent, below which they are not what fills the memory.
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

// takeIn lets the next scan look at containers that were left out, as far as there is room: the smallest first. It forgets
// those that are gone.
func (s *Scanner) takeIn() {
	maps.DeleteFunc(s.out, func(_ string, c *crowd) bool { return c.tick != s.tick })
	room := math.MaxInt
	if s.most > 0 {
		room = s.most*9/10 - len(s.known)
	}
	for _, c := range slices.SortedFunc(maps.Values(s.out), func(x, y *crowd) int { return cmp.Or(cmp.Compare(x.n, y.n), cmp.Compare(x.key, y.key)) }) {
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
