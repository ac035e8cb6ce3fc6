// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podid"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// lost lists what an agent cannot know without reading memory.
var lost = []string{
	"GOMAXPROCS, GOGC and GOMEMLIMIT are known only if a variable sets them, with their values at the start",
	"heap, collections, and what code or the runtime has set since are unknown",
	"without CAP_SYS_PTRACE, the agent sees only processes of its own user with no more capabilities than its own",
}

// document returns the document of a scan.
func (a *Agent) document(r *result) *finding.Node {
	s := a.scanner
	d := &finding.Node{
		Head: finding.NewHead(finding.KindAgent), Memory: !s.outside, Lost: []string{},
		Scan:       finding.Scan{Processes: r.processes, Go: len(s.known), Programs: s.files.Len()},
		Containers: []finding.Container{}, Others: []finding.OtherContainer{}, Heaps: []finding.LastHeap{}, Skipped: []finding.Left{}, Unknown: []finding.Gap{},
		Unsupported: a.unsupported(),
	}
	if s.outside {
		d.Lost = append(d.Lost, lost...)
	}
	if a.opts.Node != "" {
		d.Node = new(finding.UTF8(a.opts.Node))
	}
	if r.interval > 0 {
		d.Seconds = new(r.interval.Seconds())
	}
	for _, reason := range reasons {
		if n := r.skipped[reason]; n > 0 {
			left := finding.Left{Reason: reason, Count: n}
			if reason == skipDenied {
				left.Hint = r.hint
			}
			d.Skipped = append(d.Skipped, left)
		}
	}
	members := map[string][]*process{}
	for _, p := range s.known {
		k := s.keyOf(p)
		members[k] = append(members[k], p)
	}
	d.Containers = slices.Grow(d.Containers, len(members))
	for _, k := range slices.Sorted(maps.Keys(members)) {
		d.Containers = append(d.Containers, a.container(members[k]))
	}
	if s.named {
		d.Others = a.others(members, time.Now())
	}
	d.Next = next(d)
	return d
}

// next returns a command that inspects the process with the worst finding.
func next(d *finding.Node) string {
	var worst *finding.NodeProcess
	for i := range d.Containers {
		for j := range d.Containers[i].Processes {
			p := &d.Containers[i].Processes[j]
			if worst == nil || finding.Worst(p.Findings).Level() > finding.Worst(worst.Findings).Level() {
				worst = p
			}
		}
	}
	if worst == nil {
		return ""
	}
	return "snug doctor " + strconv.Itoa(worst.PID)
}

// placeOf returns the place of a process.
func (s *scanner) placeOf(p *process) podid.Place {
	if g := s.groups[p.group]; g != nil {
		return g.place
	}
	return podid.Parse(p.group)
}

// keyOf returns a key that is the same for all processes of a container. Outside of
// containers it is the group.
func (s *scanner) keyOf(p *process) string {
	at := s.placeOf(p)
	if at.PodUID == "" && at.ContainerID == "" {
		return "~" + ownGroup(p.group)
	}
	return keyOfPlace(at)
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

// container returns a container with its Go processes.
func (a *Agent) container(members []*process) finding.Container {
	slices.SortFunc(members, func(x, y *process) int {
		gx, gy := x.last.Go, y.last.Go
		return cmp.Or(gx.Stat.Started.Truncate(time.Second).Compare(gy.Stat.Started.Truncate(time.Second)), cmp.Compare(gx.Pid, gy.Pid))
	})
	at := a.scanner.placeOf(members[0])
	c := members[0].container(at)
	var setsProcs *bool
	if a.opts.Names != nil && at.PodUID != "" {
		if n, ok := a.opts.Names.Lookup(at.PodUID, at.ContainerID); ok {
			c.ContainerNames, setsProcs = namesOf(n), n.SetsProcs
		}
	}
	c.Processes = make([]finding.NodeProcess, 0, len(members))
	used, known := 0.0, true
	for _, p := range members {
		r := p.row(setsProcs)
		r.Throttled = c.Throttled
		if r.Used.Known() {
			used += r.Used.N
		} else {
			known = false
		}
		c.Processes = append(c.Processes, r)
	}
	if known {
		c.Used.Know(used, "")
	}
	return c
}

// container returns the container of its first process, without names and processes.
func (e *process) container(at podid.Place) finding.Container {
	if e.box != nil {
		return *e.box
	}
	c := finding.Container{
		PodUID: text(at.PodUID), ID: text(at.ContainerID), Runtime: text(at.Runtime), Class: text(string(at.Class)), Unknown: []finding.Gap{},
	}
	if at.PodUID == "" && at.ContainerID == "" {
		group := ownGroup(e.group)
		c.Unit, c.Group = new(finding.UTF8(path.Base(group))), new(finding.UTF8(group))
	}
	addLimits(&c, e.prev.Limits, e.last.Limits)
	kept := c
	kept.Throttled.None() // until the next reading
	e.box = &kept
	return c
}

// text returns nil for "".
func text(s string) *string {
	if s == "" {
		return nil
	}
	return new(finding.UTF8(s))
}
