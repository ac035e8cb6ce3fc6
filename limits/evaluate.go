// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"bytes"
	"strconv"
)

// evaluate turns what the files say into figures. It runs when something
// changed, and makes new slices, so that Limits handed out before stay as they
// were.
func (h *Handle) evaluate(cpus Value[int]) {
	throttle, use, shared := h.last.CPU.Throttle, h.last.Memory.Current, h.last.Memory.SharedCurrent
	h.last = Limits{Warnings: h.warnings[:len(h.warnings):len(h.warnings)]}
	h.last.Unknown = append(h.last.Unknown, h.cpuGaps...)
	h.evaluateCPU(cpus)
	h.last.Unknown = append(h.last.Unknown, h.memoryGaps...)
	h.evaluateMemory()
	// What hides the hard limit hides the soft one, which is never above it.
	for _, g := range h.last.Unknown {
		if g.Field == "memory.hard_bytes" {
			g.Field = "memory.soft_bytes"
			h.last.Unknown = append(h.last.Unknown, g)
		}
	}
	h.last.CPU.Throttle, h.last.Memory.Current, h.last.Memory.SharedCurrent = throttle, use, shared
	if h.detail != nil {
		h.detail(h)
	}
}

func (h *Handle) gap(field, file, why string) {
	h.last.Unknown = append(h.last.Unknown, Gap{field, "/" + file, why})
}

func (h *Handle) warning(code string, from Source) {
	h.last.Warnings = append(h.last.Warnings, Warning{code, from})
}

// unread lists a probe that could not be read, and reports whether it said
// something. A file that is not there says that there is no limit.
func (h *Handle) unread(field string, p *probe) bool {
	switch {
	case p.missing():
		return false
	case p.err != nil:
		h.gap(field, p.name, why(p.err))
		return false
	}
	return true
}

// garbage lists a file whose text makes no sense.
func (h *Handle) garbage(field string, p *probe) {
	text := trim(p.text)
	if len(text) == 0 {
		h.gap(field, p.name, "empty")
		return
	}
	h.gap(field, p.name, "not understood: "+string(text[:min(len(text), 40)]))
}

func (h *Handle) evaluateCPU(cpus Value[int]) {
	c := &h.last.CPU
	c.Levels = make([]CPULevel, len(h.cpu))
	if len(h.cpuGaps) == 0 {
		c.Quota.State = None
	}
	tightest := -1
	for i := range h.cpu {
		l := &h.cpu[i]
		q := quota{state: None}
		raw := trim(l.quota.text)
		switch {
		case l.quota.missing():
		case !h.unread("cpu.quota_cores", &l.quota):
			q.state = Unknown
		case l.v1 && parseV1Quota(l.quota.text, l.period.text).state != None && !h.unread("cpu.quota_cores", &l.period):
			q.state = Unknown
			if l.period.missing() {
				h.gap("cpu.quota_cores", l.period.name, "no such file")
			}
		default:
			if q = parseCPUMax(l.quota.text); l.v1 {
				q = parseV1Quota(l.quota.text, l.period.text)
				raw = append(append(append([]byte{}, raw...), ' '), trim(l.period.text)...)
			}
			if q.state == Unknown {
				h.garbage("cpu.quota_cores", &l.quota)
			} else if l.torn {
				q.state = Unknown
				h.gap("cpu.quota_cores", l.quota.name, "changed while it was read")
			}
		}
		level := CPULevel{
			Source: Source{File: "/" + l.quota.name, Level: l.path, Raw: string(raw)},
			Quota:  q.cores(), plain: q.plain, crashes: q.crashes(),
		}
		c.Levels[i] = level
		if l.torn {
			h.warning(WarnQuotaTorn, level.Source)
		}
		if level.CrashesGo() {
			h.warning(WarnQuotaCrashesGo, level.Source)
		}
		if cores, ok := level.Quota.Get(); ok && (c.Quota.State != Known || cores < c.Quota.N) {
			c.Quota, c.Source, tightest = level.Quota, level.Source, i
		} else if level.Quota.State == Unknown && c.Quota.State == None {
			c.Quota.State = Unknown
		}
	}
	if c.Affinity = cpus; cpus.State == Unknown {
		file, text := h.status.name, "no Cpus_allowed"
		if h.status.err != nil {
			text = why(h.status.err)
		}
		h.gap("cpu.affinity_cpus", file, text)
	}
	affinity := Value[float64]{float64(cpus.N), cpus.State}
	if c.Cores = Min(c.Quota, affinity); c.Cores.State == None {
		c.Cores.State = Unknown
	}
	h.follow(max(tightest, 0))
}

