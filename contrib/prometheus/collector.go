// SPDX-License-Identifier: Apache-2.0

// Package snugprom exports what a snug.Watcher has decided, done and measured as
// Prometheus metrics:
//
//	w := snug.Watch(ctx, snug.Options{})
//	prometheus.MustRegister(snugprom.New(w))
//
// Units are Prometheus's base units: bytes, seconds, ratios from 0 to 1. The
// exceptions are GOGC, a percentage wherever Go speaks of it, and CPUs, which are
// cores. What is unknown or was not measured is absent from the scrape, never 0 and
// never NaN: nearly everything is before the Watcher's first look, a second after the
// start. What is off (GOGC=off, GOMEMLIMIT=off) is +Inf.
package snugprom

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snug-go/snug"
)

// New makes a collector of everything that w knows, for one registry or several.
// Each scrape takes one Stats and one Plan from w. Once w has ended, its last
// figures stay and snug_watching is 0; of a nil w there is nothing but that.
//
// A process has one set of knobs, so there are no labels to tell Watchers apart:
// wrap the registry (prometheus.WrapRegistererWith) where more than one is wanted.
func New(w *snug.Watcher) prometheus.Collector {
	if w == nil {
		return collector{}
	}
	return collector{w}
}

// source is what a scrape needs of a Watcher.
type source interface {
	Stats() snug.Stats
	Plan() snug.Plan
}

// collector has no state of its own: scrapes may overlap.
type collector struct{ source source }

// Describe sends every description there is, also of metrics that are absent now.
func (c collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range all {
		ch <- m.desc
	}
}

// Collect sends what is known at this moment.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	s := scrape{ch}
	if c.source == nil {
		s.flag(watching, false)
		return
	}
	stats, plan := c.source.Stats(), c.source.Plan()
	s.watcher(&stats)
	s.plan(&plan)
	if stats.Polls == 0 {
		return // before the first look Stats holds no figure that was measured
	}
	s.memory(&stats.Memory)
	s.gc(&stats.GC)
	s.cpu(&stats.CPU)
}

// scrape is one answer on its way.
type scrape struct{ ch chan<- prometheus.Metric }

// number sends v unless it is unknown.
func (s scrape) number(m *metric, v float64, labels ...string) {
	if math.IsNaN(v) {
		return
	}
	// It fails only on a label that is not UTF-8. One metric less is better than
	// no scrape at all.
	if sent, err := prometheus.NewConstMetric(m.desc, m.kind, v, labels...); err == nil {
		s.ch <- sent
	}
}

// count sends a quantity that -1 says is unknown, or is not there.
func (s scrape) count(m *metric, n int64) {
	if n >= 0 {
		s.number(m, float64(n))
	}
}

// flag sends 1 or 0.
func (s scrape) flag(m *metric, is bool, labels ...string) {
	v := 0.0
	if is {
		v = 1
	}
	s.number(m, v, labels...)
}

// oneOf sends every state there is with 1 for the one that holds and 0 for the
// others, so that each is a series from the first scrape on. A state that is not
// in the list comes after it.
func (s scrape) oneOf(m *metric, states []string, holds string) {
	found := false
	for _, state := range states {
		s.flag(m, state == holds, state)
		found = found || state == holds
	}
	if !found {
		s.flag(m, true, holds)
	}
}

// set sends 1 for every state in the list that holds and 0 for the others; and 1,
// once, for each that holds and is not in the list.
func (s scrape) set(m *metric, states, hold []string) {
	seen := make(map[string]bool, len(hold))
	for _, state := range hold {
		seen[state] = true
	}
	for _, state := range states {
		s.flag(m, seen[state], state)
		delete(seen, state)
	}
	for state := range seen {
		s.flag(m, true, state)
	}
}

// The values of labels that are there in every scrape.
var (
	knobs    = []string{"GOMAXPROCS", "GOMEMLIMIT", "GOGC", "starvation-escape"}
	verdicts = []string{"unknown", "fine", "too-few-procs", "quota-spent", "host-busy"}
	levels   = []string{snug.Calm.String(), snug.Tight.String(), snug.Spiral.String()}
)

func (s scrape) watcher(x *snug.Stats) {
	s.flag(watching, !x.Ended)
	s.flag(failed, x.Failure != "")
	s.count(polls, x.Polls)
	s.count(changes, x.Changes)
	if x.Every > 0 {
		s.number(interval, x.Every.Seconds())
	}
	s.set(givenUp, knobs, x.GivenUp)
}

func (s scrape) memory(x *snug.MemoryStats) {
	s.count(memoryLimit, x.Limit)
	s.count(memoryUsed, x.Used)
	s.count(memoryGo, x.Go)
	s.count(memoryNonGo, x.NonGo)
	s.count(memoryHeld, x.Held)
	s.count(memoryMargin, x.Margin)
	s.count(memoryReserve, x.Reserve)
	if x.GOMEMLIMIT == math.MaxInt64 {
		s.number(gomemlimit, math.Inf(1))
	} else {
		s.count(gomemlimit, x.GOMEMLIMIT)
	}
	if !math.IsInf(x.EffectiveGOGC, 0) { // before the first collection
		s.number(effectiveGOGC, x.EffectiveGOGC)
	}
	if int(x.Pressure) < len(levels) {
		s.oneOf(pressure, levels, levels[x.Pressure])
	}
	s.flag(guarded, x.Guarded)
}

func (s scrape) gc(x *snug.GCStats) {
	if x.GOGC < 0 {
		s.number(gogc, math.Inf(1))
	} else {
		s.number(gogc, float64(x.GOGC))
	}
	s.number(gcShare, x.Share)
	s.number(gcCycles, float64(x.Cycles))
}

func (s scrape) cpu(x *snug.CPUStats) {
	if x.GOMAXPROCS > 0 {
		s.number(gomaxprocs, float64(x.GOMAXPROCS))
	}
	if x.Cores > 0 {
		s.number(cores, x.Cores)
	}
	if x.Window > 0 {
		s.number(window, x.Window.Seconds())
		s.number(used, x.Used)
		s.number(throttled, x.Throttled)
		s.number(goWait, x.GoWait)
		s.number(kernelWait, x.KernelWait)
		s.number(perWakeup, x.PerWakeup)
	}
	if x.Verdict == "" {
		x.Verdict = "unknown"
	}
	s.oneOf(verdict, verdicts, string(x.Verdict))
	s.flag(escaped, x.Escaped)
}

func (s scrape) plan(p *snug.Plan) {
	for i, setting := range []*snug.Setting{&p.GOMAXPROCS, &p.GOMEMLIMIT, &p.GOGC} {
		if setting.Reason.Code != "" {
			s.number(planInfo, 1, knobs[i], setting.Reason.Code, string(setting.Action))
		}
	}
	codes := make([]string, 0, len(p.Warnings))
	for _, w := range p.Warnings {
		codes = append(codes, w.Code)
	}
	s.set(warning, nil, codes)
}
