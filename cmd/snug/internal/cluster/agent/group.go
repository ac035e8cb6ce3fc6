// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"io/fs"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podid"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/limits"
)

// group is everyone with the same text in /proc/PID/cgroup.
type group struct {
	place  podid.Place
	h      *limits.Handle // nil where the limits cannot be read
	tick   int            // of the scan in which somebody was in it
	pid    int            // who
	worked bool           // one of them has used CPU time since the scan before
	turn   int            // groups take turns at what is not done at every scan
	limits *limits.Limits // nil = unknown
	detail *limits.Limits // as of some scans ago
}

const (
	// idleLooks is at how many scans the limits are read of a group in which nobody works.
	idleLooks = 4
	// detailLooks is at how many it is read what explains limits, and how often the kernel
	// has killed for want of memory: many files, which hardly ever change. It is a multiple
	// of idleLooks.
	detailLooks = 8
)

func (g *group) close() {
	if g.h != nil {
		g.h.Close()
		g.h = nil
	}
}

// readGroups reads the limits of all groups that Go processes are in, each on behalf of one
// of them, and gives them to all. Where none of them worked since the scan before nothing
// was throttled either, and memory is hardly another; that is read at some scans only.
func (s *scanner) readGroups(ctx context.Context) error {
	for pid, p := range s.known {
		g := s.groups[p.group]
		if g == nil {
			g = &group{place: podid.Parse(p.group), turn: pid}
			s.groups[p.group] = g
		}
		if g.tick != s.tick {
			g.tick, g.worked, g.pid = s.tick, false, pid
		}
		g.worked = g.worked || p.worked()
	}
	for text, g := range s.groups {
		if g.tick != s.tick {
			g.close()
			delete(s.groups, text)
			continue
		}
		if g.limits == nil || g.worked || (s.tick+g.turn)%idleLooks == 0 {
			if err := s.pace.rest(ctx); err != nil {
				return err
			}
			if text != "" {
				g.limits = g.read(s.tree(), (s.tick+g.turn)%detailLooks == 0)
			}
			if len(s.groups) > s.room {
				g.close()
			}
		}
	}
	for _, p := range s.known {
		p.settle(s.groups[p.group].limits)
	}
	return nil
}

// read reads the limits now, nil when they are not known. The process that the handle was
// opened on may have ended while others are left.
func (g *group) read(tree fs.FS, whole bool) *limits.Limits {
	for range 2 {
		whole = whole || g.detail == nil
		parts := limits.Counters | limits.Unreclaimable
		if whole {
			parts |= limits.Detail
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
			g.detail = &l
		} else {
			l.CPU.Weight, l.CPU.Shares, l.CPU.Requests, l.CPU.Burst = d.CPU.Weight, d.CPU.Shares, d.CPU.Requests, d.CPU.Burst
			l.Memory.Events, l.Memory.Host = d.Memory.Events, d.Memory.Host
		}
		return &l
	}
	return nil
}

// groupOf is the text of a process's cgroups as the node shows it; "" when it has ended.
func (s *scanner) groupOf(pid int) string {
	text := observe.GroupOf(pid)
	if s.node != nil {
		text = inTree(text, s.node.views)
	}
	return text
}

// tree is where limits are read; nil = this machine.
func (s *scanner) tree() fs.FS {
	if s.node == nil {
		return nil // and not a nil *node in an fs.FS
	}
	return s.node
}
