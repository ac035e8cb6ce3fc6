// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"io/fs"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podid"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/limits"
)

// group is the processes with the same /proc/PID/cgroup.
type group struct {
	text   string
	place  podid.Place
	key    string         // of the container, the same for all its groups; outside of containers that of the group
	h      *limits.Handle // nil if the limits cannot be read
	tick   int            // the last scan with a process in it
	pid    int            // one process in it
	worked bool           // a process has used CPU time since the previous scan
	turn   int            // spreads the work that is not done at every scan
	limits *limits.Limits // nil = unknown
	detail *detail        // up to detailEvery scans old
}

// detail is the part of limits that is read rarely.
type detail struct {
	weight, shares limits.Value[int]
	requests       []float64
	events         limits.MemoryEvents
	host           limits.Value[int64]
}

const (
	// limitsEvery is the interval, in scans, between readings of the limits of a group, and of
	// everything else of an idle one: two minutes at 15 s.
	limitsEvery = 8
	// detailEvery is the interval, in scans, between readings of the details of limits and of
	// OOM kills. idleDetailEvery is that of an idle group. Both are multiples of limitsEvery.
	detailEvery, idleDetailEvery = 8, 16
)

// newGroup returns the group of a /proc/PID/cgroup with a process in it.
func newGroup(text string, pid int) *group {
	return &group{text: text, place: podid.Parse(text), key: keyOfGroup(text), turn: pid}
}

// keyOfGroup returns the key of a /proc/PID/cgroup.
func keyOfGroup(text string) string {
	at := podid.Parse(text)
	if at.PodUID == "" && at.ContainerID == "" {
		return "~" + ownGroup(text)
	}
	return keyOfPlace(at)
}

func (g *group) close() {
	if g.h != nil {
		g.h.Close()
		g.h = nil
	}
}

// works reports whether a process of the group has used CPU time in this scan.
func (g *group) works(s *scanner) bool { return g.worked && g.tick == s.tick }

// detailEvery returns the interval for the details of the group.
func (g *group) detailEvery() int {
	if g.worked {
		return detailEvery
	}
	return idleDetailEvery
}

// filesPerGroup is the number of files open for a group: three or four for each level, and some more.
// If groups share files, filesOfItsOwn are open beside those that node counts.
const filesPerGroup, filesOfItsOwn = 33, 2

// hasRoom reports whether a number of groups may be open, and more be opened after them, beside the
// processes that are open.
func (s *scanner) hasRoom(open, more int) bool {
	files := more*filesPerGroup + s.open*filesPerProcess
	if s.node != nil {
		files += len(s.node.files) + open*filesOfItsOwn
	} else {
		files += open * filesPerGroup
	}
	return files <= s.bounds.files
}

// readGroups reads the limits of all groups with Go processes, once per group, and stores
// them in each process. A group in which no process has used CPU time was not throttled
// either, and its memory hardly changes, so it is read at some scans only.
func (s *scanner) readGroups(ctx context.Context) error {
	s.open = 0
	for pid, p := range s.known {
		if !p.closed {
			s.open++
		}
		g := p.in
		if g == nil || g.tick < s.tick-1 || p.group != g.text {
			if g = s.groups[p.group]; g == nil {
				g = newGroup(p.group, pid)
				s.groups[p.group] = g
			}
			p.in = g
		}
		if g.tick != s.tick {
			g.tick, g.worked, g.pid = s.tick, false, pid
		}
		g.worked = g.worked || p.worked()
	}
	open, waiting := 0, 0 // those that work and are not open have the first claim to room
	for _, g := range s.groups {
		if g.h != nil {
			open++
		} else if g.works(s) {
			waiting++
		}
	}
	for text, g := range s.groups {
		if g.h != nil {
			open-- // unless it stays
		} else if g.works(s) {
			waiting--
		}
		if g.tick != s.tick {
			g.close()
			delete(s.groups, text)
			continue
		}
		if due := (s.tick+g.turn)%limitsEvery == 0; due || g.limits == nil || g.worked {
			if err := s.pace.rest(ctx); err != nil {
				return err
			}
			if text != "" {
				g.limits = g.read(s.tree(), due, (s.tick+g.turn)%g.detailEvery() == 0)
			}
			if !s.hasRoom(open+1, 0) || !g.worked && !s.hasRoom(open+1, waiting) {
				g.close()
			}
		}
		if g.h != nil {
			open++
		}
	}
	for _, p := range s.known {
		p.settle(p.in.limits, s.window)
		if s.named { // sizing is by workload
			if err := s.pace.rest(ctx); err != nil {
				return err
			}
			p.lookAtFiles(s)
		}
	}
	return nil
}

// read returns the current counters, and limits of the last time that anew was set; nil = unknown. It
// tries twice, because the process of the handle may have ended while others are left.
func (g *group) read(tree fs.FS, anew, whole bool) *limits.Limits {
	for range 2 {
		whole = whole || g.detail == nil
		parts := limits.Counters | limits.Unreclaimable | limits.Placed // visit and note see those that end or move
		if whole {
			parts |= limits.Weight
		} else if !anew {
			parts |= limits.Kept
		}
		if g.h == nil {
			h, err := limits.Open(limits.Process{FS: tree, PID: g.pid})
			if err != nil {
				return nil
			}
			g.h = h
		}
		l, err := g.h.Read(parts)
		if err != nil {
			g.close()
			continue
		}
		if d := g.detail; whole {
			g.detail = &detail{l.CPU.Weight, l.CPU.Shares, l.CPU.Requests, l.Memory.Events, l.Memory.Host}
		} else {
			l.CPU.Weight, l.CPU.Shares, l.CPU.Requests = d.weight, d.shares, d.requests
			l.Memory.Events, l.Memory.Host = d.events, d.host
		}
		return &l
	}
	return nil
}

// groupOf returns the /proc/PID/cgroup of a process as the node shows it; "" = it has ended.
func (s *scanner) groupOf(pid int) string { return s.inTree(observe.GroupOf(pid)) }

// groupsOf is groupOf for a Go process, whose directory may be open.
func (s *scanner) groupsOf(e *process, pid int) string {
	if e.p == nil || e.closed {
		return s.groupOf(pid)
	}
	text, err := e.p.Groups()
	if err != nil {
		return ""
	}
	return s.inTree(text)
}

func (s *scanner) inTree(text string) string {
	if s.node == nil {
		return text
	}
	return inTree(text, s.node.views)
}

// tree returns the file system to read limits in; nil = this machine.
func (s *scanner) tree() fs.FS {
	if s.node == nil {
		return nil // not a nil *node in an fs.FS
	}
	return s.node
}
