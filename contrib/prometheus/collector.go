// SPDX-License-Identifier: Apache-2.0

// Package snugprom exports what snug decides, does and measures in a process as Prometheus
// metrics:
//
//	w, err := snug.Watch(ctx, snug.WatchOptions{})
//	...
//	prometheus.MustRegister(snugprom.New(w))
//
// New exports a Watcher of package snug, which follows the limits; NewAdapt exports one of package
// adapt, which measures as well. If your program imports snug/auto, the Watcher is snug.Current();
// with snug/adapt/auto it is adapt.Current().
//
// Units are Prometheus's base units: bytes, seconds, ratios from 0 to 1. The exceptions are GOGC,
// which is a percentage as everywhere in Go, and CPUs, which are cores. An unknown or unmeasured
// value is absent from the scrape, never 0 and never NaN: nearly all are absent before the
// Watcher's first poll, a second after the start. GOGC=off and GOMEMLIMIT=off are +Inf.
package snugprom

import (
	"math"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snug-go/snug"
	"github.com/snug-go/snug/adapt"
	"github.com/snug-go/snug/limits"
)

// New returns a collector of the limits, settings and reasons of w, for one or more registries.
// After w has ended, its last values stay and snug_watching is 0; for a nil w that is the only
// metric.
//
// A process has one set of knobs, so no label distinguishes Watchers: if you need several, wrap
// the registry (prometheus.WrapRegistererWith).
func New(w *snug.Watcher) prometheus.Collector {
	if w == nil {
		return collector{}
	}
	return collector{source: light{w}}
}

// NewAdapt is New for a Watcher of package adapt, including all its measurements.
func NewAdapt(w *adapt.Watcher) prometheus.Collector {
	if w == nil {
		return collector{}
	}
	return collector{source: w, measures: true}
}

// source is the part of a Watcher that a scrape needs. Each scrape calls Stats and Plan once.
type source interface {
	Stats() adapt.Stats
	Plan() adapt.Plan
}

// light is a Watcher that does not measure.
type light struct{ *snug.Watcher }

func (l light) Stats() adapt.Stats { return adapt.Stats{Stats: l.Watcher.Stats()} }
func (l light) Plan() adapt.Plan   { return adapt.Plan{Plan: l.Watcher.Plan()} }

// collector has no state of its own, so scrapes may overlap.
type collector struct {
	source   source
	measures bool
}

// Describe sends every description, including those of metrics that are absent now.
func (c collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range all {
		ch <- m.desc
	}
}

// Collect sends the values known at this moment.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	s := scrape{ch}
	if c.source == nil {
		s.flag(watching, false)
		return
	}
	stats, plan := c.source.Stats(), c.source.Plan()
	s.watcher(&stats.Stats)
	s.plan(&plan)
	if stats.Polls == 0 {
		return // before the first poll Stats has no measurements
	}
	if !c.measures {
		s.unmeasured(&plan.Limits)
		return
	}
	s.memory(&stats.Memory)
	s.gc(&stats.GC)
	s.cpu(&stats.CPU)
}

// scrape is a scrape being answered.
type scrape struct{ ch chan<- prometheus.Metric }

// number sends v unless it is NaN.
func (s scrape) number(m *metric, v float64, labels ...string) {
	if math.IsNaN(v) {
		return
	}
	// It fails only on a label that is not UTF-8. A missing metric is better than no scrape.
	if sent, err := prometheus.NewConstMetric(m.desc, m.kind, v, labels...); err == nil {
		s.ch <- sent
	}
}

// value sends a known number. An unknown or absent one is left out.
func value[T int64 | float64](s scrape, m *metric, v limits.Value[T]) {
	if n, ok := v.Get(); ok {
		s.number(m, float64(n))
	}
}

// knob sends a knob's value, or +Inf if it is off.
func (s scrape) knob(m *metric, v limits.Value[int64]) {
	if v.State == limits.None {
		s.number(m, math.Inf(1))
		return
	}
	value(s, m, v)
}

