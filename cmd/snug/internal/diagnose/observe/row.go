// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"math"
	"strconv"

	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/limits"
)

// Row returns the document's row for a process; l is nil if the limits are unknown.
func Row(g *goproc.Facts, l *limits.Limits, found []finding.Finding) finding.Process {
	r := finding.Process{PID: g.Pid, Exe: finding.UTF8(Executable(g)), Findings: found, Unknown: []finding.Gap{}}
	gap := func(field, why string) {
		r.Unknown = append(r.Unknown, finding.Gap{Field: field, File: "/proc/" + strconv.Itoa(g.Pid), Why: why})
	}
	if v := g.Exe.GoVersion; v != "" {
		r.GoVersion = new(finding.UTF8(v))
	} else {
		gap("go_version", "the executable does not say")
	}
	if r.GOMAXPROCS = g.GOMAXPROCS.Ptr(); r.GOMAXPROCS == nil {
		gap("gomaxprocs", g.GOMAXPROCS.Why)
	}
	if by := setterWords[g.GOMAXPROCSBy.By]; by != "" {
		r.GOMAXPROCSSource = &by
	} else {
		gap("gomaxprocs_source", g.GOMAXPROCSBy.Detail)
	}
	if r.GOMEMLIMIT = g.GOMEMLIMIT.Ptr(); !g.GOMEMLIMIT.Read() {
		gap("gomemlimit_bytes", g.GOMEMLIMIT.Why)
	}
	if g.GOGC.Known() {
		r.GOGC = &finding.Amount{N: int64(g.GOGC.N), Off: g.GOGC.N < 0}
	} else {
		gap("gogc_percent", g.GOGC.Why)
	}
	if g.HeapMarked.Known() {
		r.Live = new(int64(min(g.HeapMarked.N, math.MaxInt64)))
	} else {
		gap("live_heap_bytes", g.HeapMarked.Why)
	}
	if g.HeapGoal.Known() {
		r.Goal = new(int64(g.HeapGoal.N))
	} else if !g.HeapGoal.Read() {
		gap("heap_goal_bytes", g.HeapGoal.Why)
	}
	if g.Collections.Known() {
		r.Cycles = new(int64(g.Collections.N))
	} else {
		gap("collections", g.Collections.Why)
	}
	if g.Stat.RSSBytes > 0 {
		r.Memory = new(g.Stat.RSSBytes)
	}
	if l == nil {
		gap("quota_cores", "the process has ended")
		gap("memory_limit_bytes", "the process has ended")
		return r
	}
	r.Quota, r.MemoryLimit = Known(l.CPU.Quota), Known(l.Memory.Hard)
	for _, u := range l.Unknown {
		switch u.Field {
		case "cpu.quota_cores":
			gap("quota_cores", u.Why)
		case "memory.hard_bytes":
			gap("memory_limit_bytes", u.Why)
		}
	}
	if share, ok := Throttled(nil, l); ok {
		r.Throttled = &share
	} else if r.Quota != nil && l.CPU.Throttle.Periods.State == limits.Unknown {
		gap("throttled_ratio", "the quota's counters cannot be read")
	}
	return r
}
