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
	}
	r.GoVersion.Because("the executable does not say")
	if v := g.Exe.GoVersion; v != "" {
		r.GoVersion.Know(finding.UTF8(v), "")
	}
	r.GOMAXPROCSSource.Because(g.GOMAXPROCSBy.Detail)
	if by := setterWords[g.GOMAXPROCSBy.By]; by != "" {
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
	r.Throttled.None()
	if l == nil {
		r.Quota.Because("the process has ended")
		r.MemoryLimit.Because("the process has ended")
	} else {
		r.Quota = Limit(l, "cpu.quota_cores", l.CPU.Quota, l.CPU.Source)
		r.MemoryLimit = Limit(l, "memory.hard_bytes", l.Memory.Hard, l.Memory.Source)
		if share, ok := Throttled(nil, l); ok {
			r.Throttled.Know(share, "")
		} else if r.Quota.Known() && l.CPU.Throttle.Periods.State == limits.Unknown {
			r.Throttled.Unknown("", "the quota's counters cannot be read")
		}
	}
	r.Unknown = finding.Gaps(&r, "/proc/"+strconv.Itoa(g.Pid))
	return r
}

// Limit returns the figure for a limit. field is its name in l.Unknown, which says why it is
// unknown.
func Limit[T int | int64 | float64](l *limits.Limits, field string, v limits.Value[T], from limits.Source) figure.Of[T] {
	f := figure.Limit(v, from)
	for _, gap := range l.Unknown {
		if gap.Field == field {
			f.Because(gap.Why)
		}
	}
	return f
}