// follow keeps cpu.stat of a level open.
func (h *Handle) follow(i int) {
	if h.count == nil || i >= len(h.cpu) {
		return
	}
	file := h.cpu[i].quota.name
	name := file[:bytes.LastIndexByte([]byte(file), '/')+1] + "cpu.stat"
	if h.stat.name != name {
		h.stat.close()
		h.stat = probe{name: name}
		h.stat.open(h.tree)
	}
}

func (h *Handle) evaluateMemory() {
	m := &h.last.Memory
	if len(h.memoryGaps) == 0 {
		m.Hard.State, m.Soft.State = None, None
	}
	high := m.Soft
	for i := range h.memory {
		l := &h.memory[i]
		h.tighten(&m.Hard, &m.Source, "memory.hard_bytes", &l.limit, l.path)
		h.tighten(&high, &m.SoftSource, "memory.soft_bytes", &l.high, l.path)
	}
	if len(h.memory) > 0 {
		// v1 adds up what the levels above say, those included that cannot be
		// seen from here.
		sum := &h.memory[0].sum
		if n, ok := field(sum.text, "hierarchical_memory_limit").Get(); ok && n > 0 && n < noLimit && (m.Hard.State != Known || n < m.Hard.N) {
			m.Hard = Is(n)
			m.Source = Source{File: "/" + sum.name, Raw: "hierarchical_memory_limit " + strconv.FormatInt(n, 10)}
		}
	}
	if n, ok := m.Hard.Get(); ok && n == 0 {
		h.warning(WarnMemoryLimitZero, m.Source)
	}
	m.Shared = m.Hard.State == Known && m.Source.Level != h.memoryAt.path
	if m.Hard.State == Known || high.State == Known || h.detail != nil {
		h.readHost()
		if host, ok := h.host.Get(); ok {
			m.Host = h.host
			raw := "MemTotal: " + strconv.FormatInt(host/1024, 10) + " kB"
			if m.Hard.State == Known && host < m.Hard.N {
				m.Hard, m.Source, m.Shared = h.host, Source{File: HostMemory, Raw: raw}, false
			}
			if high.State == Known && host < high.N {
				high, m.SoftSource = h.host, Source{File: HostMemory, Raw: raw}
			}
		}
	}
	m.Soft = Min(m.Hard, high)
	if m.Soft != high || m.Soft == m.Hard {
		m.SoftSource = m.Source
	}
}

// tighten takes one limit file into account.
func (h *Handle) tighten(least *Value[int64], from *Source, field string, p *probe, path string) {
	if p.name == "" || p.missing() {
		return
	}
	v := Value[int64]{}
	if h.unread(field, p) {
		if v = parseBytes(p.text); v.State == Unknown {
			h.garbage(field, p)
		}
	}
	switch {
	case v.State == Known && (least.State != Known || v.N < least.N):
		*least, *from = v, Source{File: "/" + p.name, Level: path, Raw: string(trim(p.text))}
	case v.State == Unknown && least.State == None:
		least.State = Unknown
	}
}

// readHost reads MemTotal once: it does not change.
func (h *Handle) readHost() {
	if h.host.State == Known {
		return
	}
	p := probe{name: "proc/meminfo"}
	p.open(h.tree)
	defer p.close()
	p.read(h)
	if h.host = parseMemTotal(p.text); h.host.State == Unknown {
		text := "no MemTotal"
		if p.err != nil {
			text = why(p.err)
		}
		h.gap("memory.host_bytes", p.name, text)
	}
}
