// SPDX-License-Identifier: Apache-2.0

// Package examine reads one target and applies package rules to it: a process that it watches
// for a while, a profile, a trace, a log or a page of metrics. It also finds the processes
// that a name matches.
package examine

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/holders"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/profile/cpuprof"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
	"github.com/snug-go/snug/limits"
)

const (
	// spinRate is how many times per second idle and spinning Ps are counted.
	spinRate = 1000
	// MaxThreads bounds the threads that are read at the start and at the end.
	MaxThreads = 4096
	// maxLooks is how many times memory and threads are read.
	maxLooks = 200
	// minSamples is the smallest profile whose shares mean something.
	minSamples = 100
	// accounted is the smallest share of the CPU time that samples should cover.
	accounted = 0.9
)

// Examination watches one process.
type Examination struct {
	Proc  *proc.Process
	Files *goproc.Cache
	h     *limits.Handle

	profile    *cpuprof.Summary
	spin       *goproc.SpinSummary
	looks      []observe.Look
	goroutines *crowd
	records    *holders.Reader // nil until they are opened, see open
	names      *holders.Names
	unknown    []finding.Gap
}

// Process watches a process for duration and returns its figures and findings. It neither
// stops nor changes the process. If snug may not read the process, it returns an error
// together with the figures that need no permission.
func Process(ctx context.Context, pid int, duration time.Duration, files *goproc.Cache) (*finding.Examined, error) {
	p, err := proc.Open(pid)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	e := &Examination{Proc: p, Files: files, unknown: []finding.Gap{}}
	defer e.close()
	if e.h, err = limits.Open(limits.Process{PID: pid}); err == nil {
		defer func() { e.h.Close() }()
		if tree := e.beside(); tree != nil {
			defer tree.Close()
		}
	}
	first := e.look()
	var denied *proc.Denied
	switch {
	case errors.As(first.Go.Err, &denied):
		e.gap("program", denied.Error()+" ("+denied.Hint()+")")
	case first.Go.Err != nil:
		return nil, first.Go.Err
	case !first.Go.Exe.IsGo:
		return nil, NewNotGo(p, files, first.Go.Exe.What)
	}
	last := first
	if guest, err := files.Guest(p); denied == nil && err != nil {
		e.gap("library", err.Error())
	} else if denied == nil && guest.Path != "" {
		e.gap("library", guest.String()+": its functions have no names, and its runtime, if it has its own, is not read")
	}
	if duration > 0 && denied == nil {
		p.Allow(proc.NewBudget(context.Background(), Watching(duration), nil))
		e.watch(ctx, first.Go, duration)
		p.Renew(context.Background()) // Ctrl-C ends the watch, not the last look
		last = e.look()
	}
	if errors.Is(last.Go.Err, proc.ErrGone) {
		last.Go, last.Limits = first.Go, first.Limits
		why := "the process ended while it was watched"
		if killed := oomKilled(first.Limits); killed != nil {
			last.Limits, why = killed, "the process was OOM-killed while it was watched"
		}
		e.gap("end", why)
	}
	if state := last.Go.Stat.State; state == first.Go.Stat.State {
		switch state { // proc_pid_stat(5)
		case 'T':
			e.gap("activity", "the process is stopped, by SIGSTOP or a terminal: kill -CONT "+strconv.Itoa(pid)+" continues it")
		case 't':
			e.gap("activity", "a debugger has stopped the process")
		}
	}
	f := observe.Facts(last.Go, last.Limits)
	e.Rates(f, &first, &last)
	if state := last.Go.Stat.State; state == 'T' || state == 't' {
		f.Finalizing = figure.Of[float64]{} // stopped, whatever it was at
	}
	e.unlimited(f, last.Limits)
	t := examined("process", f, e.unknown)
	if denied != nil {
		return t, denied // the figures that need no permission, and the error
	}
	e.lacking(t, last.Go)
	return t, nil
}

// Watching returns the budget of a watch without the records of goroutines: its looks at the Ps and the memory are few
// calls each, and the names of functions are looked up in the executable.
func Watching(d time.Duration) proc.Amount {
	a := proc.OneLook
	a.Bytes, a.Calls = 3*a.Bytes, a.Calls+int64(4*spinRate*d.Seconds())
	a.Time += d
	return a
}

