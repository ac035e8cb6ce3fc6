// SPDX-License-Identifier: Apache-2.0

package examine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
	"github.com/snug-go/snug/cmd/snug/internal/process/holders"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/profile/cpuprof"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

const (
	// crowdLooks is how many times the goroutines are read in a watch, and maxCrowd the number of
	// them up to which it is worth its time: a look takes 10 µs of CPU time for each.
	crowdLooks, maxCrowd = 9, 20_000
	// maxCrowdTime is the CPU time after which there is no other look.
	maxCrowdTime = 200 * time.Millisecond
	// minLooks is how many looks show growth, and maxLooked how many goroutines are read in more than one look.
	minLooks, maxLooked = 4, 40_000
	// fineLooks is how many looks a watch has if they read fewer than maxCrowd goroutines in all.
	fineLooks = 65
	// minMore is the smallest growth of their number over a watch that counts.
	minMore = 100
	// maxBlocked bounds the threads whose system calls are read in a look.
	maxBlocked = 512
	// minTimers is the number of sampled timers that suffices to count them.
	minTimers = 5
	// maxHolders is how many functions are kept of each kind.
	maxHolders = 3
)

// crowd is what the goroutines of a process did in a watch.
type crowd struct {
	pid             int
	source          string
	at, total, wait []float64 // seconds, goroutines, and those that wait for a mutex, by look
	waits           map[rules.Holder]float64

	running, runnable, calling []float64                // goroutines, by look
	blocked                    []float64                // threads that sleep in system calls, by look
	calls                      map[rules.Holder]float64 // goroutines in system calls, by what makes them
	always                     map[rules.Holder]float64 // the smallest number of them in a look
	ready                      map[rules.Holder]float64 // those that wait for a P, by the go statement that created them
	first, last                map[rules.Holder]float64 // by the go statement that created them
	finalizing, finalWaits     float64                  // looks that found a finalizer at work, and in which it waited
	finalizers                 map[rules.Holder]float64 // by function
}

// open opens what the runtime records of the process, for reads within an amount. It takes a pass over all of its
// functions.
func (e *Examination) open(a proc.Amount) error {
	e.close()
	r, err := holders.OpenProcess(e.Proc, proc.NewBudget(context.Background(), a, nil))
	if err == nil {
		e.records, e.names = r, r.NewNames()
	}
	return err
}

func (e *Examination) close() {
	if e.records != nil {
		e.records.Close()
		e.records = nil
	}
}

// crowd reads the goroutines some times until duration is over.
func (e *Examination) crowd(ctx context.Context, duration time.Duration) error {
	budget := holders.Budget
	budget.Time += duration
	if err := e.open(budget); err != nil {
		return err
	}
	c := &crowd{pid: e.Proc.Pid(), waits: map[rules.Holder]float64{}, calls: map[rules.Holder]float64{},
		ready: map[rules.Holder]float64{}, finalizers: map[rules.Holder]float64{}}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin, took := time.Now(), time.Duration(0)
	for look, looks := 0, crowdLooks; look < looks && took < maxCrowdTime; look++ {
		wait := time.NewTimer(time.Until(begin.Add(duration * time.Duration(look) / time.Duration(looks-1))))
		select {
		case <-ctx.Done():
		case <-wait.C:
		}
		wait.Stop()
		if ctx.Err() != nil {
			break
		}
		before := proc.ThreadTime()
		g, err := e.records.Goroutines()
		if err != nil {
			return err
		}
		took += proc.ThreadTime() - before
		if g.Left > 0 && look > 0 {
			break // its figures are not those of the looks before
		} else if g.Left > 0 {
			seen := g.Total + g.Runtime + g.Unread
			return fmt.Errorf("%w: %d of %d goroutines were looked at", proc.ErrTooMuch, seen, seen+g.Left)
		}
		c.add(g, e.names, time.Since(begin))
		if n, err := e.Proc.Blocked(maxBlocked); err == nil {
			c.blocked = append(c.blocked, float64(n))
		}
		e.goroutines = c
		if look == 0 {
			looks = min(fineLooks, max(crowdLooks, maxCrowd/(g.Total+1)), max(minLooks, maxLooked/(g.Total+1)))
		}
		if g.Total > maxLooked/minLooks {
			break
		}
	}
	return nil
}

