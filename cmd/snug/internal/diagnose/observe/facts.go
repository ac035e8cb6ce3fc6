// SPDX-License-Identifier: Apache-2.0

// Package observe sees Go processes as rules and documents see them: it turns what
// goproc and limits have read into the facts that rules go by and into a document's
// row, and finds the Go processes of a machine. It decides nothing and prints nothing.
package observe

import (
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/figure"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/limits"
)

// setterWords are who set a knob, as rules and documents name them.
var setterWords = map[goproc.By]string{
	goproc.ByEnvironment: rules.ByEnvironment,
	goproc.ByCode:        rules.ByCode,
	goproc.ByRuntime:     rules.ByRuntime,
	goproc.ByHostCPUs:    rules.ByHost,
}

// Facts are what rules go by, of a process and its limits; l may be nil, where they are
// not known.
func Facts(g *goproc.Facts, l *limits.Limits) *rules.Facts {
	f := &rules.Facts{Target: Name(g), Program: pasteable(strings.TrimSuffix(g.Path, "/")), Go: g.Exe.GoVersion, Minor: g.Exe.Minor}
	f.Prebuilt = g.Exe.Stripped || packaged(g.Path)
	if g.Exe.Minor > 0 && g.Env != nil {
		f.Aware = new(g.Exe.Aware(g.Env["GODEBUG"]))
	}
	f.Procs = figure.Float(g.GOMAXPROCS)
	f.ProcsBy = setterWords[g.GOMAXPROCSBy.By]
	if g.GOMAXPROCSBy.By == goproc.ByCode {
		f.Module = g.GOMAXPROCSBy.Detail
	}
	f.GOGC = figure.Float(g.GOGC)
	f.MemLimit = figure.Float(g.GOMEMLIMIT)
	f.MemLimitBy = setterWords[g.GOMEMLIMITBy.By]
	if g.GOMEMLIMITBy.By == goproc.ByCode {
		f.MemModule = g.GOMEMLIMITBy.Detail
	}
	f.Live, f.Goal, f.Mapped = figure.Float(g.HeapMarked), figure.Float(g.HeapGoal), figure.Float(g.Mapped)
	if g.Collections.Known() && g.Collections.N == 0 {
		f.Live = figure.Of[float64]{} // nothing was marked yet
	}
	if l == nil {
		return f
	}
	c, m := &l.CPU, &l.Memory
	f.Unit = unit(l)
	f.Quota = figure.Limit(c.Quota, c.Source)
	if len(c.Levels) > 0 {
		f.OwnQuota = figure.Limit(c.Levels[0].Quota, c.Levels[0].Source)
	}
	f.Cores = figure.Limit(c.Cores, c.Source)
	if n, ok := c.Affinity.Get(); ok {
		f.CPUs = figure.New(float64(n), "sched_getaffinity")
	}
	if level := c.Runtime; level != nil && level.CrashesGo {
		f.Crashes = figure.Of[float64]{N: 1, State: limits.Known, Source: level.File, Raw: level.Raw}
	}
	f.MemHard = figure.Limit(m.Hard, m.Source)
	if n, ok := m.Unreclaimable.Get(); ok && f.MemHard.State != limits.None {
		f.MemUsed = figure.New(float64(n), "memory.stat")
	}
	if n, ok := m.Events.OOMKills.Get(); ok {
		f.OOMKills = figure.New(float64(n), "oom_kill")
	}
	return f
}

// packaged reports whether distributions put programs there (hier(7)).
func packaged(file string) bool {
	for _, dir := range []string{"/usr/bin/", "/usr/sbin/", "/usr/lib/", "/usr/libexec/", "/bin/", "/sbin/", "/lib/", "/snap/"} {
		if strings.HasPrefix(file, dir) {
			return true
		}
	}
	return false
}

// unit is the systemd service whose cgroup a process's is ("systemd.unit(5)": the
// group is named after it); "" when it is none.
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

// pasteable is a path as a shell reads it; "" when a terminal could not show it as
// it is.
func pasteable(path string) string {
	if path == "" || path != message.Clean(path) {
		return ""
	}
	return ShellQuote(path)
}

// ShellQuote is a text as one word of a shell: a path with a blank would otherwise be
// two arguments.
func ShellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Name is how findings call a process: "pid 4711 (server)".
func Name(g *goproc.Facts) string {
	return "pid " + strconv.Itoa(g.Pid) + " (" + finding.UTF8(path.Base(Executable(g))) + ")"
}

// Executable is the executable's path, or the process's name where it has none: the
// kernel says "/" for a file on a mount that was detached, as runc init runs from.
func Executable(g *goproc.Facts) string {
	if g.Path == "" || g.Path == "/" {
		return g.Stat.Name
	}
	return g.Path
}

// Known is a figure as documents have it: nil for none as well as for unknown, which
// the document lists.
func Known[T int | int64 | float64](v limits.Value[T]) *T {
	if n, ok := v.Get(); ok {
		return &n
	}
	return nil
}

// Throttled is the share of the periods between two reads in which the group
// ran into its quota, 0 to 1; before may be nil: then since the group was made. ok is
// false where no period passed, or no one counts them.
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

// SinceStart adds to one look what can be known of the time before it.
func SinceStart(f *rules.Facts, g *goproc.Facts, l *limits.Limits) {
	if !g.Stat.Started.IsZero() {
		f.Used = PerSecond(g.Stat.CPU.Seconds(), time.Since(g.Stat.Started), "/proc/"+strconv.Itoa(g.Pid)+"/stat, since its start")
	}
	if c := &g.CPU.N; g.CPU.Known() {
		// The classes end with the last collection: what ran after it had none.
		user := max(c.User, g.Stat.CPU-(c.GCTotal-c.GCIdle)-c.Scavenge)
		f.GCShare = GCShare(c.GCTotal-c.GCIdle, user, c.Scavenge, g.CPU.Source+", since its start")
	}
	if part, ok := Throttled(nil, l); ok && l != nil {
		f.Throttled = figure.New(part, "cpu.stat, since the container was made")
	}
}

// GCShare is what collections took of the time that Ps were busy, but for marking by
// idle Ps, which nothing else wanted. The
// classes count seconds of Ps, too many where CPU is short; their ratio holds.
func GCShare(gc, user, scavenge time.Duration, source string) figure.Of[float64] {
	busy := gc + user + scavenge
	if gc < 0 || busy <= 0 || gc > busy {
		return figure.Of[float64]{}
	}
	return figure.New(gc.Seconds()/busy.Seconds(), source)
}

// PerSecond is a figure that grew by n in so much time, in n a second.
func PerSecond(n float64, in time.Duration, source string) figure.Of[float64] {
	if in <= 0 || n < 0 {
		return figure.Of[float64]{}
	}
	return figure.New(n/in.Seconds(), source)
}
