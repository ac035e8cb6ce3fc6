// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"math"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/finding"
	"github.com/snug-go/snug/cmd/snug/internal/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/report"
	"github.com/snug-go/snug/cmd/snug/internal/rules"
	"github.com/snug-go/snug/limits"
)

// setterWords are who set a knob, as rules and documents name them.
var setterWords = map[goproc.By]string{
	goproc.ByEnvironment: rules.ByEnvironment,
	goproc.ByCode:        rules.ByCode,
	goproc.ByRuntime:     rules.ByRuntime,
	goproc.ByHostCPUs:    rules.ByHost,
}

// processFacts are what rules go by, of a process and its limits; l may be nil.
func processFacts(g *goproc.Facts, l *limits.Limits) *rules.Facts {
	f := &rules.Facts{Target: processName(g), Program: pasteable(strings.TrimSuffix(g.Path, "/")), Go: g.Exe.GoVersion, Minor: g.Exe.Minor}
	if g.Exe.Minor > 0 && g.Env != nil {
		f.Aware = new(g.Exe.Aware(g.Env["GODEBUG"]))
	}
	f.Procs = figure(g.GOMAXPROCS)
	f.ProcsBy = setterWords[g.GOMAXPROCSBy.By]
	if g.GOMAXPROCSBy.By == goproc.ByCode {
		f.Module = g.GOMAXPROCSBy.Detail
	}
	f.GOGC = figure(g.GOGC)
	if f.MemLimit = figure(g.GOMEMLIMIT); f.MemLimit != nil && g.GOMEMLIMIT.Value == math.MaxInt64 {
		f.MemLimit.V = 0
	}
	f.MemLimitBy = setterWords[g.GOMEMLIMITBy.By]
	f.Live, f.Goal, f.Mapped = figure(g.HeapMarked), figure(g.HeapGoal), figure(g.Mapped)
	if g.Collections.Known && g.Collections.Value == 0 {
		f.Live = nil // nothing was marked yet
	}
	if l == nil {
		return f
	}
	c, m := &l.CPU, &l.Memory
	f.Quota = limit(c.Quota, c.Source)
	if len(c.Levels) > 0 {
		f.OwnQuota = limit(c.Levels[0].Quota, c.Levels[0].Source)
	}
	f.Cores = limit(c.Cores, c.Source)
	if n, ok := c.Affinity.Get(); ok {
		f.CPUs = &rules.Num{V: float64(n), Source: "sched_getaffinity"}
	}
	if len(c.Levels) > 0 && c.Levels[0].CrashesGo() { // the one that the runtime reads
		f.Crashes = &rules.Num{V: 1, Source: c.Levels[0].File, Raw: c.Levels[0].Raw}
	}
	f.MemHard = limit(m.Hard, m.Source)
	if n, ok := m.Unreclaimable.Get(); ok && !f.MemHard.None() {
		f.MemUsed = &rules.Num{V: float64(n), Source: "memory.stat"}
	}
	if n, ok := m.Events.OOMKills.Get(); ok {
		f.OOMKills = &rules.Num{V: float64(n), Source: "oom_kill"}
	}
	return f
}

// pasteable is a path as a shell reads it; "" when a terminal could not show it as
// it is.
func pasteable(path string) string {
	if path == "" || path != report.Clean(path) {
		return ""
	}
	return shellQuote(path)
}

func processName(g *goproc.Facts) string {
	return "pid " + strconv.Itoa(g.Pid) + " (" + utf8Only(path.Base(executable(g))) + ")"
}

// executable is the executable's path, or the process's name where it has none: the
// kernel says "/" for a file on a mount that was detached, as runc init runs from.
func executable(g *goproc.Facts) string {
	if g.Path == "" || g.Path == "/" {
		return g.Stat.Name
	}
	return g.Path
}

// figure is one of goproc's, nil when it is unknown.
func figure[T int | int64 | uint32 | uint64 | float64](v goproc.Figure[T]) *rules.Num {
	if !v.Known {
		return nil
	}
	return &rules.Num{V: float64(v.Value), Source: v.Source}
}

// limit is one of package limits': 0 when there is none, nil when it is unknown.
func limit[T int | int64 | float64](v limits.Value[T], from limits.Source) *rules.Num {
	switch v.State {
	case limits.Known:
		return &rules.Num{V: float64(v.N), Source: from.File, Raw: from.Raw}
	case limits.None:
		return &rules.Num{}
	}
	return nil
}

