// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"strconv"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/limits"
)

// Row returns the document's row for a process; l is nil if the limits are unknown.
func Row(g *goproc.Facts, l *limits.Limits, found []finding.Finding) finding.Process {
	r := finding.Process{
		PID: g.Pid, Exe: finding.UTF8(Executable(g)), Findings: found,
		GOMAXPROCS: g.GOMAXPROCS, GOMEMLIMIT: g.GOMEMLIMIT, Live: figure.As[int64](g.HeapMarked),
		Goal: figure.As[int64](g.HeapGoal), Cycles: figure.As[int64](g.Collections),
		Goroutines: g.Goroutines, Latency: Spread(g.SchedLatency), Stops: Spread(g.GCStops),
	}
	r.GoVersion.Because("the executable does not say")
	if v := g.Exe.GoVersion; v != "" {
		r.GoVersion.Know(finding.UTF8(v), "")
	}
	r.GOMAXPROCSSource.Because(g.GOMAXPROCSBy.Detail)
	if by, _ := procsBy(g, l); by != "" {
		r.GOMAXPROCSSource.Know(by, "")
	}
	r.GOGC.Because(g.GOGC.Why)
	if n, ok := g.GOGC.Get(); ok {
		r.GOGC.Know(finding.Amount{N: int64(n), Off: n < 0}, g.GOGC.Source)
	}
	r.Memory.None()
	if g.Stat.RSSBytes > 0 {
		r.Memory.Know(g.Stat.RSSBytes, "")
	}
	file := "/proc/" + strconv.Itoa(g.Pid)
	unread := []finding.Gap{{Field: "quota_cores", File: file, Why: "the process has ended"},
		{Field: "memory_limit_bytes", File: file, Why: "the process has ended"}}
	r.Quota.None()
	r.MemoryLimit.None()
	r.Throttled.None()
	if l != nil {
		if q := figure.Limit(l.CPU.Quota, l.CPU.QuotaSource); q.Known() {
			r.Quota = q
		}
		if m := figure.Limit(l.Memory.Hard, l.Memory.HardSource); m.Known() {
			r.MemoryLimit = m
		}
		if share, ok := Throttled(nil, l); ok {
			r.Throttled.Know(share, "")
		} else if r.Quota.Known() && l.CPU.Throttle.Periods.State == limits.Unknown {
			r.Throttled.Unknown("", "the quota's counters cannot be read")
		}
		unread = unreadLimits(l)
	}
	r.Unknown = append(finding.Gaps(&r, file), unread...)
	finding.Settle(&r, r.Unknown)
	return r
}

// Unsupported returns the document's row for a process with Go code that is not its executable.
func Unsupported(g *goproc.Facts) finding.Unsupported {
	why := finding.UTF8(g.Guest.String()) + "; its runtime is not read"
	u := finding.Unsupported{PID: g.Pid, Exe: finding.UTF8(Executable(g)), Why: why}
	if v := g.Guest.Version; v != "" {
		u.GoVersion = new(finding.UTF8(v))
	}
	return u
}

// unreadLimits lists the levels that could not be read. A limit found on another level holds all the
// same.
func unreadLimits(l *limits.Limits) []finding.Gap {
	var gaps []finding.Gap
	for _, gap := range l.Gaps {
		names := map[string]string{"cpu.quota_cores": "quota_cores", "memory.hard_bytes": "memory_limit_bytes"}
		if field := names[gap.Field]; field != "" && !gap.Redundant {
			gaps = append(gaps, finding.Gap{Field: field, File: finding.UTF8(gap.File), Why: finding.UTF8(gap.Why)})
		}
	}
	return gaps
}
