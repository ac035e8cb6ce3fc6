// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
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
		Containers: []finding.Container{}, Others: []finding.OtherContainer{}, Heaps: []finding.LastHeap{}, Skipped: []finding.Left{}, Unknown: s.budgets.gaps,
		Unsupported: a.unsupported(),
	}
	if left := s.besides - len(d.Unsupported); left > 0 {
		d.Unknown = append(d.Unknown, finding.Gap{Field: "unsupported", File: "/proc", Why: strconv.Itoa(left) + " more processes with Go in a library are not listed"})
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
			switch reason {
			case skipDenied:
				left.Hint = r.hint
			case skipMemory:
				left.Hint = "give the agent a larger memory limit"
			}
			d.Skipped = append(d.Skipped, left)
		}
	}
	members := make(map[string][]*process, len(a.order))
	for _, p := range s.known {
		members[p.in.key] = append(members[p.in.key], p)
	}
	a.reorder(members)
	d.Containers = slices.Grow(d.Containers, len(members))
	for _, k := range a.order {
		d.Containers = append(d.Containers, a.container(members[k]))
	}
	if s.named {
		d.Others = a.others(members, time.Now())
	}
	d.Next = next(d)
	return d
}

// reorder makes a.order the sorted keys of the containers. To sort what is almost sorted costs little.
func (a *Agent) reorder(members map[string][]*process) {
	a.order = slices.DeleteFunc(a.order, func(k string) bool { return members[k] == nil })
	if len(a.order) == len(members) {
		return
	}
	there := make(map[string]bool, len(members))
	for _, k := range a.order {
		there[k] = true
	}
	for k := range members {
		if !there[k] {
			a.order = append(a.order, k)
		}
	}
	slices.Sort(a.order)
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

// fullContainer is a container of a document, with what it was made of.
type fullContainer struct {
	finding.Container
	named Named
}

// container returns a container with its Go processes. While nothing of it was read and nothing happened
// in the window, it is the same with the same processes, and the length of its window is that of the
// scan that made it.
func (a *Agent) container(members []*process) finding.Container {
	slices.SortFunc(members, func(x, y *process) int {
		gx, gy := x.last.Go, y.last.Go
		return cmp.Or(gx.Stat.Started.Truncate(time.Second).Compare(gy.Stat.Started.Truncate(time.Second)), cmp.Compare(gx.Pid, gy.Pid))
	})
	first := members[0]
	at := first.in.place
	var n Named
	var known bool
	if a.opts.Names != nil && at.PodUID != "" {
		n, known = a.opts.Names.Lookup(at.PodUID, at.ContainerID)
	}
	full, steady := first.full, first.box != nil
	whole := full != nil && len(full.Processes) == len(members) && full.named.same(&n)
	for _, p := range members {
		whole, steady = whole && p.full == full, steady && p.kept != nil
	}
	if whole {
		return full.Container
	}
	c := first.container(at)
	if known {
		c.ContainerNames = namesOf(n)
	}
	c.Processes = make([]finding.NodeProcess, 0, len(members))
	used, all := 0.0, true
	for _, p := range members {
		r := p.row(n.SetsProcs)
		r.Throttled = c.Throttled
		if r.Used.Known() {
			used += r.Used.N
		} else {
			all = false
		}
		c.Processes = append(c.Processes, r)
	}
	if all {
		c.Used.Know(used, "")
	}
	if full = nil; steady {
		full = &fullContainer{c, n}
	}
	for _, p := range members {
		p.full = full
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
