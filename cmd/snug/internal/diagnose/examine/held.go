// SPDX-License-Identifier: Apache-2.0

package examine

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
	"github.com/snug-go/snug/cmd/snug/internal/process/holders"
	"github.com/snug-go/snug/cmd/snug/internal/profile/cpuprof"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

const (
	// crowdLooks is how many times the goroutines are read in a watch, and maxCrowd the number of
	// them up to which it is worth its time: a look takes 10 µs of CPU time for each.
	crowdLooks, maxCrowd = 9, 20_000
	// minMore is the smallest growth of their number over a watch that counts.
	minMore = 100
	// maxHolders is how many functions are kept of each kind.
	maxHolders = 3
)

// crowd is what the goroutines of a process did in a watch.
type crowd struct {
	source          string
	at, total, wait []float64 // seconds, goroutines, and those that wait for a mutex, by look
	waits           map[rules.Holder]float64
	first, last     map[rules.Holder]float64 // by the go statement that created them
}

// open opens what the runtime records of the process, once. It takes a pass over all of its functions.
func (e *Examination) open() error {
	if e.records != nil {
		return nil
	}
	r, err := holders.OpenProcess(e.Proc)
	if err == nil {
		e.records, e.names = r, r.NewNames()
	}
	return err
}

func (e *Examination) close() {
	if e.records != nil {
		e.records.Close()
	}
}

// crowd reads the goroutines some times until duration is over.
func (e *Examination) crowd(ctx context.Context, duration time.Duration) error {
	if err := e.open(); err != nil {
		return err
	}
	c := &crowd{waits: map[rules.Holder]float64{}}
	begin := time.Now()
	for look := range crowdLooks {
		wait := time.NewTimer(time.Until(begin.Add(duration * time.Duration(look) / (crowdLooks - 1))))
		select {
		case <-ctx.Done():
		case <-wait.C:
		}
		wait.Stop()
		if ctx.Err() != nil {
			break
		}
		g, err := e.records.Goroutines()
		if err != nil {
			return err
		}
		c.add(g, e.names, time.Since(begin))
		e.goroutines = c
		if g.Total > maxCrowd {
			break
		}
	}
	return nil
}

func (c *crowd) add(g *holders.Goroutines, names *holders.Names, at time.Duration) {
	c.source = g.Source
	waiting := 0.0
	for i := range g.Groups {
		group := &g.Groups[i]
		if group.State != "waiting" {
			continue
		}
		frames := names.Calls(group.Calls)
		if demand, by := cpuprof.Asks(functions(frames)); demand == cpuprof.TakesMutexes && by >= 0 {
			c.waits[holder(frames[by])] += float64(group.Count)
			waiting += float64(group.Count)
		}
	}
	c.at, c.total, c.wait = append(c.at, at.Seconds()), append(c.total, float64(g.Total)), append(c.wait, waiting)
	c.last = map[rules.Holder]float64{}
	for _, by := range g.Creators(names) {
		c.last[holder(by.Frame)] += float64(by.Count)
	}
	if c.first == nil {
		c.first = c.last
	}
}

// facts adds what was seen to f.
func (c *crowd) facts(f *rules.Facts) {
	looks := len(c.at)
	sum := 0.0
	for _, n := range c.wait {
		sum += n
	}
	f.Goroutines = figure.New(c.total[looks-1], c.source)
	f.MutexWaits = figure.New(sum/float64(looks), c.source+", "+strconv.Itoa(looks)+" looks")
	f.Waiters = largest(c.waits, 1/float64(looks))
	if f.GoroutineGrowth = observe.Trend(c.at, c.total, minMore, strconv.Itoa(looks)+" looks"); f.GoroutineGrowth != nil {
		more := map[rules.Holder]float64{}
		for h, n := range c.last {
			more[h] = n - c.first[h]
		}
		f.Creators = largest(more, 1)
	}
}

// holding adds the functions that allocated what is live to f.
func (e *Examination) holding(f *rules.Facts) error {
	if err := e.open(); err != nil {
		return err
	}
	heap, err := e.records.Heap()
	if err != nil {
		return err
	}
	live := map[rules.Holder]float64{}
	for _, x := range heap.Holders(e.names) {
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
	f.Holding = largest(live, 1)
	return nil
}

// largest returns the holders with most, times factor.
func largest(all map[rules.Holder]float64, factor float64) []rules.Holder {
	var out []rules.Holder
	for h, n := range all {
		if h.N = n * factor; h.N > 0 {
			out = append(out, h)
		}
	}
	slices.SortFunc(out, func(a, b rules.Holder) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Function, b.Function), cmp.Compare(a.At, b.At), cmp.Compare(a.For, b.For))
	})
	return out[:min(len(out), maxHolders)]
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