// beside reads the limits from the process's own mounts, if this program is in a container of its own beside that
// of the process, where the process's cgroup is not visible. It returns the tree that stays open; nil = none is needed.
func (e *Examination) beside() *os.Root {
	l, err := e.h.Read(0)
	if err != nil || l.CPU.Quota.State != limits.Unknown && l.Memory.Hard.State != limits.Unknown {
		return nil
	}
	status, err := e.Proc.Status()
	if err != nil {
		return nil
	}
	tree, err := os.OpenRoot("/proc/" + strconv.Itoa(e.Proc.Pid()) + "/root")
	if err != nil {
		return nil
	}
	h, err := limits.Open(limits.Process{PID: status.NSPid, FS: tree.FS()})
	if err != nil {
		tree.Close()
		return nil
	}
	e.h.Close()
	e.h = h
	return tree
}

// unlimited says which limits are not known, and why: no limit that was looked for is something else.
func (e *Examination) unlimited(f *rules.Facts, l *limits.Limits) {
	var what []string
	if !f.Quota.Read() {
		what = append(what, "CPU quota")
	}
	if !f.MemHard.Read() {
		what = append(what, "memory limit")
	}
	if len(what) == 0 {
		return
	}
	why := "its cgroup cannot be read from here"
	if l != nil && len(l.Gaps) > 0 {
		why = l.Gaps[0].Why
	}
	e.gap(strings.Join(what, " and "), why)
}

// examined applies the rules to a target's facts.
func examined(kind string, f *rules.Facts, unknown []finding.Gap) *finding.Examined {
	t := &finding.Examined{Target: f.Target, Kind: kind, Facts: f.Seen(), Findings: rules.Check(f), Unknown: unknown}
	if f.Go != "" {
		t.Go = new(finding.UTF8(f.Go))
	}
	if n, ok := f.Seconds.Get(); ok {
		t.Seconds = &n
	}
	if f.ProcsBy != "" {
		t.GOMAXPROCSSource = new(f.ProcsBy)
	}
	if f.Module != "" {
		t.GOMAXPROCSModule = new(finding.UTF8(f.Module))
	}
	return t
}

func (e *Examination) gap(field, why string) {
	e.unknown = append(e.unknown, finding.Gap{Field: field, File: "/proc/" + strconv.Itoa(e.Proc.Pid()),
		Why: finding.UTF8(why)})
}

func (e *Examination) look() observe.Moment {
	m := observe.Moment{At: time.Now()}
	// Read the counters first, because the first look at a large program takes a while.
	d, err := e.Proc.RunDelay(MaxThreads)
	m.Delays, m.Waits = d, err == nil && d.Unread == 0
	m.Idle, _ = e.Proc.Idle()
	if io, err := e.Proc.IO(); err == nil {
		m.IO = &io
	}
	if e.h != nil {
		if l, err := e.h.Read(limits.Counters | limits.Detail | limits.Unreclaimable); err == nil {
			m.Limits = &l
		}
	}
	m.Go = goproc.Look(e.Proc, e.Files)
	return m
}

// watch samples CPU time by perf events and Ps by the runtime's counters, until duration is
// over or ctx ends.
func (e *Examination) watch(ctx context.Context, g *goproc.Facts, duration time.Duration) {
	if g.Err != nil {
		// Only the counters that need no permission can be read.
		select {
		case <-ctx.Done():
		case <-time.After(duration):
		}
		return
	}
	var both sync.WaitGroup
	var profileErr, spinErr error
	both.Go(func() {
		// Open them before sampling: the process may end or run another program.
		sym, err := OpenSymbols(e.Proc)
		if err != nil {
			profileErr = err
			return
		}
		defer sym.Close()
		var raw *cpuprof.Raw
		if raw, profileErr = cpuprof.Capture(ctx, e.Proc.Pid(), cpuprof.Options{Duration: duration}); profileErr != nil {
			return
		}
		if part, known := raw.Accounted(); known && part < accounted && raw.Scheduled > 0.5 || raw.Unsampled > 0 {
			e.gap("profile", "a part of the CPU time was not sampled: short threads, or too many")
		}
		p, err := raw.Profile(sym)
		if err = cmp.Or(err, sym.Err()); err == nil {
			e.profile, err = cpuprof.Summarize(p)
		}
		profileErr = err
	})
	both.Go(func() {
		s, err := goproc.Spin(ctx, e.Proc, g, spinRate, duration)
		if s.Samples > 0 {
			e.spin = &s
		}
		spinErr = err
	})
	both.Go(func() { e.follow(ctx, g, duration) })
	var crowdErr error
	both.Go(func() { crowdErr = e.crowd(ctx, duration) })
	both.Wait()
	if crowdErr != nil && e.goroutines == nil {
		e.gap("goroutines", crowdErr.Error())
	}
	if profileErr != nil {
		e.gap("profile", profileErr.Error())
	}
	if spinErr != nil && e.spin == nil && !errors.Is(spinErr, context.Canceled) {
		e.gap("spinning Ps", spinErr.Error())
	}
}

