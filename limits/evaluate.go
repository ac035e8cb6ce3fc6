// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"strconv"

	"github.com/snug-go/snug/internal/cgroup"
)

// evaluate computes the figures from the files' contents. It runs when something changed, and
// makes new slices, so that Limits returned earlier do not change.
func (r *reader) evaluate(l *Limits, cpus Value[int]) {
	l.Unknown, l.Warnings = nil, nil
	if r.unseen.Code != "" {
		l.warn(r.unseen.Code, &r.unseen.Source)
	}
	r.evaluateCPU(l, cpus)
	r.evaluateMemory(l)
	r.hideSoft(l)
	// Gaps of mounts that failed.
	l.Unknown = append(append(l.Unknown, r.cpu.failed...), r.memory.failed...)
}

// hideSoft lists the soft limit as unknown when the hard limit is, because it is never above
// the hard one.
func (r *reader) hideSoft(l *Limits) {
	hides := -1
	for i := range l.Unknown {
		switch l.Unknown[i].Field {
		case softField:
			return
		case r.memory.field:
			hides = i
		}
	}
	if hides >= 0 {
		l.gap(softField, l.Unknown[hides].File, l.Unknown[hides].Why)
	}
}

const softField = "memory.soft_bytes"

// These helpers store many words and are called from many places. Inlined they would add
// 10 KB to every program that imports snug.

//go:noinline
func (l *Limits) gap(field, file, why string) {
	l.Unknown = append(l.Unknown, Gap{Field: field, File: file, Why: why})
}

//go:noinline
func (l *Limits) warn(code string, from *Source) {
	l.Warnings = append(l.Warnings, Warning{code, *from})
}

//go:noinline
func (s *Source) set(file, level, raw string) { *s = Source{file, level, raw} }

// failed lists a figure that could not be read, with the probe's error or else the problem.
//
//go:noinline
func (l *Limits) failed(field string, p *probe, problem string) {
	if p.err != nil {
		problem = errText(p.err)
	}
	l.gap(field, p.name, problem)
}

// garbage lists a file that cannot be parsed.
func (l *Limits) garbage(field string, p *probe) {
	text := p.raw()
	problem := "empty"
	if text != "" {
		problem = "not understood: " + text[:min(len(text), 40)]
	}
	l.failed(field, p, problem)
}

// raw returns the file's text for a Source.
//
//go:noinline
func (p *probe) raw() string { return string(cgroup.Trim(p.text)) }

// initialState returns a resource's state before its levels are read.
func (l *Limits) initialState(res *resource) State {
	if g := &res.gap; g.Field != "" {
		l.gap(g.Field, g.File, g.Why)
		return Unknown
	}
	return None
}

func (r *reader) evaluateCPU(l *Limits, cpus Value[int]) {
	c := &l.CPU
	c.Quota = Value[float64]{State: l.initialState(&r.cpu)}
	c.Source.set("", "", "")
	c.Levels = make([]CPULevel, len(r.cpu.levels))
	r.tightest = 0
	for i, at := range r.cpu.levels {
		out := &c.Levels[i]
		raw := at.limit.raw()
		if raw != "" && len(at.other.text) > 0 {
			raw += " " + at.other.raw()
		}
		out.set(at.limit.name, at.path, raw)
		q := r.quota(l, at)
		out.setQuota(&q)
		if at.torn {
			l.warn(WarnQuotaTorn, &out.Source)
		}
		if out.CrashesGo {
			l.warn(WarnQuotaCrashesGo, &out.Source)
		}
		if c.Quota.tighten(out.Quota) {
			c.Source, r.tightest = out.Source, i
		}
	}
	if c.Runtime = nil; len(c.Levels) > 0 {
		c.Runtime = &c.Levels[0]
	}
	c.Affinity = cpus
	if cpus.State == Unknown {
		l.failed("cpu.affinity_cpus", &r.status, "no Cpus_allowed")
	}
	c.Cores = Min(c.Quota, Value[float64]{float64(cpus.N), cpus.State})
	if c.Cores.State == None {
		c.Cores.State = Unknown
	}
}

