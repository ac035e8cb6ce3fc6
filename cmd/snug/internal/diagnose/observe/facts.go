// SPDX-License-Identifier: Apache-2.0

// Package observe turns what goproc and limits have read into facts for package rules and
// rows for documents, and finds the Go processes of a machine. It decides nothing and prints
// nothing.
package observe

import (
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podid"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/limits"
)

// setterWords maps who set a setting to the words of rules and documents.
var setterWords = map[goproc.By]string{
	goproc.ByEnvironment: rules.ByEnvironment,
	goproc.ByCode:        rules.ByCode,
	goproc.ByRuntime:     rules.ByRuntime,
	goproc.ByHostCPUs:    rules.ByHost,
}

// Facts returns the facts for a process and its limits; l is nil if they are unknown.
func Facts(g *goproc.Facts, l *limits.Limits) *rules.Facts {
	f := &rules.Facts{Target: Name(g), Program: pasteable(strings.TrimSuffix(g.Path, "/")), Go: g.Exe.GoVersion,
		Minor: g.Exe.Minor}
	f.Prebuilt = g.Exe.Stripped || packaged(g.Path)
	if g.Exe.Minor > 0 && g.Env != nil {
		f.Aware = new(g.Exe.Aware(g.Env["GODEBUG"]))
		f.KeepsTimers = g.Exe.KeepsTimers(g.Env["GODEBUG"])
	}
	f.Procs = figure.As[float64](g.GOMAXPROCS)
	if f.ProcsBy, f.Missed = procsBy(g, l); f.Missed {
		f.Aware = new(false)
	}
	if f.ProcsBy == rules.ByEnvironment && strings.HasPrefix(path.Base(Executable(g)), "containerd-shim") {
		f.Procs = figure.Of[float64]{} // containerd sets it (its pkg/shim/util.go): users cannot change it
	}
	if g.GOMAXPROCSBy.By == goproc.ByCode {
		f.Module = g.GOMAXPROCSBy.Detail
	}
	f.GOGC = figure.As[float64](g.GOGC)
	f.MemLimit = figure.As[float64](g.GOMEMLIMIT)
	f.MemLimitBy = setterWords[g.GOMEMLIMITBy.By]
	if g.GOMEMLIMITBy.By == goproc.ByCode {
		f.MemModule = g.GOMEMLIMITBy.Detail
	}
	f.Live, f.Goal, f.Mapped = figure.As[float64](g.HeapMarked), figure.As[float64](g.HeapGoal),
		figure.As[float64](g.Mapped)
	if g.HeapMarked.Known() && g.LastGoal.Known() && g.LastGoal.N > 0 {
		f.Kept = figure.New(min(1, float64(g.HeapMarked.N)/float64(g.LastGoal.N)), g.LastGoal.Source)
	}
	if g.Collections.Known() && g.Collections.N == 0 {
		f.Live = figure.Of[float64]{} // no collection has marked yet
	}
	if !g.Stat.Started.IsZero() {
		f.Age = figure.New(time.Since(g.Stat.Started).Seconds(), "/proc/"+strconv.Itoa(g.Pid)+"/stat")
	}
	if l == nil {
		return f
	}
	c, m := &l.CPU, &l.Memory
	f.Unit = unit(l)
	if g.GOMAXPROCS.Known() && mayInject(l, g.GOMAXPROCS.N) {
		f.Injector = "CRI-O"
	}
	f.Quota = figure.Limit(c.Quota, c.QuotaSource)
	if part, ok := Throttled(nil, l); ok && f.Quota.Known() && c.Throttle.Periods.N >= minPeriods {
		f.Ever = figure.New(part, "cpu.stat, "+strconv.FormatInt(c.Throttle.Periods.N, 10)+" periods of the group")
	}
	if len(c.Levels) > 0 {
		f.OwnQuota = figure.Limit(c.Levels[0].Quota, c.Levels[0].Source)
	}
	f.Cores = figure.Limit(c.Cores, c.QuotaSource)
	if n, ok := c.Affinity.Get(); ok {
		f.CPUs = figure.New(float64(n), "sched_getaffinity")
	}
	if level := c.RuntimeLevel; level != nil && level.CrashesGo {
		f.Crashes = figure.Of[float64]{N: 1, State: limits.Known, Source: level.File, Raw: level.Raw}
	}
	f.MemHard = figure.As[float64](figure.Limit(m.Hard, m.HardSource))
	if n, ok := m.Unreclaimable.Get(); ok && f.MemHard.State != limits.None {
		f.MemUsed = figure.New(float64(n), "memory.stat")
	}
	if n, ok := m.Events.OOMKills.Get(); ok {
		f.OOMKills = figure.New(float64(n), "oom_kill")
	}
	return f
}