// follow reads again and again what may grow, for a thirtieth of the time: a look at 10,000 threads takes a
// millisecond.
func (e *Examination) follow(ctx context.Context, g *goproc.Facts, duration time.Duration) {
	every := time.NewTicker(max(duration/maxLooks, time.Millisecond))
	defer every.Stop()
	for end := time.Now().Add(duration); time.Now().Before(end); {
		begin := time.Now()
		now := g.Again(e.Proc)
		every.Reset(max(duration/maxLooks, time.Millisecond, 30*time.Since(begin)))
		if now.Err != nil {
			return
		}
		e.looks = append(e.looks, observe.LookAt(time.Now(), now))
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// Rates adds the rates between two moments to f.
func (e *Examination) Rates(f *rules.Facts, a, b *observe.Moment) {
	if b.At.After(a.At) {
		e.sampled(f)
	}
	observe.Rates(f, a, b)
}

// sampled adds the samples of the watch to f.
func (e *Examination) sampled(f *rules.Facts) {
	if s := e.spin; s != nil {
		f.Busy = figure.New(s.Busy, s.Source+", "+strconv.Itoa(s.Samples)+" looks")
		f.Spinning = figure.New(s.Spinning, f.Busy.Source)
	}
	if s := e.profile; s != nil && s.Samples >= minSamples {
		causes(f, s)
	} else if s != nil {
		e.gap("profile", fewSamples(s)+longer(s.Duration, float64(s.Samples)/minSamples))
	}
	if e.goroutines != nil {
		e.goroutines.facts(f)
	}
	if grew, part := observe.Growth(f, e.looks); grew > 0 {
		took := e.looks[len(e.looks)-1].At.Sub(e.looks[0].At)
		const few = " more of Go's memory, and too few collections to tell a leak from garbage"
		e.gap("growth", units.Bytes(int64(grew))+few+longer(took, part))
	}
	if f.LiveGrowth != nil || f.GoGrowth != nil {
		if err := e.holding(f); err != nil {
			e.gap("what keeps the memory", err.Error())
		}
	} else if live, _ := f.Live.Get(); f.KeepsTimers && live >= minKept {
		_ = e.holding(f) // most programs of this age have nothing to say, and many no heap profile
	}
}

// longer says how long to watch, if a watch had only a part of what is needed, 0 to 1; "" if that is
// unknown or more than an hour.
func longer(watched time.Duration, part float64) string {
	const step = 10 * time.Second
	need := float64(watched) / part * 1.2
	if !(need > 0 && need <= float64(time.Hour)) {
		return ""
	}
	d := (time.Duration(need)/step + 1) * step
	return ": --duration " + strings.Replace(d.String(), "m0s", "m", 1) + " should be enough"
}

// lacking lists what could not be read, one entry per reason.
func (e *Examination) lacking(t *finding.Examined, g *goproc.Facts) {
	why := map[string]bool{}
	for _, gap := range observe.Row(g, nil, nil).Unknown {
		if gap.Why != "" && !why[gap.Why] && gap.Field != "quota_cores" && gap.Field != "memory_limit_bytes" {
			why[gap.Why] = true
			t.Unknown = append(t.Unknown, gap)
		}
	}
	if g.Hint != "" && len(t.Unknown) > 0 {
		t.Unknown[0].Why += " (" + g.Hint + ")"
	}
}