func (c *crowd) add(g *holders.Goroutines, names *holders.Names, at time.Duration) {
	c.source = g.Source
	waiting, running, runnable, calling := 0.0, 0.0, 0.0, 0.0
	calls := map[rules.Holder]float64{}
	for i := range g.Groups {
		group := &g.Groups[i]
		switch group.State {
		case "running":
			running += float64(group.Count)
			continue
		case "runnable", "preempted":
			runnable += float64(group.Count)
			if by, ok := names.Creator(group.Creator); ok {
				c.ready[holder(by)] += float64(group.Count)
			}
			continue
		case "syscall":
			frames := names.Calls(group.Calls)
			if _, by := cpuprof.Asks(functions(frames)); by >= 0 && frames[by].Function != "os/signal.loop" {
				calls[holder(frames[by])] += float64(group.Count)
				calling += float64(group.Count)
			}
			continue
		case "waiting":
		default:
			continue
		}
		frames := names.Calls(group.Calls)
		if demand, by := cpuprof.Asks(functions(frames)); demand == cpuprof.TakesMutexes && by >= 0 {
			c.waits[holder(frames[by])] += float64(group.Count)
			waiting += float64(group.Count)
		}
	}
	c.at, c.total, c.wait = append(c.at, at.Seconds()), append(c.total, float64(g.Total)), append(c.wait, waiting)
	if len(c.at) == 1 {
		c.always = maps.Clone(calls)
	}
	for h, n := range calls {
		c.calls[h] += n
	}
	for h, n := range c.always {
		c.always[h] = min(n, calls[h])
	}
	c.finalize(g.Finalizers, names)
	c.running, c.runnable, c.calling = append(c.running, running), append(c.runnable, runnable), append(c.calling, calling)
	c.last = map[rules.Holder]float64{}
	for _, by := range g.Creators(names) {
		c.last[holder(by.Frame)] += float64(by.Count)
	}
	if c.first == nil {
		c.first = c.last
	}
}

// finalize notes what the goroutine of the finalizers does; g is nil before the first finalizer.
func (c *crowd) finalize(g *holders.Group, names *holders.Names) {
	if g == nil {
		return
	}
	frames := names.Calls(g.Calls)
	i := len(frames) - 1
	for i >= 0 && strings.HasPrefix(frames[i].Function, "runtime.") {
		i--
	}
	if i < 0 && g.State != "running" { // a running one shows no calls
		return
	}
	c.finalizing++
	if i >= 0 {
		c.finalizers[holder(frames[i])]++
	}
	if g.State == "waiting" || g.State == "syscall" {
		c.finalWaits++
	}
}

// facts adds what was seen to f.
func (c *crowd) facts(f *rules.Facts) {
	looks := len(c.at)
	source := c.source + ", " + strconv.Itoa(looks) + " looks"
	f.Goroutines = figure.New(c.total[looks-1], c.source)
	f.MutexWaits = figure.New(observe.Mean(c.wait), source)
	f.Running, f.Runnable = figure.New(observe.Mean(c.running), source), figure.New(observe.Mean(c.runnable), source)
	f.Calling = figure.New(observe.Mean(c.calling), source)
	if looks >= crowdLooks {
		f.Finalizing = figure.New(c.finalizing/float64(looks), source)
		f.FinalizerWaits = figure.New(c.finalWaits/float64(looks), source)
		f.Finalizers = largest(c.finalizers, 1/float64(looks), maxHolders)
	}
	callers := map[rules.Holder]float64{}
	for h, n := range c.calls {
		callers[h] = n/float64(looks) - c.always[h]
	}
	f.Callers = largest(callers, 1, maxHolders)
	if n := len(c.blocked); n > 0 {
		f.Blocked = figure.New(observe.Mean(c.blocked),
			"/proc/"+strconv.Itoa(c.pid)+"/task/*/syscall, "+strconv.Itoa(n)+" looks")
		f.AlwaysBlocked = figure.New(slices.Min(c.blocked), f.Blocked.Source)
	}
	f.Queued = largest(c.ready, 1/float64(looks), maxHolders)
	f.Waiters = largest(c.waits, 1/float64(looks), maxHolders)
	if f.GoroutineGrowth = observe.Trend(c.at, c.total, minMore, strconv.Itoa(looks)+" looks"); f.GoroutineGrowth != nil {
		more := map[rules.Holder]float64{}
		for h, n := range c.last {
			more[h] = n - c.first[h]
		}
		f.Creators = largest(more, 1, maxHolders)
	}
}

