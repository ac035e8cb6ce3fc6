// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"path"
	"strconv"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podid"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/limits"
)

// addLimits adds a container's limits and counters to the document. before may be nil; now is
// nil if the limits are unknown.
func addLimits(c *finding.Container, before, now *limits.Limits) {
	defer func() {
		finding.Settle(c, c.Unknown)
		if now != nil && len(now.CPU.Requests) > 1 {
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
	c.Quota, c.Weight, c.Shares = figure.Limit(cpu.Quota, cpu.Source), figure.Value(cpu.Weight), figure.Value(cpu.Shares)
	if len(cpu.Requests) == 1 && cpu.Requests[0] > 0 {
		c.Request.Know(cpu.Requests[0], "")
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
	c.MemoryLimit, c.Memory, c.Unreclaimable = figure.Limit(m.Hard, m.Source), figure.Value(m.Current), figure.Value(m.Unreclaimable)
	c.OOMKills = figure.Value(m.Events.OOMKills)
	names := map[string]string{
		"cpu.quota_cores": "quota_cores", "memory.hard_bytes": "memory_limit_bytes", "memory.current_bytes": "memory_bytes",
		"memory.unreclaimable_bytes": "memory_unreclaimable_bytes", "cpu.periods": "periods", "memory.events.oom_kills": "oom_kills",
	}
	for _, gap := range now.Unknown {
		if field := names[gap.Field]; field != "" && !gap.Other {
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
	r := finding.NodeProcess{Process: observe.Row(g, l, rules.Check(f)), Defaults: map[string]string{}, CPUTotal: g.Stat.CPU.Seconds()}
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
		r.Unknown = append(r.Unknown, finding.Gap{Field: "program", File: "/proc/" + strconv.Itoa(g.Pid), Why: "its memory may not be read (" + g.Hint + ")"})
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
