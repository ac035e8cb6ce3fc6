// SPDX-License-Identifier: Apache-2.0

package examine

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
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
)

// Size watches a process for duration and returns the container that it needs. It neither stops nor changes it.
func Size(ctx context.Context, pid int, duration time.Duration, price size.Price, files *goproc.Cache) (*finding.Size, error) {
	p, err := proc.Open(pid)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	e := &Examination{Proc: p, Files: files, unknown: []finding.Gap{}}
	if e.h, err = limits.Open(limits.Process{PID: pid}); err == nil {
		defer e.h.Close()
	}
	first := e.look()
	switch {
	case first.Go.Err != nil:
		return nil, first.Go.Err
	case !first.Go.Exe.IsGo:
		return nil, NewNotGo(p, files, first.Go.Exe.What)
	}
	w := sizeWatch{own: ownLimit(first.Limits)}
	w.follow(ctx, e, &first, duration)
	last := e.look()
	switch {
	case errors.Is(last.Go.Err, proc.ErrGone):
		return nil, message.Failed("the process ended while it was watched, "+observe.Name(first.Go), "watch a process that goes on, or for a shorter time: --for 30s")
	case last.Go.Err != nil:
		return nil, last.Go.Err
	}
	s := w.seen(&first, &last)
	if !w.own {
		e.gap("memory that the kernel keeps for it", "it has no memory limit of its own, so only resident memory is counted, files of the program included")
	}
	return sized(s, size.Decide(s, price), &last, price, e.unknown), nil
}

// ownLimit reports whether the memory limit is the container's own, so that what is charged to it is the container's.
func ownLimit(l *limits.Limits) bool {
	return l != nil && l.Memory.Hard.State == limits.Known && l.Memory.Soft.State == limits.Known && !l.Memory.Shared && !l.Memory.SoftShared &&
		l.Memory.Unreclaimable.State == limits.Known
}

// sizeWatch is what a watch collects.
type sizeWatch struct {
	own               bool
	live, goal        []float64 // of each collection that was seen to end: found in use, and the next goal
	rest, other, used float64
	looked            bool
	periods, seconds  []float64 // CPU in cores
}