// minKept is the live heap in bytes from which timers in it are counted.
const minKept = 16 << 20

// holding adds the functions that allocated what is live to f, and the timers among it.
func (e *Examination) holding(f *rules.Facts) error {
	if err := e.open(holders.Budget); err != nil {
		return err
	}
	heap, err := e.records.Heap()
	if err != nil {
		return err
	}
	f.Holding = Holding(heap, e.names, maxHolders)
	keptTimers(f, heap, e.names)
	return nil
}

// keptTimers adds the timers of time.After and time.Tick that are live to f.
func keptTimers(f *rules.Facts, heap *holders.Heap, names *holders.Names) {
	setters := map[rules.Holder]float64{}
	bytes, objects, samples := 0.0, 0.0, int64(0)
	for _, x := range heap.Holders(names) {
		calls := functions(x.Frames)
		i := slices.IndexFunc(calls, func(f string) bool { return f == "time.After" || f == "time.Tick" })
		_, by := cpuprof.Asks(calls)
		if i < 0 || by < i {
			continue
		}
		h := holder(x.Frames[by])
		h.For = calls[i]
		setters[h] += float64(x.Live)
		bytes, objects, samples = bytes+float64(x.Live), objects+float64(x.Objects), samples+x.Samples
	}
	if samples < minTimers {
		return
	}
	source := heap.Source + ", " + strconv.FormatInt(samples, 10) + " samples"
	f.TimerBytes, f.TimerObjects = figure.New(bytes, source), figure.New(objects, source)
	f.TimerSetters = largest(setters, 1, maxHolders)
}

// Holding returns the functions that allocated what is live, those that hold most bytes first.
func Holding(heap *holders.Heap, names *holders.Names, most int) []rules.Holder {
	live := map[rules.Holder]float64{}
	for _, x := range heap.Holders(names) {
		_, by := cpuprof.Asks(functions(x.Frames))
		if by < 0 {
			continue
		}
		h := holder(x.Frames[by])
		if by+1 < len(x.Frames) {
			h.For = finding.UTF8(x.Frames[by+1].Function)
		}
		live[h] += float64(x.Live)
	}
	return largest(live, 1, most)
}

// largest returns the holders with most, times factor.
func largest(all map[rules.Holder]float64, factor float64, most int) []rules.Holder {
	var out []rules.Holder
	for h, n := range all {
		if h.N = n * factor; h.N > 0 {
			out = append(out, h)
		}
	}
	slices.SortStableFunc(out, func(a, b rules.Holder) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Function, b.Function), cmp.Compare(a.At, b.At),
			cmp.Compare(a.For, b.For))
	})
	return out[:min(len(out), most)]
}

func functions(frames []gobin.Frame) []string {
	names := make([]string, len(frames))
	for i, f := range frames {
		names[i] = f.Function
	}
	return names
}

func holder(f gobin.Frame) rules.Holder {
	h := rules.Holder{Function: finding.UTF8(f.Function)}
	if f.File != "" && f.Line > 0 {
		h.At = finding.UTF8(path.Base(f.File)) + ":" + strconv.Itoa(f.Line)
	}
	return h
}