// flag sends 1 or 0.
func (s scrape) flag(m *metric, is bool, labels ...string) {
	v := 0.0
	if is {
		v = 1
	}
	s.number(m, v, labels...)
}

// set sends 1 for each state in the list that holds and 0 for the others, so that each is a series
// from the first scrape on. It sends 1 once for each that holds and is not in the list.
func (s scrape) set(m *metric, states []string, hold ...string) {
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

// The label values present in every scrape.
var (
	knobs    = []string{"GOMAXPROCS", "GOMEMLIMIT", "GOGC"}
	verdicts = []string{string(adapt.VerdictUnknown), string(adapt.VerdictFine), string(adapt.VerdictTooFewProcs),
		string(adapt.VerdictQuotaSpent), string(adapt.VerdictHostBusy)}
	levels = []string{adapt.PressureCalm.String(), adapt.PressureTight.String(), adapt.PressureSpiral.String()}
)

func (s scrape) watcher(x *snug.Stats) {
	s.flag(watching, !x.Ended)
	s.flag(failed, x.Failure != "")
	s.number(polls, float64(x.Polls))
	s.number(changes, float64(x.Changes))
	if x.Interval > 0 {
		s.number(interval, x.Interval.Seconds())
	}
	s.set(givenUp, knobs, x.GivenUp...)
}

// unmeasured sends what needs no measurement: the limits, and the knobs as the runtime has them.
func (s scrape) unmeasured(l *limits.Limits) {
	value(s, memoryLimit, l.Memory.Soft)
	value(s, cores, l.CPU.Cores)
	s.number(gomaxprocs, float64(runtime.GOMAXPROCS(0)))
	if n := debug.SetMemoryLimit(-1); n == math.MaxInt64 {
		s.number(gomemlimit, math.Inf(1))
	} else {
		s.number(gomemlimit, float64(n))
	}
}

func (s scrape) memory(x *adapt.MemoryStats) {
	value(s, memoryLimit, x.Limit)
	value(s, memoryUsed, x.Used)
	value(s, memoryGo, x.Go)
	value(s, memoryNonGo, x.NonGo)
	value(s, memoryPeak, x.NonGoPeak)
	s.knob(gomemlimit, x.GOMEMLIMIT)
	value(s, effectiveGOGC, x.EffectiveGOGC)
	if int(x.Pressure) < len(levels) {
		s.set(pressure, levels, levels[x.Pressure])
	}
}

func (s scrape) gc(x *adapt.GCStats) {
	s.knob(gogc, x.GOGC)
	value(s, gcShare, x.CPUShare)
	value(s, gcCycles, x.Cycles)
}

func (s scrape) cpu(x *adapt.CPUStats) {
	value(s, gomaxprocs, x.GOMAXPROCS)
	value(s, cores, x.Cores)
	if x.Window > 0 {
		s.number(window, x.Window.Seconds())
		value(s, used, x.Used)
		value(s, throttled, x.Throttled)
		value(s, goWait, x.GoWait)
		value(s, kernelWait, x.KernelWait)
		value(s, perWakeup, x.WakeupWait)
	}
	v := x.Verdict
	if v == "" {
		v = adapt.VerdictUnknown
	}
	s.set(verdict, verdicts, string(v))
	s.flag(raised, x.Raised)
}

func (s scrape) plan(p *adapt.Plan) {
	for i, setting := range []*snug.Setting{&p.GOMAXPROCS, &p.GOMEMLIMIT, &p.GOGC} {
		if setting.Reason.Code != "" {
			s.number(planInfo, 1, knobs[i], setting.Reason.Code, string(setting.Action))
		}
	}
	codes := make([]string, 0, len(p.Warnings))
	for _, w := range p.Warnings {
		codes = append(codes, w.Code)
	}
	s.set(warning, nil, codes...)
}
