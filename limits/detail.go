// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"math"

	"github.com/snug-go/snug/internal/cgroup"
)

// readDetail reads the figures that only explain: those of Weight or all. They are read on request,
// not at every poll.
func (h *Handle) readDetail(all bool) {
	c, m := &h.last.CPU, &h.last.Memory
	var table mountTable
	if all && (h.pid == 0 || h.cpusetDir == "") {
		table = h.mounts(make([]byte, 0, 16<<10))
	}
	if all && h.pid == 0 {
		c.RuntimeLevel, c.RuntimeLevel125 = h.runtimeLevel(table.text, 26), h.runtimeLevel(table.text, 25)
	}
	if m.Hard.State != Known && m.Soft.State != Known && !h.lxcfs { // otherwise it was read with them
		if h.readHost(); h.host.State == Unknown {
			h.last.failed("memory.host_bytes", &h.meminfo, "no MemTotal")
		}
	}
	m.Host = h.host
	c.Weight, c.Shares, c.RequestHints = Value[int]{}, Value[int]{}, nil
	if all {
		c.Burst, c.Pressure = Value[float64]{}, Pressure{}
	}
	if l := h.cpu.own(); l != nil {
		if h.cpu.V1 {
			c.Shares = intIn(h.once("cpu.shares", l.dir+"cpu.shares"), 2, 262144)
			c.RequestHints = requestsOfShares(c.Shares)
			if all {
				c.Burst = burst(h.once("cpu.burst_cores", l.dir+"cpu.cfs_burst_us"), cgroup.CFSQuota(l.limit.text, l.other.text))
			}
		} else {
			c.Weight = intIn(h.once("cpu.weight", l.dir+"cpu.weight"), 1, 10000)
			c.RequestHints = requestsOfWeight(c.Weight)
			if all {
				c.Burst = burst(h.once("cpu.burst_cores", l.dir+"cpu.max.burst"), cgroup.CPUMax(l.limit.text))
				c.Pressure = pressure(h.once("cpu.pressure", l.dir+"cpu.pressure"))
			}
		}
	}
	m.Events = MemoryEvents{}
	l := h.memory.own()
	if l != nil && h.memory.V1 {
		m.Events.OOMKills = valueOf(cgroup.Field(h.once("memory.events.oom_kills", l.dir+"memory.oom_control"), "oom_kill"))
	} else if l != nil {
		events := h.once("memory.events", l.dir+"memory.events")
		m.Events = MemoryEvents{High: valueOf(cgroup.Field(events, "high")), Max: valueOf(cgroup.Field(events, "max")),
			OOM: valueOf(cgroup.Field(events, "oom")), OOMKills: valueOf(cgroup.Field(events, "oom_kill"))}
	}
	if !all {
		return
	}
	c.Cpuset = h.cpuset(&table)
	m.SwapMax, m.SwapCurrent, m.Pressure = Value[int64]{}, Value[int64]{}, Pressure{}
	if l == nil {
		return
	}
	if h.memory.V1 {
		// memsw counts memory and swap together.
		m.SwapMax = limitOf(h.once("memory.swap_max_bytes", l.dir+"memory.memsw.limit_in_bytes"))
		if n, ok := limitOf(l.limit.text).Get(); ok && m.SwapMax.State == Known {
			m.SwapMax.N = max(0, m.SwapMax.N-n)
		}
		m.SwapCurrent = valueOf(cgroup.Field(h.once("memory.swap_current_bytes", l.dir+"memory.stat"), "swap"))
		m.Events.Max = valueOf(cgroup.Count(cgroup.Trim(h.once("memory.events.max", l.dir+"memory.failcnt"))))
		return
	}
	m.SwapMax = limitOf(h.once("memory.swap_max_bytes", l.dir+"memory.swap.max"))
	m.SwapCurrent = valueOf(cgroup.Count(cgroup.Trim(h.once("memory.swap_current_bytes", l.dir+"memory.swap.current"))))
	m.Pressure = pressure(h.once("memory.pressure", l.dir+"memory.pressure"))
}

// own returns the level of the process's own group, or nil if it cannot be seen.
func (res *resource) own() *level {
	if len(res.levels) > 0 && res.levels[0].path == res.Path {
		return res.levels[0]
	}
	return nil
}

// unseen reports whether the process has a group that cannot be seen.
func (res *resource) unseen() bool { return res.gap.Field != "" && res.own() == nil }

// cpuset returns the group's effective CPU list. It uses table only to find the group's directory,
// while h.cpusetDir is "".
func (h *Handle) cpuset(table *mountTable) string {
	set := resource{controller: "cpuset", field: "cpu.cpuset"}
	if set.Group, _ = cgroup.Find(h.group.text, set.controller); set.Path == "" {
		return ""
	}
	if h.cpusetDir == "" {
		unseen := h.unseen
		h.levels(&set, table)
		h.unseen = unseen // warnings are about limits only
		own := set.own()
		if own == nil {
			return ""
		}
		h.cpusetDir = own.dir
	}
	names := []string{"cpuset.cpus.effective"}
	if set.V1 {
		names = []string{"cpuset.effective_cpus", "cpuset.cpus"}
	}
	for _, name := range names {
		if list := cgroup.Trim(h.once(set.field, h.cpusetDir+name)); len(list) > 0 {
			return string(list)
		}
	}
	h.cpusetDir = "" // it may be elsewhere by the next time
	return ""
}

