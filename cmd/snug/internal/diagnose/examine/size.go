// SPDX-License-Identifier: Apache-2.0

package examine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/size"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/limits"
)

const (
	// sizeEvery is how often memory and CPU time are read; 100 ms is the period of quotas. sizeWindow is how long CPU
	// time is counted for a request.
	sizeEvery, sizeWindow = 100 * time.Millisecond, time.Second
	// sizeThreads bounds the threads whose CPU time is read that often.
	sizeThreads = 256
	// sizeStart is the part of a program's life that says nothing of its usual load.
	sizeStart = 10 * time.Second
	// sizeOver bounds how far a heap passes its goal: hardGoal of runtime/mgcpacer.go with GOGC=100.
	sizeOver = 2
	// sizeGrowth is the smallest growth of the live heap in bytes that counts, and sizeEarlier that of a peak before the
	// watch over the peak in it, which the kernel's counts are not wrong by.
	sizeGrowth, sizeEarlier = 2 << 20, 8 << 20
)

// Size watches a process for duration and returns the container that it needs. It neither stops nor changes it.
func Size(ctx context.Context, pid int, duration time.Duration, price size.Price,
	files *goproc.Cache) (*finding.Size, error) {
	p, err := proc.Open(pid)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	e := &Examination{Proc: p, Files: files}
	if e.h, err = limits.Open(limits.Process{PID: pid}); err == nil {
		defer e.h.Close()
	}
	first := e.look()
	g := first.Go
	if err := unsized(g, p, files); err != nil {
		return nil, err
	}
	var w sizeWatch
	aware := observe.Facts(g, first.Limits).Aware
	w.seen = size.Seen{CPUs: g.CPUs, Minor: g.Exe.Minor, Aware: aware != nil && *aware}
	if !g.Stat.Started.IsZero() {
		age := first.At.Sub(g.Stat.Started)
		if age+duration < sizeStart {
			return nil, tooYoung(g)
		}
		w.seen.Age = age.Seconds()
	}
	shared := "it has no memory limit of its own"
	if OwnLimit(first.Limits) {
		w.seen.Mates, shared = mates(first.Limits, pid)
	}
	if w.own = shared == ""; !w.own {
		e.gap("memory that the kernel keeps for it", shared+", so only resident memory is counted")
	}
	w.follow(ctx, e, &first, duration)
	e.Proc.Renew(context.Background())
	last := e.look()
	switch {
	case errors.Is(last.Go.Err, proc.ErrGone) && oomKilled(first.Limits) != nil:
		return nil, message.Failed(observe.Name(g)+": it was OOM-killed while it was watched",
			"watch it with a larger memory limit")
	case errors.Is(last.Go.Err, proc.ErrGone):
		return nil, message.Failed(observe.Name(g)+": it ended while it was watched, or became another program",
			"watch a process that goes on, or for a shorter time with --for")
	}
	if err := unsized(last.Go, p, files); err != nil {
		return nil, err // such as stopped meanwhile
	}
	if took := last.At.Sub(first.At); took < min(duration, SizeLeast) {
		return nil, message.Failed(fmt.Sprintf("%s: the watch ended after %.1f s, which says nothing", observe.Name(g),
			took.Seconds()), "let it go on for 5 s or longer")
	} else if w.seen.Age > 0 && w.seen.Age+took.Seconds() < sizeStart.Seconds() {
		return nil, tooYoung(g)
	}
	w.sum(&first, &last)
	if status, err := p.Status(); err == nil {
		w.earlier(float64(status.Peak))
	}
	d := size.Decide(&w.seen, price)
	d.Target = observe.Name(last.Go)
	if d.ByGo && last.Go.GOMAXPROCSBy.By == goproc.ByEnvironment {
		d.GOMAXPROCS.Why.Code = finding.SizeGoWould
	}
	if v := last.Go.Exe.GoVersion; v != "" {
		d.Go = new(finding.UTF8(v))
	}
	d.Unknown = append(append(d.Unknown, e.unknown...), size.Gaps(&d.Seen)...)
	return d, nil
}

// SizeLeast is the shortest watch.
const SizeLeast = 5 * time.Second

func tooYoung(g *goproc.Facts) error {
	return message.Failed(observe.Name(g)+": it has just started",
		"watch it under its usual load: snug size "+strconv.Itoa(g.Pid)+" --for 2m")
}

