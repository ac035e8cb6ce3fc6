// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"math"
	"strconv"

	"github.com/snug-go/snug/internal/cgroup"
)

// evaluate computes the figures from the files' contents. It runs when something changed, and
// makes new slices, so that Limits returned earlier do not change.
func (r *reader) evaluate(l *Limits, cpus Value[int]) {
	l.Gaps, l.Warnings = nil, nil
	if r.unseen.Code != "" {
		l.warn(r.unseen.Code, &r.unseen.Source)
	}
	r.evaluateCPU(l, cpus)
	r.evaluateMemory(l)
	// The soft limit is unknown when the hard limit is, because it is never above the hard one.
	hides := -1
	for i := range l.Gaps {
		switch l.Gaps[i].Field {
		case softField:
			hides = len(l.Gaps)
		case r.memory.field:
			hides = max(hides, i)
		}
	}
	if hides >= 0 && hides < len(l.Gaps) {
		l.gap(softField, l.Gaps[hides].File, l.Gaps[hides].Why)
	}
	// Gaps of mounts that failed.
	l.Gaps = append(append(l.Gaps, r.cpu.failed...), r.memory.failed...)
}

const softField = "memory.soft_bytes"

// These helpers store many words and are called from many places. Inlined they would add
// 10 KB to every program that imports snug.

//go:noinline
func (l *Limits) gap(field, file, why string) { addGap(&l.Gaps, field, file, why, false) }

//go:noinline
func addGap(to *[]Gap, field, file, why string, other bool) {
	*to = append(*to, Gap{field, file, why, other})
}

//go:noinline
func (l *Limits) warn(code string, from *Source) {
	l.Warnings = append(l.Warnings, Warning{Code: code, Source: *from})
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

// tighten is Value.tighten for bytes.
//
//go:noinline
func tighten(v *Value[int64], by Value[int64]) bool { return v.tighten(by) }

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
	c.QuotaSource.set("", "", "")
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
			c.QuotaSource, r.tightest = out.Source, i
		}
	}
	if c.RuntimeLevel = nil; len(c.Levels) > 0 {
		c.RuntimeLevel = &c.Levels[0]
	}
	c.RuntimeLevel125 = c.RuntimeLevel
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
	if l.GoQuota, l.CrashesGo = l.Quota, q.CrashesGo(); l.GoQuota.State == Known && !q.Plain {
		l.GoQuota = NoLimit[float64]()
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
	m.HardSource.set("", "", "")
	m.SoftSource.set("", "", "")
	for _, at := range r.memory.levels {
		if r.memory.V1 && limitOf(at.limit.text).State != None && r.flat(at) {
			continue
		}
		l.bound(&m.Hard, &m.HardSource, r.memory.field, &at.limit, at.path)
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
			tighten(&m.Hard, Value[int64]{}) // the limit it may hold is unknown
		}
		if own.total.State == Known && tighten(&m.Hard, own.total) {
			m.HardSource.set(own.other.name, "", "hierarchical_memory_limit "+strconv.FormatInt(own.total.N, 10))
		}
	}
	if m.Hard == Of[int64](0) {
		l.warn(WarnMemoryLimitZero, &m.HardSource)
	}
	if !r.asked || r.lxcfs && !r.tree.sealed() { // the process may have entered a sandbox
		ram, space := r.tree.memory(r.lxcfs)
		if r.ram = ram; !r.asked { // later the process itself has mapped more
			r.space, r.asked = space, true
		}
	}
	if r.lxcfs || m.Hard.State == Known || m.Soft.State == Known {
		r.readHost()
		r.capAtHost(l)
	}
	if m.Host = r.host; r.pid == 0 {
		if m.AddressSpace = valueOf(r.space, r.space >= 0); r.space == math.MaxInt64 {
			m.AddressSpace = Value[int64]{State: None}
		}
	}
	m.HardShared = m.Hard.State == Known && m.HardSource.File != cgroup.HostMemory && m.HardSource.Level != r.memory.Path
	if soft := Min(m.Hard, m.Soft); m.Soft != soft || soft == m.Hard {
		m.Soft, m.SoftSource = soft, m.HardSource
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
	if tighten(limit, v) {
		from.set(p.name, path, p.raw())
	}
}

// capAtHost caps the limits at the machine's memory. That of lxcfs is a limit even where none is
// visible, unless it is the machine's own.
func (r *reader) capAtHost(l *Limits) {
	m := &l.Memory
	total, known := r.host.Get()
	if !known {
		l.failed("memory.host_bytes", &r.meminfo, "no MemTotal")
		if r.lxcfs && m.Hard.State == None && r.memory.Path != "" {
			m.Hard, m.Soft = Value[int64]{}, Value[int64]{}
			l.gap(r.memory.field, cgroup.HostMemory, "no MemTotal, which is the limit in lxcfs")
		}
		return
	}
	level, limit := "", false
	if r.lxcfs && total != r.ram {
		level, limit = levelLxcfs, m.Soft.State != Known || total < m.Soft.N
	}
	raw := "MemTotal: " + strconv.FormatInt((total+r.huge)/1024, 10) + " kB"
	if r.huge > 0 {
		raw += ", in huge pages " + strconv.FormatInt(r.huge/1024, 10) + " kB"
	}
	if (limit || m.Hard.State == Known) && tighten(&m.Hard, r.host) {
		m.HardSource.set(cgroup.HostMemory, level, raw)
	}
	if (limit || m.Soft.State == Known) && tighten(&m.Soft, r.host) {
		m.SoftSource.set(cgroup.HostMemory, level, raw)
	}
}

// levelLxcfs is the Level of a Source if lxcfs provides /proc/meminfo.
const levelLxcfs = "lxcfs"

// readHost reads MemTotal, and reports whether it changed: lxcfs, a balloon and memory hotplug change
// it. What is reserved as huge pages is not counted, because nothing else can use it, but with lxcfs,
// which shows those of the machine.
func (r *reader) readHost() (changed bool) {
	r.meminfo.name = cgroup.HostMemory
	var text []byte
	if r.pid == 0 {
		text = r.meminfo.now(r)
	} else { // a node has hundreds of processes
		text, r.meminfo.err = r.tree.read(cgroup.HostMemory, r.buf, true)
	}
	total, ok := cgroup.MemTotal(text)
	if !ok && r.host.State == Known {
		return false // as it was
	}
	if r.huge = 0; !r.lxcfs {
		r.huge = cgroup.HugePages(text)
		if total -= r.huge; total <= 0 { // they contradict each other
			total, r.huge = total+r.huge, 0
		}
	}
	before := r.host
	r.host = valueOf(total, ok)
	return before != r.host
}

// hostChanged reads MemTotal again at a poll: at each at which it is the limit or may become it, and else
// at every 32nd.
func (r *reader) hostChanged(polls uint, l *Limits) bool {
	m := &l.Memory
	return (r.lxcfs || m.HardSource.File == cgroup.HostMemory || m.SoftSource.File == cgroup.HostMemory ||
		polls%rescan == 0 && m.Soft.State == Known) && r.readHost()
}