// runtimeLevel returns the level that the Go runtime of this process reads, found as a Go release
// does.
func (h *Handle) runtimeLevel(mountinfo []byte, minor int) *CPULevel {
	dir, v1 := cgroup.RuntimeDir(h.group.text, mountinfo, minor)
	if dir == "" {
		return &CPULevel{Quota: NoLimit[float64](), GoQuota: NoLimit[float64]()}
	}
	read := func(name string) []byte {
		text, err := h.files.opener.read(dir+name, make([]byte, 0, 128), false)
		if err != nil {
			return nil
		}
		return text
	}
	name := "/cpu.max"
	text, q := read(name), cgroup.Quota{}
	raw := string(cgroup.Trim(text))
	if v1 {
		name = "/cpu.cfs_quota_us"
		text = read(name)
		period := read("/cpu.cfs_period_us")
		if p := cgroup.Trim(period); len(p) > 0 {
			raw += " " + string(p)
		}
		q = cgroup.CFSQuota(text, period)
	} else {
		q = cgroup.CPUMax(text)
	}
	l := &CPULevel{}
	l.set(dir+name, h.cpu.Path, raw)
	l.setQuota(&q)
	return l
}

// once reads a file without keeping it open. Its text is valid until the next file is read, nil if
// there is none. A file that exists and cannot be read is listed as a gap.
func (h *Handle) once(field, name string) []byte {
	text, err := h.files.opener.read(name, h.buf, false)
	if err != nil {
		if !isNotExist(err) {
			h.last.gap(field, name, errText(err))
		}
		return nil
	}
	return text
}

func intIn(b []byte, lo, hi int64) Value[int] {
	if n, ok := cgroup.Count(cgroup.Trim(b)); ok && n >= lo && n <= hi {
		return Of(int(n))
	}
	return Value[int]{}
}

// burst returns the burst in cores of one period: a period may use burst/period above the
// quota.
func burst(b []byte, q cgroup.Quota) Value[float64] {
	n, ok := cgroup.Count(cgroup.Trim(b))
	if !ok || q.Period <= 0 {
		return Value[float64]{}
	}
	return Of(float64(n) / float64(q.Period))
}

// Kubernetes and Docker pass a CPU request on as shares, 1024 for one CPU. 1024 is also the
// kernel's default; 2 is the minimum, and what a pod without a request gets.
func requestsOfShares(shares Value[int]) []float64 {
	n, ok := shares.Get()
	switch {
	case !ok, n <= 2:
		return nil
	case n == 1024:
		return []float64{1, 0}
	}
	return []float64{float64(n) / 1024}
}

// requestsOfWeight inverts both maps from shares to weight in use, the older first. Each map
// covers the whole range, so a weight alone is always ambiguous. 100 may also be the kernel's
// default, for which it adds a 0.
//
//	older: weight = 1 + (shares-2)*9999/262142            (KEP-2254)
//	newer: weight = ceil(10^(l²/612 + 125l/612 - 7/34)), l = log2(shares)
//	                                                      (runc 1.3.2, crun 1.23)
//
// Several requests map to one weight; the roundest of them is returned.
func requestsOfWeight(weight Value[int]) []float64 {
	w, ok := weight.Get()
	if !ok || w <= 1 {
		return nil
	}
	requests := []float64{requestFor(w, olderWeight), requestFor(w, newerWeight)}
	if w == 100 {
		requests = append(requests, 0)
	}
	return requests
}

func olderWeight(shares float64) float64 { return 1 + math.Floor((shares-2)*9999/262142) }

func newerWeight(shares float64) float64 {
	l := math.Log2(shares)
	return math.Ceil(math.Pow(10, l*l/612+125*l/612-7.0/34))
}

// requestFor returns the roundest request, in millicores as Kubernetes writes them, whose
// shares map to this weight.
func requestFor(weight int, toWeight func(shares float64) float64) float64 {
	// least returns the smallest request with a weight of w or more.
	least := func(w int) int {
		lo, hi := 1, 256001 // 262144 shares are 256 CPUs
		for lo < hi {
			mid := (lo + hi) / 2
			if toWeight(max(2, math.Floor(float64(mid)*1024/1000))) >= float64(w) {
				hi = mid
			} else {
				lo = mid + 1
			}
		}
		return lo
	}
	from, to := least(weight), least(weight+1)-1
	for _, step := range []int{1000, 500, 250, 100, 50, 25, 10, 5} {
		if n := (from + step - 1) / step * step; n <= to {
			return float64(n) / 1000
		}
	}
	return float64(from) / 1000
}

// pressure parses a PSI file.
func pressure(b []byte) Pressure {
	some, full := cgroup.Pressure(b)
	p := Pressure{SomeTotal: micros(some.Total), FullTotal: micros(full.Total)}
	if some.HasAvg10 {
		p.SomeAvg10 = Of(some.Avg10)
	}
	if full.HasAvg10 {
		p.FullAvg10 = Of(full.Avg10)
	}
	return p
}