// unsized returns why a process has no size; nil = it may have one.
func unsized(g *goproc.Facts, p *proc.Process, files *goproc.Cache) error {
	switch {
	case g.Err != nil:
		return g.Err
	case !g.Exe.IsGo:
		return NewNotGo(p, files, g.Exe.What)
	}
	err := Stopped(&g.Stat, observe.Name(g), g.Pid)
	if err == nil && !g.HeapLive.Known() && g.Hint != "" {
		err = message.Failed(observe.Name(g)+": its memory may not be read", g.Hint)
	}
	return err
}

// Stopped returns the failure of a process that is stopped, nil = it is not.
func Stopped(s *proc.Stat, name string, pid int) error {
	if s.State != 'T' && s.State != 't' { // proc_pid_stat(5)
		return nil
	}
	return message.Failed(name+": it is stopped, by SIGSTOP, a terminal or a debugger",
		"kill -CONT "+strconv.Itoa(pid)+" continues it, if no debugger holds it")
}

// OwnLimit reports whether the memory limit is the container's own, so that what is charged to it is the container's.
func OwnLimit(l *limits.Limits) bool {
	return l != nil && l.Memory.Hard.State == limits.Known && l.Memory.Soft.State == limits.Known &&
		!l.Memory.HardShared &&
		!l.Memory.SoftShared &&
		l.Memory.Unreclaimable.State == limits.Known
}

// mates returns the number of other processes in the cgroup that sets the memory limit, as far as they are seen from
// here and are not this one; and who shares it that does not belong there, "" = none.
func mates(l *limits.Limits, pid int) (n int, shared string) {
	text, _ := os.ReadFile(path.Join("/", path.Dir(l.Memory.HardSource.File), "cgroup.procs"))
	for _, line := range strings.Fields(string(text)) {
		switch other, _ := strconv.Atoi(line); other {
		case 0, pid:
		case os.Getpid():
			shared = "snug runs in its cgroup"
		default:
			n++
		}
	}
	return n, shared
}

// sizeWatch is what a watch collects.
type sizeWatch struct {
	own              bool // memory is counted by the cgroup
	seen             size.Seen
	at, live, goal   []float64 // of each collection that was seen to end: seconds, bytes found in use, and the next goal
	resident         float64   // most bytes
	files, code      float64   // resident bytes in pages of files, and in those of its code, as of the last second
	periods, seconds []float64 // CPU in cores
}

// know is Know, once for all figures.
//
//go:noinline
func know(f *figure.Of[float64], n float64) { f.Know(n, "") }

// most keeps the largest of values.
func most(f *figure.Of[float64], n float64) {
	if !f.Known() || n > f.N {
		know(f, n)
	}
}

