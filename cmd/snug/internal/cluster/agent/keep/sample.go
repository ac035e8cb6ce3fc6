// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/snapshot"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/needs"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/examine"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/size"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// lateScan is how many intervals a scan stands for at most. One that is later, as after a suspension, has
// seen too little of the time to weigh as much.
const lateScan = 2

// sample adds a container of a scan to its workload, and returns the seconds that it stands for: from the scan before.
func (s *Store) sample(w *needs.Workload, c *finding.Container, of *snapshot.Sample) (seconds float64) {
	h := &w.Has
	h.Containers++
	h.Limit.Add(figure.As[float64](c.MemoryLimit))
	h.Request.Add(c.Request)
	h.Quota.Add(c.Quota)
	w.Mates = max(w.Mates, len(c.Processes))
	if of.Last.Go == nil || of.Prev.Go == nil {
		return 0
	}
	took := of.Last.At.Sub(of.Prev.At).Seconds()
	if took <= 0 {
		return 0
	}
	weight := min(took, lateScan*s.every.Seconds())
	if c.Used.Known() {
		w.CPU.Add(c.Used.N, weight)
	}
	x, y := of.Prev.Limits, of.Last.Limits
	resident, kept := 0.0, -1.0
	for i := range c.Processes {
		resident += float64(c.Processes[i].Memory.N)
	}
	if examine.OwnLimit(y) {
		kept = float64(y.Memory.Unreclaimable.N)
	}
	g := of.Last.Go
	used, notGo := size.InUse(resident, of.Files, of.Code, kept, float64(g.Mapped.N))
	if of.Read {
		w.Used.Add(used, weight)
	} else {
		notGo = -1
	}
	if share, ok := observe.Throttled(x, y); ok && x != nil {
		periods := float64(y.CPU.Throttle.Periods.N-x.CPU.Throttle.Periods.N) * weight / took
		w.Throttle.Whole += periods
		w.Throttle.Part += share * periods
	}
	if len(c.Processes) == 1 {
		sampleHeap(w, of.Prev.Go, g, notGo, took, weight)
	}
	h.Minor, h.CPUs, h.Procs, h.GOGC, h.Bound = g.Exe.Minor, g.CPUs, g.GOMAXPROCS.N, nil, g.GOMEMLIMIT.N
	h.Aware = c.Processes[0].Aware != nil && *c.Processes[0].Aware
	if g.GOGC.Known() {
		h.GOGC = new(g.GOGC.N) // a pointer into g would keep all of it
	}
	return weight
}

// sampleHeap adds the heap of a process that is alone in its container, as two scans have seen it, in which
// some bytes are not Go's, -1 = unknown. The later scan took place some seconds after the other, and weighs
// as much or less.
func sampleHeap(w *needs.Workload, a, b *goproc.Facts, notGo, took, weight float64) {
	if n := b.Collections; b.HeapMarked.Known() && n.Known() && n.N > 0 {
		w.Live.Add(float64(b.HeapMarked.N), weight)
	}
	if b.Mapped.Known() && b.HeapLive.Known() {
		w.Rest.Add(max(0, float64(b.Mapped.N)-float64(b.HeapLive.N)), weight)
		if notGo >= 0 {
			w.Other.Add(notGo, weight)
		}
	}
	if b.HeapGoal.Known() {
		w.Goal += float64(b.HeapGoal.N) * weight
		w.GoalFor += weight
	}
	if a.Allocated.Known() && b.Allocated.Known() && b.Allocated.N >= a.Allocated.N {
		w.Allocated.Add(float64(b.Allocated.N-a.Allocated.N)/took, weight)
	}
	if m, n := a.Collections, b.Collections; m.Known() && n.Known() && n.N >= m.N {
		w.Cycles += float64(n.N-m.N) * weight / took
		w.Heap += weight
	}
	if a.CPU.Known() && b.CPU.Known() {
		// Marking by idle Ps counts: in a container it is CPU time like any other.
		x, y := &a.CPU.N, &b.CPU.N
		gc := (y.GCTotal - x.GCTotal).Seconds()
		if busy := gc + (y.User - x.User + y.Scavenge - x.Scavenge).Seconds(); gc >= 0 && busy >= gc {
			w.GC += gc * weight / took
			w.Busy += busy * weight / took
		}
	}
	for _, why := range [...]string{b.HeapMarked.Why, b.Allocated.Why, b.CPU.Why, b.Mapped.Why, b.Hint} {
		if why != "" && w.Why == "" {
			w.Why = snapshot.Short(why)
		}
	}
}
