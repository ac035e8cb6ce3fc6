// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"cmp"
	"io/fs"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podid"
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

func (g *group) close() {
	if g.h != nil {
		g.h.Close()
		g.h = nil
	}
}

// works reports whether a process of the group has used CPU time in this scan.
func (g *group) works(tick int) bool { return g.worked && g.tick == tick }

// detailEvery returns the interval for the details of the group.
func (g *group) detailEvery() int {
	if g.worked {
		return detailEvery
	}
	return idleDetailEvery
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
			g.detail = &detail{l.CPU.Weight, l.CPU.Shares, l.CPU.RequestHints, l.Memory.Events, l.Memory.Host}
		} else {
			l.CPU.Weight, l.CPU.Shares, l.CPU.RequestHints = d.weight, d.shares, d.requests
			l.Memory.Events, l.Memory.Host = d.events, d.host
		}
		return &l
	}
	return nil
}

// keyOfPlace returns the key of a container.
func keyOfPlace(at podid.Place) string { return at.PodUID + "/" + at.ContainerID }

// ownGroup returns the group that limits come from, of a /proc/PID/cgroup: that of v2, or of
// v1 those for memory and CPU, which are usually the same.
func ownGroup(text string) string {
	var memory, cpu, v2 string
	for line := range strings.Lines(text) {
		_, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		for name := range strings.SplitSeq(controllers, ",") {
			switch name {
			case "memory":
				memory = group
			case "cpu":
				cpu = group
			case "":
				v2 = group
			}
		}
	}
	memory, cpu = cmp.Or(memory, v2, "/"), cmp.Or(cpu, v2, "/")
	switch {
	case memory == cpu, cpu == "/":
		return memory
	case memory == "/":
		return cpu
	}
	return memory + " " + cpu
}

// keyOfGroup returns the key of a /proc/PID/cgroup.
func keyOfGroup(text string) string {
	at := podid.Parse(text)
	if at.PodUID == "" && at.ContainerID == "" {
		return "~" + ownGroup(text)
	}
	return keyOfPlace(at)
}

// podOf returns the pod, container or cgroup of a /proc/PID/cgroup.
func podOf(group string) string {
	at := podid.Parse(group)
	return cmp.Or(at.PodUID, at.ContainerID, "~"+ownGroup(group))
}