// procsBy returns what chose GOMAXPROCS, and whether the runtime has missed the quota.
func procsBy(g *goproc.Facts, l *limits.Limits) (by string, missed bool) {
	if l != nil && g.MissedQuota(&l.CPU) {
		return rules.ByHost, true
	}
	return setterWords[g.GOMAXPROCSBy.By], false
}

// packaged reports whether distributions install programs there (hier(7)).
func packaged(file string) bool {
	for _, dir := range []string{"/usr/bin/", "/usr/sbin/", "/usr/lib/", "/usr/libexec/", "/bin/", "/sbin/", "/lib/",
		"/snap/"} {
		if strings.HasPrefix(file, dir) {
			return true
		}
	}
	return false
}

// mayInject reports whether CRI-O may give n as GOMAXPROCS to a process with these limits. Source: CRI-O
// internal/runtimehandlerhooks/gomaxprocs_hooks_linux.go: in Burstable and BestEffort pods without a
// quota, the request rounded up, or the configured minimum if that is more.
func mayInject(l *limits.Limits, n int) bool {
	if len(l.CPU.Levels) == 0 || l.CPU.Quota.State != limits.None {
		return false
	}
	at := podid.ParsePath(l.CPU.Levels[0].Level)
	if at.Runtime != "cri-o" || at.Class != podid.Burstable && at.Class != podid.BestEffort {
		return false
	}
	request := 0.0 // the smallest that the weight may stand for
	if len(l.CPU.RequestHints) > 0 {
		request = slices.Min(l.CPU.RequestHints)
	}
	return float64(n) >= max(1, math.Ceil(request))
}

// unit returns the systemd service of the process's cgroup, which is named after it
// (systemd.unit(5)); "" = none.
func unit(l *limits.Limits) string {
	if len(l.CPU.Levels) == 0 {
		return ""
	}
	name := path.Base(l.CPU.Levels[0].Level)
	if !strings.HasSuffix(name, ".service") || pasteable(name) != name {
		return ""
	}
	return name
}

// pasteable returns a path quoted for a shell, or "" if it is not printable.
func pasteable(path string) string {
	if path == "" || path != message.Clean(path) {
		return ""
	}
	return ShellQuote(path)
}

// ShellQuote returns text as one word of a shell: a path with a space would otherwise be two
// arguments.
func ShellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Name returns the name of a process in findings: "pid 4711 (server)".
func Name(g *goproc.Facts) string {
	return "pid " + strconv.Itoa(g.Pid) + " (" + finding.UTF8(path.Base(Executable(g))) + ")"
}

// Executable returns the path of the executable, or the process's name if it has no path: the
// kernel reports "/" for a file on a detached mount, from which runc init runs.
func Executable(g *goproc.Facts) string {
	if g.Path == "" || g.Path == "/" {
		return g.Stat.Name
	}
	return g.Path
}

// Throttled returns the share of throttled periods between two reads, 0 to 1. If before is
// nil, it counts since the group was made. ok is false if no period passed or the kernel does
// not count them.
func Throttled(before, now *limits.Limits) (share float64, ok bool) {
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

// minPeriods is the number of periods of a group from which their throttled share means something: ten seconds
// of work in the usual periods of 100 ms.
const minPeriods = 100

// SinceStart adds to the facts of one look what counters show of the time before it.
func SinceStart(f *rules.Facts, g *goproc.Facts) {
	if !g.Stat.Started.IsZero() {
		f.Used = PerSecond(g.Stat.CPU.Seconds(), time.Since(g.Stat.Started),
			"/proc/"+strconv.Itoa(g.Pid)+"/stat, since its start")
	}
	if c := &g.CPU.N; g.CPU.Known() {
		// The CPU classes end with the last collection. User code that ran after it is missing
		// in them.
		user := max(c.User, g.Stat.CPU-(c.GCTotal-c.GCIdle)-c.Scavenge)
		f.GCShare = GCShare(c.GCTotal-c.GCIdle, user, c.Scavenge, g.CPU.Source+", since its start")
	}
}

// GCShare returns the share of the busy time of Ps that collections took. gc must not contain
// marking by idle Ps, whose time was free. The classes count seconds of Ps, which
// is too much where CPU time is short, but their ratio is right.
func GCShare(gc, user, scavenge time.Duration, source string) figure.Of[float64] {
	busy := gc + user + scavenge
	if gc < 0 || busy <= 0 || gc > busy {
		return figure.Of[float64]{}
	}
	return figure.New(gc.Seconds()/busy.Seconds(), source)
}

// PerSecond returns the rate of a counter that grew by n in the given time.
func PerSecond(n float64, in time.Duration, source string) figure.Of[float64] {
	if in <= 0 || n < 0 {
		return figure.Of[float64]{}
	}
	return figure.New(n/in.Seconds(), source)
}