// throttledShare is the share of the periods between two reads in which the group
// ran into its quota; before may be nil: then since the group was made. ok is
// false where no period passed, or no one counts them.
func throttledShare(before, now *limits.Limits) (share float64, ok bool) {
	count := func(l *limits.Limits) (periods, hits int64, ok bool) {
		if l == nil {
			return 0, 0, true
		}
		p, ok1 := l.CPU.Throttle.Periods.Get()
		h, ok2 := l.CPU.Throttle.Throttled.Get()
		return p, h, ok1 && ok2
	}
	p0, h0, ok0 := count(before)
	p1, h1, ok1 := count(now)
	if !ok0 || !ok1 || p1 <= p0 || h1 < h0 {
		return 0, false
	}
	return min(1, float64(h1-h0)/float64(p1-p0)), true
}

// sinceStart adds to one look what can be known of the time before it.
func sinceStart(f *rules.Facts, g *goproc.Facts, l *limits.Limits) {
	if !g.Stat.Started.IsZero() {
		f.Used = perSecond(g.Stat.CPU.Seconds(), time.Since(g.Stat.Started), "/proc/"+strconv.Itoa(g.Pid)+"/stat, since its start")
	}
	if c := &g.CPU.Value; g.CPU.Known {
		f.GCShare = share(c.GCTotal-c.GCIdle, c.User, c.Scavenge, g.CPU.Source+", since its start")
	}
	if part, ok := throttledShare(nil, l); ok && l != nil {
		f.Throttled = &rules.Num{V: part, Source: "cpu.stat, since the container was made"}
	}
}

// share is what collections took of the time that Ps were busy, but for marking by
// idle Ps, which nothing else wanted; nil = unknown. The
// classes count seconds of Ps, too many where CPU is short; their ratio holds.
func share(gc, user, scavenge time.Duration, source string) *rules.Num {
	busy := gc + user + scavenge
	if gc < 0 || busy <= 0 || gc > busy {
		return nil
	}
	return &rules.Num{V: gc.Seconds() / busy.Seconds(), Source: source}
}

// processRow is a process as `snug ps` lists it.
func processRow(g *goproc.Facts, l *limits.Limits, found []finding.Finding) finding.Process {
	r := finding.Process{PID: g.Pid, Exe: utf8Only(executable(g)), Findings: found, Unknown: []finding.Gap{}}
	gap := func(field, why string) {
		r.Unknown = append(r.Unknown, finding.Gap{Field: field, File: "/proc/" + strconv.Itoa(g.Pid), Why: why})
	}
	if v := g.Exe.GoVersion; v != "" {
		r.GoVersion = new(utf8Only(v))
	} else {
		gap("go_version", "the executable does not say")
	}
	if g.GOMAXPROCS.Known {
		r.GOMAXPROCS = new(g.GOMAXPROCS.Value)
	} else {
		gap("gomaxprocs", g.GOMAXPROCS.Why)
	}
	if by := setterWords[g.GOMAXPROCSBy.By]; by != "" {
		r.GOMAXPROCSSource = &by
	} else {
		gap("gomaxprocs_source", g.GOMAXPROCSBy.Detail)
	}
	switch {
	case !g.GOMEMLIMIT.Known:
		gap("gomemlimit_bytes", g.GOMEMLIMIT.Why)
	case g.GOMEMLIMIT.Value != math.MaxInt64:
		r.GOMEMLIMIT = new(g.GOMEMLIMIT.Value)
	}
	if g.GOGC.Known {
		r.GOGC = &finding.Amount{N: int64(g.GOGC.Value), Off: g.GOGC.Value < 0}
	} else {
		gap("gogc_percent", g.GOGC.Why)
	}
	if g.HeapMarked.Known {
		r.Live = new(int64(min(g.HeapMarked.Value, math.MaxInt64)))
	} else {
		gap("live_heap_bytes", g.HeapMarked.Why)
	}
	switch {
	case !g.HeapGoal.Known:
		gap("heap_goal_bytes", g.HeapGoal.Why)
	case g.HeapGoal.Value < 1<<60:
		r.Goal = new(int64(g.HeapGoal.Value))
	}
	if g.Collections.Known {
		r.Cycles = new(int64(g.Collections.Value))
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
	r.Quota, r.MemoryLimit = known(l.CPU.Quota), known(l.Memory.Hard)
	for _, u := range l.Unknown {
		switch u.Field {
		case "cpu.quota_cores":
			gap("quota_cores", u.Why)
		case "memory.hard_bytes":
			gap("memory_limit_bytes", u.Why)
		}
	}
	if share, ok := throttledShare(nil, l); ok {
		r.Throttled = &share
	} else if r.Quota != nil && l.CPU.Throttle.Periods.State == limits.Unknown {
		gap("throttled_ratio", "the quota's counters cannot be read")
	}
	return r
}

// perSecond is a figure that grew by n in so much time, in n a second.
func perSecond(n float64, in time.Duration, source string) *rules.Num {
	if in <= 0 || n < 0 {
		return nil
	}
	return &rules.Num{V: n / in.Seconds(), Source: source}
}
