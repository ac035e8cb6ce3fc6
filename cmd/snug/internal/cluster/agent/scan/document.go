// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/names"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/snapshot"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podid"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/limits"
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
		Containers: []finding.Container{}, Others: []finding.OtherContainer{}, Heaps: []finding.LastHeap{},
		Skipped: []finding.Left{}, Unknown: s.budgets.gaps, Unsupported: s.unsupported(),
	}
	if left := s.besides - len(d.Unsupported); left > 0 {
		why := strconv.Itoa(left) + " more processes with Go in a library are not listed"
		d.Unknown = append(d.Unknown, finding.Gap{Field: "unsupported", File: "/proc", Why: why})
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
		began := func(p *process) time.Time { return p.last.Go.Stat.Started.Truncate(time.Second) }
		return cmp.Or(began(x).Compare(began(y)), cmp.Compare(x.last.Go.Pid, y.last.Go.Pid))
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

// addLimits adds a container's limits and counters to the document. before may be nil; now is
// nil if the limits are unknown.
func addLimits(c *finding.Container, before, now *limits.Limits) {
	defer func() {
		finding.Settle(c, c.Unknown)
		if now != nil && len(now.CPU.RequestHints) > 1 {
			c.Request.Unknown("", "several requests give this weight")
		}
	}()
	if now == nil {
		for _, field := range []string{"quota_cores", "memory_limit_bytes"} {
			c.Unknown = append(c.Unknown, finding.Gap{Field: field, File: "/proc/PID/cgroup", Why: "the groups cannot be read"})
		}
		return
	}
	cpu, m := &now.CPU, &now.Memory
	c.Quota, c.Weight, c.Shares = figure.Limit(cpu.Quota,
		cpu.QuotaSource), figure.Value(cpu.Weight), figure.Value(cpu.Shares)
	if len(cpu.RequestHints) == 1 && cpu.RequestHints[0] > 0 {
		c.Request.Know(cpu.RequestHints[0], "")
	}
	c.Periods, c.ThrottledPeriods = figure.Value(cpu.Throttle.Periods), figure.Value(cpu.Throttle.Throttled)
	if c.ThrottledPeriods.Known() {
		c.ThrottledSeconds.Know(cpu.Throttle.Time.Seconds(), "")
	}
	if c.Quota.Known() {
		if share, ok := observe.Throttled(before, now); ok {
			c.Throttled.Know(share, "")
		}
	}
	c.MemoryLimit, c.Memory = figure.Limit(m.Hard, m.HardSource), figure.Value(m.Current)
	c.Unreclaimable, c.OOMKills = figure.Value(m.Unreclaimable), figure.Value(m.Events.OOMKills)
	names := map[string]string{
		"cpu.quota_cores": "quota_cores", "cpu.periods": "periods",
		"memory.hard_bytes": "memory_limit_bytes", "memory.current_bytes": "memory_bytes",
		"memory.unreclaimable_bytes": "memory_unreclaimable_bytes", "memory.events.oom_kills": "oom_kills",
	}
	for _, gap := range now.Gaps {
		if field := names[gap.Field]; field != "" && !gap.Redundant {
			c.Unknown = append(c.Unknown, finding.Gap{Field: field, File: finding.UTF8(gap.File), Why: finding.UTF8(gap.Why)})
		}
	}
}

// row returns a process for the document, with its findings. podSets reports whether its pod sets
// GOMAXPROCS; nil = unknown. If nothing was read since the last row, only the rates are made anew.
func (e *process) row(podSets *bool) finding.NodeProcess {
	if e.kept == nil || podSets != e.sets && (podSets == nil || e.sets == nil || *podSets != *e.sets) {
		e.kept, e.sets = new(e.whole(podSets)), podSets
	}
	r := *e.kept
	e.rates(&r)
	return r
}

// whole returns the row without its rates.
func (e *process) whole(podSets *bool) finding.NodeProcess {
	g, l := e.last.Go, e.last.Limits
	f := observe.Facts(g, l)
	f.PodSets = podSets
	if begin := e.begin(); begin == nil {
		observe.SinceStart(f, g)
	} else {
		observe.Rates(f, begin, &e.last)
	}
	r := finding.NodeProcess{Process: observe.Row(g, l, rules.Check(f)), Defaults: map[string]string{}}
	r.CPUTotal = g.Stat.CPU.Seconds()
	if r.Name = finding.UTF8(path.Base(g.Path)); g.Path == "" {
		r.Name = finding.UTF8(g.Stat.Name)
	}
	if !g.Stat.Started.IsZero() {
		r.Started = new(g.Stat.Started.Truncate(time.Second).Format(time.RFC3339))
	}
	if line, ok := g.Exe.GoLine(); ok {
		r.Line = new("1." + strconv.Itoa(line))
	}
	for _, name := range []string{"containermaxprocs", "updatemaxprocs"} {
		if v, ok := g.Exe.GODEBUG[name]; ok {
			r.Defaults[name] = finding.UTF8(v)
		}
	}
	r.QuotaChanged, r.LimitChanged = e.quota.when(), e.memory.when()
	r.Aware = f.Aware
	if f.Module != "" {
		r.Module = new(finding.UTF8(f.Module))
	}
	if g.GOMEMLIMIT.Known() && f.MemLimitBy != "" {
		r.SetLimit = new(f.MemLimitBy)
	}
	if g.CPUs > 0 {
		r.CPUs.Know(g.CPUs, "")
	}
	if g.Hint != "" {
		why := "its memory may not be read (" + g.Hint + ")"
		r.Unknown = append(r.Unknown, finding.Gap{Field: "program", File: "/proc/" + strconv.Itoa(g.Pid), Why: why})
	}
	if g.PauseTotal.Known() {
		r.Pauses.Know(g.PauseTotal.N.Seconds(), g.PauseTotal.Source)
	}
	if g.CPU.Known() {
		r.GCTotal.Know((g.CPU.N.GCTotal - g.CPU.N.GCIdle).Seconds(), g.CPU.Source)
	}
	finding.Settle(&r, r.Unknown)
	return r
}

// begin returns the moment at which the window begins; nil = it is this one.
func (e *process) begin() *observe.Moment {
	if len(e.moments) == 0 || !e.moments[0].at.Before(e.last.At) {
		return nil
	}
	return e.moments[0].moment()
}

// rates adds the CPU use since the previous scan, and the garbage collections of the window.
func (e *process) rates(r *finding.NodeProcess) {
	b := &e.last
	if e.prev.Go != nil {
		if used := observe.PerSecond((b.Go.Stat.CPU - e.prev.Go.Stat.CPU).Seconds(), b.At.Sub(e.prev.At), ""); used.Known() {
			r.Used = used
		}
	}
	a := e.begin()
	if a == nil {
		return
	}
	took := b.At.Sub(a.At)
	r.Window.Know(took.Seconds(), "")
	if n := growth(a.Go.Collections, b.Go.Collections); n >= 0 {
		r.PerMin.Know(n/took.Minutes(), "")
	}
	if share := observe.CollectorShare(a.Go, b.Go); share.Known() {
		r.GC = share
	}
}

// growth returns the difference of two counts; below 0 = unknown.
func growth(a, b figure.Of[uint32]) float64 {
	if !a.Known() || !b.Known() {
		return -1
	}
	return float64(b.N) - float64(a.N)
}

// container returns the container of its first process, without names and processes.
func (e *process) container(at podid.Place) finding.Container {
	if e.box != nil {
		return *e.box
	}
	c := finding.Container{
		PodUID: names.Text(at.PodUID), ID: names.Text(at.ContainerID), Runtime: names.Text(at.Runtime),
		Class: names.Text(string(at.Class)), Unknown: []finding.Gap{},
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