// follow reads memory and CPU time until duration is over, the process ends or ctx does.
func (w *sizeWatch) follow(ctx context.Context, e *Examination, first *observe.Moment, duration time.Duration) {
	tick := time.NewTicker(sizeEvery)
	defer tick.Stop()
	seen, began := first.Go.Collections, first.At
	at, cpu := first.At, first.Go.Stat.CPU
	since, ran := first.At, first.Delays
	for time.Since(began) < duration {
		now := first.Go.Again(e.Proc)
		if now.Err != nil {
			return
		}
		if n := now.Collections; n.Known() && n.N != seen.N && now.HeapMarked.Known() {
			w.live, seen = append(w.live, float64(now.HeapMarked.N)), n
			if now.HeapGoal.Known() {
				w.goal = append(w.goal, float64(now.HeapGoal.N))
			}
		}
		if d, err := e.Proc.RunDelay(sizeThreads); err == nil && d.Unread == 0 {
			t := time.Now()
			if took := t.Sub(since); took >= sizeEvery/2 {
				if used := d.Since(ran).Run; used >= 0 {
					w.periods = append(w.periods, used.Seconds()/took.Seconds())
				}
				since, ran = t, d
			}
		}
		w.memory(e, now)
		if t := time.Now(); t.Sub(at) >= sizeWindow {
			w.seconds = append(w.seconds, (now.Stat.CPU-cpu).Seconds()/t.Sub(at).Seconds())
			at, cpu = t, now.Stat.CPU
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// memory adds a look at the memory.
func (w *sizeWatch) memory(e *Examination, now *goproc.Facts) {
	used := float64(now.Stat.RSSBytes)
	if w.own {
		if l, err := e.h.Read(limits.Unreclaimable); err == nil && l.Memory.Unreclaimable.State == limits.Known {
			used = float64(l.Memory.Unreclaimable.N)
		}
	}
	w.used = max(w.used, used)
	if !now.Mapped.Known() || !now.HeapLive.Known() {
		return
	}
	mapped := float64(now.Mapped.N)
	rest := max(0, mapped-float64(now.HeapLive.N))
	if !w.looked || rest < w.rest {
		w.rest = rest
	}
	w.other = max(w.other, used-min(mapped, float64(now.Stat.RSSBytes)))
	w.looked = true
}

// seen returns what was seen between two moments.
func (w *sizeWatch) seen(a, b *observe.Moment) *size.Seen {
	took := b.At.Sub(a.At)
	s := &size.Seen{Seconds: took.Seconds(), CPUs: b.Go.CPUs, Minor: b.Go.Exe.Minor, GOGC: 100}
	if b.Go.GOGC.Known() {
		s.GOGC = b.Go.GOGC.N
	}
	s.Aware = b.Go.Env != nil && b.Go.Exe.Aware(b.Go.Env["GODEBUG"])
	if a.Go.Collections.Known() && b.Go.Collections.Known() {
		s.Collections = int(b.Go.Collections.N - a.Go.Collections.N)
	}
	s.Live.Because("no collection ended in the watch")
	s.LiveMost.Because(s.Live.Why)
	if len(w.live) > 0 {
		s.Live, s.LiveMost = figure.New(mean(w.live), ""), figure.New(slices.Max(w.live), "")
	}
	if len(w.goal) > 0 {
		s.Goal = figure.New(mean(w.goal), "")
	}
	if x, y := a.Go.Allocated, b.Go.Allocated; x.Known() && y.Known() && y.N >= x.N && took > 0 {
		s.Allocated = figure.New(float64(y.N-x.N)/took.Seconds(), "")
	} else {
		s.Allocated.Because(y.Why)
	}
	f := &rules.Facts{}
	observe.Rates(f, a, b)
	s.CPUMean, s.Throttled = f.Used, f.Throttled
	if a.Go.CPU.Known() && b.Go.CPU.Known() && f.Used.Known() {
		// Marking by idle Ps counts: in a container it is CPU time like any other.
		x, y := &a.Go.CPU.N, &b.Go.CPU.N
		if part := observe.GCShare(y.GCTotal-x.GCTotal, y.User-x.User, y.Scavenge-x.Scavenge, b.Go.CPU.Source); part.Known() {
			s.GCCores = figure.New(f.Used.N*part.N, part.Source)
		}
	}
	s.GCCores.Because(b.Go.CPU.Why)
	if w.looked {
		s.Rest, s.Other = figure.New(w.rest, ""), figure.New(w.other, "")
	} else {
		s.Rest.Because(b.Go.Mapped.Why)
		s.Other.Because(b.Go.Mapped.Why)
	}
	if w.used > 0 {
		s.Used = figure.New(w.used, "")
	}
	s.CPUHigh, s.CPUMost = quantile(w.seconds, 0.95), quantile(w.periods, 0.99)
	if !s.CPUMost.Known() && len(w.seconds) > 0 { // too many threads
		s.CPUMost = figure.New(slices.Max(w.seconds), "")
	}
	if b.Limits != nil {
		s.Quota = figure.Value(b.Limits.CPU.Quota)
	}
	return s
}

// quantile returns the smallest value that is at least as large as a part of all, 0 to 1.
func quantile(v []float64, part float64) figure.Of[float64] {
	if len(v) == 0 {
		return figure.Of[float64]{}
	}
	slices.Sort(v)
	return figure.New(v[max(0, int(math.Ceil(part*float64(len(v))))-1)], strconv.Itoa(len(v))+" windows")
}

// sized returns the document of an answer.
func sized(s *size.Seen, a *size.Answer, b *observe.Moment, price size.Price, unknown []finding.Gap) *finding.Size {
	d := &finding.Size{Head: finding.NewHead(finding.KindSize), Target: observe.Name(b.Go), Seconds: s.Seconds, Collections: s.Collections,
		Memory: sizeBytes(a.Memory), GOMEMLIMIT: sizeBytes(a.GOMEMLIMIT), CPURequest: sizeCores(a.CPURequest), CPULimit: sizeCores(a.CPULimit),
		Model: a.Model, Price: finding.SizePrice{Core: price.Core, GiB: price.GiB, From: "--price"}, Curve: []finding.SizePoint{}, Unseen: a.Unseen, Unknown: unknown,
		Seen: finding.SizeSeen{Live: s.Live, LiveMost: s.LiveMost, Allocated: s.Allocated, GCCores: s.GCCores, Rest: s.Rest, Other: s.Other, Used: s.Used,
			CPUMean: s.CPUMean, CPUHigh: s.CPUHigh, CPUMost: s.CPUMost, Throttled: s.Throttled, Quota: s.Quota,
			Procs: b.Go.GOMAXPROCS, MemLimit: b.Go.GOMEMLIMIT, GOGC: b.Go.GOGC}}
	if v := b.Go.Exe.GoVersion; v != "" {
		d.Go = new(finding.UTF8(v))
	}
	if price == size.Fargate {
		d.Price.From = "AWS Fargate, Linux on x86, us-east-1, dollars an hour"
	}
	if b.Limits != nil {
		d.Seen.Limit = figure.Value(b.Limits.Memory.Hard)
	}
	d.GOMAXPROCS.Why = a.GOMAXPROCS.Why
	if a.GOMAXPROCS.Known {
		d.GOMAXPROCS.Value = new(int64(a.GOMAXPROCS.N))
	}
	for _, p := range a.Curve {
		row := finding.SizePoint{Memory: int64(p.Memory), Goal: int64(p.Goal), Chosen: p.Chosen, Cheapest: p.Cheapest, Below: p.Below}
		if p.GOMEMLIMIT > 0 {
			row.GOMEMLIMIT = new(int64(p.GOMEMLIMIT))
		}
		if !math.IsInf(p.Cycles, 1) {
			row.Cycles, row.GCCores, row.Price = &p.Cycles, &p.GCCores, &p.Price
		}
		d.Curve = append(d.Curve, row)
	}
	for _, f := range []struct {
		name string
		why  string
		read bool
	}{{"live_heap_bytes", s.Live.Why, s.Live.Read()}, {"allocated_bytes", s.Allocated.Why, s.Allocated.Read()}, {"gc_cores", s.GCCores.Why, s.GCCores.Read()},
		{"go_rest_bytes", s.Rest.Why, s.Rest.Read()}, {"used_most_cores", "the watch was shorter than a second", s.CPUMost.Read()}} {
		if !f.read {
			d.Unknown = append(d.Unknown, finding.Gap{Field: f.name, File: "", Why: f.why})
		}
	}
	return d
}

func sizeBytes(v size.Value) finding.SizeBytes {
	b := finding.SizeBytes{Why: v.Why}
	if v.Known {
		b.Value = new(int64(v.N))
	}
	return b
}

func sizeCores(v size.Value) finding.SizeCores {
	c := finding.SizeCores{Why: v.Why}
	if v.Known {
		c.Value = &v.N
	}
	return c
}