// follow reads memory and CPU time until duration is over, the process ends or ctx does.
func (w *sizeWatch) follow(ctx context.Context, e *Examination, first *observe.Moment, duration time.Duration) {
	tick := time.NewTicker(sizeEvery)
	defer tick.Stop()
	seen, began := first.Go.Collections, first.At
	at, cpu := first.At, first.Go.Stat.CPU
	since, ran := first.At, first.Delays
	goal := first.Go.HeapGoal
	w.pages(e.Proc)
	for time.Since(began) < duration {
		e.Proc.Renew(ctx)
		now := first.Go.Again(e.Proc)
		if now.Err != nil {
			return
		}
		t := time.Now()
		if n := now.Collections; n.Known() && n.N != seen.N {
			seen = n
			if now.HeapMarked.Known() {
				w.at, w.live = append(w.at, t.Sub(began).Seconds()), append(w.live, float64(now.HeapMarked.N))
			}
			if goal = now.HeapGoal; goal.Known() {
				w.goal = append(w.goal, float64(goal.N))
			}
		} else if goal.Known() && goal.N > 0 && now.HeapLive.Known() {
			most(&w.seen.Over, min(float64(now.HeapLive.N)/float64(goal.N), sizeOver))
		}
		w.memory(e, now)
		if d, err := e.Proc.RunDelay(sizeThreads); err == nil && d.Unread == 0 {
			t := time.Now()
			if took := t.Sub(since); took >= sizeEvery/2 {
				w.periods = append(w.periods, max(0, d.Since(ran).Run.Seconds()/took.Seconds()))
				since, ran = t, d
			}
		}
		if took := t.Sub(at); took >= sizeWindow {
			w.seconds = append(w.seconds, (now.Stat.CPU-cpu).Seconds()/took.Seconds())
			at, cpu = t, now.Stat.CPU
			w.pages(e.Proc)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// pages reads the part of the memory that does not change often.
func (w *sizeWatch) pages(p *proc.Process) {
	if files, code, err := p.Files(); err == nil {
		w.files, w.code = float64(files), float64(code)
	}
}

// memory adds a look at the memory.
func (w *sizeWatch) memory(e *Examination, now *goproc.Facts) {
	resident, mapped, kept := float64(now.Stat.RSSBytes), float64(now.Mapped.N), -1.0
	if w.own {
		if l, err := e.h.Read(limits.Unreclaimable); err == nil && l.Memory.Unreclaimable.State == limits.Known {
			kept = float64(l.Memory.Unreclaimable.N)
		}
	}
	used, other := size.InUse(resident, w.files, w.code, kept, mapped)
	w.resident = max(w.resident, resident)
	most(&w.seen.Used, used)
	if now.Mapped.Known() && now.HeapLive.Known() {
		if rest := max(0, mapped-float64(now.HeapLive.N)); !w.seen.Rest.Known() || rest < w.seen.Rest.N {
			know(&w.seen.Rest, rest)
		}
		most(&w.seen.Other, other)
	}
}

// earlier adds the largest resident memory since the start, as far as the watch did not see it.
func (w *sizeWatch) earlier(peak float64) {
	s := &w.seen
	switch more := peak - w.resident; {
	case s.Used.Known() && more > max(sizeEarlier, w.resident/10):
		know(&s.Earlier, more)
	case peak > 0:
		know(&s.Earlier, 0)
	}
}

// sum adds what was seen between two moments.
func (w *sizeWatch) sum(a, b *observe.Moment) {
	s, took := &w.seen, b.At.Sub(a.At)
	s.Seconds = took.Seconds()
	s.Procs, s.MemLimit, s.GOGC = b.Go.GOMAXPROCS, b.Go.GOMEMLIMIT, b.Go.GOGC
	if a.Go.Collections.Known() && b.Go.Collections.Known() {
		s.Collections = int(b.Go.Collections.N - a.Go.Collections.N)
	}
	if len(w.live) > 0 {
		know(&s.Live, observe.Mean(w.live))
		know(&s.LiveMost, slices.Max(w.live))
		know(&s.Growth, 0)
		if t := observe.Trend(w.at, w.live, sizeGrowth, ""); t != nil {
			s.Growth.N = t.PerSecond * s.Seconds
		}
	}
	if b.Go.HeapGoal.State == limits.None {
		s.Goal.None()
	} else if len(w.goal) > 0 {
		know(&s.Goal, observe.Mean(w.goal))
	}
	if x, y := a.Go.Allocated, b.Go.Allocated; x.Known() && y.Known() && y.N >= x.N && took > 0 {
		know(&s.Allocated, float64(y.N-x.N)/took.Seconds())
	}
	f := &rules.Facts{}
	observe.Rates(f, a, b)
	s.CPUMean, s.Waited, s.Throttled = f.Used, f.KernelWait, f.Throttled
	if a.Go.CPU.Known() && b.Go.CPU.Known() && f.Used.Known() {
		// Marking by idle Ps counts: in a container it is CPU time like any other.
		x, y := &a.Go.CPU.N, &b.Go.CPU.N
		if part := observe.GCShare(y.GCTotal-x.GCTotal, y.User-x.User, y.Scavenge-x.Scavenge, ""); part.Known() {
			know(&s.GCCores, f.Used.N*part.N)
		}
	}
	quantile(&s.CPUHigh, w.seconds, 0.95)
	quantile(&s.CPUMost, w.periods, 0.99)
	if b.Limits != nil {
		s.Quota, s.Limit = figure.Value(b.Limits.CPU.Quota), figure.Value(b.Limits.Memory.Hard)
		if s.Quota.State == limits.None {
			s.Throttled.None()
		}
	}
	const none = "no collection ended in the watch"
	for i, why := range [...]string{none, none, none, b.Go.Allocated.Why, b.Go.CPU.Why, none, b.Go.Mapped.Why,
		b.Go.Mapped.Why, "its threads could not be read every 100 ms",
		"the watch was too short", "no heap goal was seen", "no heap goal was seen", "its peak could not be read"} {
		[...]*figure.Of[float64]{&s.Live, &s.LiveMost, &s.Growth, &s.Allocated, &s.GCCores, &s.GCCores, &s.Rest, &s.Other,
			&s.CPUMost,
			&s.CPUHigh, &s.Goal, &s.Over, &s.Earlier}[i].Because(why)
	}
}

// quantile sets f to the smallest value that is at least as large as a part of all, 0 to 1.
func quantile(f *figure.Of[float64], v []float64, part float64) {
	if len(v) > 0 {
		slices.Sort(v)
		know(f, v[max(0, int(math.Ceil(part*float64(len(v))))-1)])
	}
}
