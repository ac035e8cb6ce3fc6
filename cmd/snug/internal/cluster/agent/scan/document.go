// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/names"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/snapshot"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// lost lists what an agent cannot know without reading memory.
var lost = []string{
	"GOMAXPROCS, GOGC and GOMEMLIMIT are known only if a variable sets them, with their values at the start",
	"heap, collections, and what code or the runtime has set since are unknown",
	"without CAP_SYS_PTRACE, the agent sees only processes of its own user with no more capabilities than its own",
}

// document returns the document of a scan.
func (s *Scanner) document(r *result) *finding.Node {
	d := &finding.Node{
		Head: finding.NewHead(finding.KindAgent), Memory: !s.opts.Outside, Lost: []string{},
		Scan:       finding.Scan{Processes: r.processes, Go: len(s.known), Programs: s.files.Len()},
		Containers: []finding.Container{}, Others: []finding.OtherContainer{}, Heaps: []finding.LastHeap{}, Skipped: []finding.Left{}, Unknown: s.budgets.gaps,
		Unsupported: s.unsupported(),
	}
	if left := s.besides - len(d.Unsupported); left > 0 {
		d.Unknown = append(d.Unknown, finding.Gap{Field: "unsupported", File: "/proc", Why: strconv.Itoa(left) + " more processes with Go in a library are not listed"})
	}
	if s.opts.Outside {
		d.Lost = append(d.Lost, lost...)
	}
	if s.opts.Node != "" {
		d.Node = new(finding.UTF8(s.opts.Node))
	}
	if r.interval > 0 {
		d.Seconds = new(r.interval.Seconds())
	}
	for _, reason := range snapshot.Reasons {
		if n := r.skipped[reason]; n > 0 {
			left := finding.Left{Reason: reason, Count: n}
			switch reason {
			case snapshot.SkipDenied:
				left.Hint = r.hint
			case snapshot.SkipMemory:
				left.Hint = "give the agent a larger memory limit"
			}
			d.Skipped = append(d.Skipped, left)
		}
	}
	members := make(map[string][]*process, len(s.order))
	for _, p := range s.known {
		members[p.in.key] = append(members[p.in.key], p)
	}
	s.reorder(members)
	d.Containers = slices.Grow(d.Containers, len(members))
	for _, k := range s.order {
		d.Containers = append(d.Containers, s.container(members[k]))
	}
	if s.named {
		d.Others = s.withoutGo(members, time.Now())
	}
	d.Next = next(d)
	return d
}

// reorder makes s.order the sorted keys of the containers. To sort what is almost sorted costs little.
func (s *Scanner) reorder(members map[string][]*process) {
	s.order = slices.DeleteFunc(s.order, func(k string) bool { return members[k] == nil })
	if len(s.order) == len(members) {
		return
	}
	there := make(map[string]bool, len(members))
	for _, k := range s.order {
		there[k] = true
	}
	for k := range members {
		if !there[k] {
			s.order = append(s.order, k)
		}
	}
	slices.Sort(s.order)
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

// container returns a container with its Go processes. While nothing of it was read and nothing happened
// in the window, it is the same with the same processes, and the length of its window is that of the
// scan that made it.
func (s *Scanner) container(members []*process) finding.Container {
	slices.SortFunc(members, func(x, y *process) int {
		gx, gy := x.last.Go, y.last.Go
		return cmp.Or(gx.Stat.Started.Truncate(time.Second).Compare(gy.Stat.Started.Truncate(time.Second)), cmp.Compare(gx.Pid, gy.Pid))
	})
	first := members[0]
	at := first.in.place
	var n names.Named
	var known bool
	if s.opts.Names != nil && at.PodUID != "" {
		n, known = s.opts.Names.Lookup(at.PodUID, at.ContainerID)
	}
	full, steady := first.full, first.box != nil
	whole := full != nil && len(full.Processes) == len(members) && full.named.Same(&n)
	for _, p := range members {
		whole, steady = whole && p.full == full, steady && p.kept != nil
	}
	if whole {
		return full.Container
	}
	c := first.container(at)
	if known {
		c.ContainerNames = n.Document()
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

// samples returns what happened to the containers of a document since the scan before, in their order.
func (s *Scanner) samples(d *finding.Node) []snapshot.Sample {
	all := make([]snapshot.Sample, len(d.Containers))
	for i := range d.Containers {
		one := &all[i]
		one.Read = true
		for j := range d.Containers[i].Processes {
			p := s.known[d.Containers[i].Processes[j].PID]
			if j == 0 {
				one.Prev, one.Last = p.prev, p.last
			}
			one.Files += p.files
			one.Code = max(one.Code, p.code)
			one.Read = one.Read && !p.filesAt.IsZero()
		}
	}
	return all
}