// setQuota sets the quota as the kernel enforces it and as Go reads it.
func (l *CPULevel) setQuota(q *cgroup.Quota) {
	cores, state := q.Cores()
	l.Quota = Value[float64]{cores, State(state)}
	if l.Go, l.CrashesGo = l.Quota, q.CrashesGo(); l.Go.State == Known && !q.Plain {
		l.Go = NoLimit[float64]()
	}
}

// quota returns the quota in the files of one level. A missing file means no limit.
func (r *reader) quota(l *Limits, at *level) (q cgroup.Quota) {
	p := &at.limit
	switch {
	case p.missing:
		return cgroup.Quota{State: cgroup.None}
	case p.err != nil:
	case !r.cpu.V1:
		q = cgroup.CPUMax(p.text)
	default:
		q = cgroup.CFSQuota(p.text, at.other.text)
		if q.State != cgroup.None && at.other.err != nil {
			p, q = &at.other, cgroup.Quota{}
		}
	}
	switch {
	case q.State == cgroup.Unknown:
		l.garbage(r.cpu.field, p)
	case at.torn:
		q.State = cgroup.Unknown
		l.gap(r.cpu.field, p.name, "changed while it was read")
	}
	return q
}

func (r *reader) evaluateMemory(l *Limits) {
	m := &l.Memory
	m.Hard = Value[int64]{State: l.initialState(&r.memory)}
	m.Soft = m.Hard
	m.Source.set("", "", "")
	m.SoftSource.set("", "", "")
	for _, at := range r.memory.levels {
		if r.memory.V1 && limitOf(at.limit.text).State != None && r.flat(at) {
			continue
		}
		l.bound(&m.Hard, &m.Source, r.memory.field, &at.limit, at.path)
		if !r.memory.V1 {
			l.bound(&m.Soft, &m.SoftSource, softField, &at.other, at.path)
		}
	}
	if len(r.memory.levels) > 0 {
		// v1 reports the minimum over all ancestors, including those that cannot be seen
		// from here.
		own := r.memory.levels[0]
		if p := &own.other; r.memory.V1 && p.err != nil && !p.missing {
			l.failed(r.memory.field, p, "")
			m.Hard.tighten(Value[int64]{}) // the limit it may hold is unknown
		}
		if own.total.State == Known && m.Hard.tighten(own.total) {
			m.Source.set(own.other.name, "", "hierarchical_memory_limit "+strconv.FormatInt(own.total.N, 10))
		}
	}
	if m.Hard == Of[int64](0) {
		l.warn(WarnMemoryLimitZero, &m.Source)
	}
	if m.Hard.State == Known || m.Soft.State == Known {
		r.readHost(l)
		r.capAtHost(&m.Hard, &m.Source)
		r.capAtHost(&m.Soft, &m.SoftSource)
	}
	m.Host = r.host
	m.Shared = m.Hard.State == Known && m.Source.File != cgroup.HostMemory && m.Source.Level != r.memory.Path
	if soft := Min(m.Hard, m.Soft); m.Soft != soft || soft == m.Hard {
		m.Soft, m.SoftSource = soft, m.Source
	}
	m.SoftShared = m.Soft.State == Known && m.SoftSource.File != cgroup.HostMemory && m.SoftSource.Level != r.memory.Path
}

// bound applies one limit file.
func (l *Limits) bound(limit *Value[int64], from *Source, field string, p *probe, path string) {
	if p.missing {
		return
	}
	v := limitOf(p.text)
	if v.State == Unknown {
		l.garbage(field, p)
	}
	if limit.tighten(v) {
		from.set(p.name, path, p.raw())
	}
}

// capAtHost caps a limit at the machine's memory.
func (r *reader) capAtHost(limit *Value[int64], from *Source) {
	if limit.State == Known && limit.tighten(r.host) {
		from.set(cgroup.HostMemory, "", "MemTotal: "+strconv.FormatInt(limit.N/1024, 10)+" kB")
	}
}

// readHost reads MemTotal once: it does not change.
func (r *reader) readHost(l *Limits) {
	if r.host.State == Known {
		return
	}
	p := probe{name: cgroup.HostMemory}
	text, err := r.tree.peek(p.name, r.buf)
	p.err = err
	if r.host = valueOf(cgroup.MemTotal(text)); r.host.State == Unknown {
		l.failed("memory.host_bytes", &p, "no MemTotal")
	}
}
