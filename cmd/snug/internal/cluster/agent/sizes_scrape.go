// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"strconv"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/needs"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
)

// workloadLabels are the labels of a workload's series; statLabels has which of its figures it is: mean, p95, most,
// least, sum or count.
var (
	workloadLabels = []string{"namespace", "workload", "container"}
	infoLabels     = []string{"namespace", "workload", "container", "go", "gogc", "gomaxprocs"}
	statLabels     = []string{"namespace", "workload", "container", "stat"}
)

// scrape adds what is kept of the workloads of the last scan.
func (s *sizes) scrape(to *scrape) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.document().Workloads {
		if w.Has.Containers > 0 && w.Seen > 0 {
			to.workload(w)
		}
	}
}

func (s *scrape) workload(w *needs.Workload) {
	seen := w.Size()
	add := func(m metric, stat string, n float64) {
		s.labelled(m, n, s.with(nil, m, w.Namespace, w.Workload, w.Container, stat))
	}
	h := &w.Has
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	release, gogc := "", ""
	if h.Minor > 0 {
		release = "1." + strconv.Itoa(h.Minor)
	}
	if h.GOGC != nil {
		gogc = strconv.Itoa(*h.GOGC) // -1 = off
	}
	s.labelled(needInfo, float64(h.Containers), s.with(nil, needInfo, w.Namespace, w.Workload, w.Container, release, gogc, number(h.Procs)))
	for m, a := range map[metric]*needs.Amount{needLimit: &h.Limit, needRequest: &h.Request} {
		if a.N > 0 {
			add(m, "count", float64(a.N))
			add(m, "sum", a.Sum)
			add(m, "least", a.Least)
			add(m, "most", a.Most)
		}
	}
	s.labelled(needSeen, w.Seen, s.with(nil, needSeen, w.Namespace, w.Workload, w.Container))
	for _, one := range []struct {
		m    metric
		stat string
		f    *figure.Of[float64]
	}{
		{needLive, "mean", &seen.Live}, {needLive, "most", &seen.LiveMost}, {needRest, "least", &seen.Rest}, {needOther, "most", &seen.Other},
		{needUsed, "most", &seen.Used}, {needAllocated, "mean", &seen.Allocated}, {needCPU, "mean", &seen.CPUMean}, {needCPU, "p95", &seen.CPUHigh},
		{needGC, "mean", &seen.GCCores}, {needGoal, "mean", &seen.Goal}, {needThrottled, "mean", &seen.Throttled},
	} {
		if one.f.Known() {
			add(one.m, one.stat, one.f.N)
		}
	}
	if seen.Allocated.Known() {
		add(needAllocated, "p95", seen.Burst)
	}
	if w.Heap > 0 {
		add(needCycles, "mean", w.Cycles/w.Heap)
	}
}
