// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"maps"
	"math"
	"runtime/debug"
	"slices"
)

// An agent looks at no more processes than its memory is for. Beyond that whole containers are left out, those with
// most processes first, so that the figures of the others are complete. What is left out is counted.

// crowd is a container that is left out.
type crowd struct {
	key  string // of the group
	n    int    // Go processes at the last scan that found one
	tick int    // that scan
}

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
func (s *scanner) fits(used, limit int64, r *result) {
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
func (s *scanner) largest(other string) (most crowd, own int) {
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
func (s *scanner) admit(key string, r *result) bool {
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
func (s *scanner) leaveOut(key string, r *result) {
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
func (s *scanner) noteOut(c *crowd, r *result) {
	if c.tick != s.tick {
		c.tick, c.n = s.tick, 0
	}
	c.n++
	r.skipped[skipMemory]++
}

// isOut reports whether a process that was left out still is.
func (s *scanner) isOut(o *other, r *result) bool {
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
func (s *scanner) takeIn() {
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
