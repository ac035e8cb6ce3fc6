// SPDX-License-Identifier: Apache-2.0

// Package snugotel gives what snug decides, does and measures in a process to OpenTelemetry:
//
//	w, err := snug.Watch(ctx, snug.WatchOptions{})
//	...
//	_, err = snugotel.Register(w, nil)
//
// Register takes a Watcher of package snug, which follows the limits; RegisterAdapt one of package
// adapt, which measures as well. If your program imports snug/auto, the Watcher is snug.Current();
// with snug/adapt/auto it is adapt.Current().
//
// The knobs in force and the memory of the Go runtime have conventional names, which
// go.opentelemetry.io/contrib/instrumentation/runtime gives: go.processor.limit (GOMAXPROCS),
// go.memory.limit (GOMEMLIMIT), go.config.gogc and go.memory.used. Start it too; this package gives
// only what it lacks.
//
// Units are bytes, seconds, ratios from 0 to 1, percent and cores. An unknown or unmeasured value
// is absent, never 0 and never NaN: nearly all are absent before the Watcher's first poll, a second
// after the start.
package snugotel

import (
	"context"
	"fmt"
	"math"
	"unicode/utf8"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/snug-go/snug"
	"github.com/snug-go/snug/adapt"
	"github.com/snug-go/snug/limits"
)

// scope names the instrumentation.
const scope = "github.com/snug-go/snug/contrib/otel"

// Register has provider, or the global MeterProvider if it is nil, ask for the limits, settings and
// reasons of w at each collection, until you Unregister. It reads nothing and waits for nothing.
// After w has ended, its last values stay and snug.watching is 0; for a nil w that is the only
// metric. The error is the provider's; then nothing is registered.
//
// A process has one set of knobs, so no attribute distinguishes Watchers: Unregister one before you
// register the next.
func Register(w *snug.Watcher, provider metric.MeterProvider) (metric.Registration, error) {
	if w == nil {
		return register(nil, false, provider)
	}
	return register(light{w}, false, provider)
}

// RegisterAdapt is Register for a Watcher of package adapt, including all its measurements.
func RegisterAdapt(w *adapt.Watcher, provider metric.MeterProvider) (metric.Registration, error) {
	if w == nil {
		return register(nil, false, provider)
	}
	return register(w, true, provider)
}

// source is the part of a Watcher that a collection needs. Each calls Stats and Plan once.
type source interface {
	Stats() adapt.Stats
	Plan() adapt.Plan
}

// light is a Watcher that does not measure.
type light struct{ *snug.Watcher }

func (l light) Stats() adapt.Stats { return adapt.Stats{Stats: l.Watcher.Stats()} }
func (l light) Plan() adapt.Plan   { return adapt.Plan{Plan: l.Watcher.Plan()} }

func register(from source, measures bool, provider metric.MeterProvider) (metric.Registration, error) {
	if provider == nil {
		provider = otel.GetMeterProvider()
	}
	meter := provider.Meter(scope)
	instruments := make([]metric.Float64Observable, len(all))
	observables := make([]metric.Observable, len(all))
	for i, f := range all {
		instrument, err := f.kind(meter, f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		instruments[i], observables[i] = instrument, instrument
	}
	return meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		collection{to, instruments}.of(from, measures)
		return nil
	}, observables...)
}

// collection is a collection being answered. Several may overlap.
type collection struct {
	to          metric.Observer
	instruments []metric.Float64Observable
}

// of observes the values known at this moment.
func (c collection) of(from source, measures bool) {
	if from == nil {
		c.flag(watching, false)
		return
	}
	stats, plan := from.Stats(), from.Plan()
	c.watcher(&stats.Stats)
	c.plan(&plan)
	if stats.Polls == 0 {
		return // before the first poll Stats has no measurements
	}
	if !measures {
		value(c, memoryLimit, plan.Limits.Memory.Soft)
		value(c, cores, plan.Limits.CPU.Cores)
		return
	}
	c.memory(&stats.Memory)
	c.gc(&stats.GC)
	c.cpu(&stats.CPU)
}

// number observes v unless it is NaN, or an attribute is not UTF-8: exporters would then lose all
// metrics, and a missing one is better.
func (c collection) number(f *figure, v float64, values ...string) {
	if math.IsNaN(v) {
		return
	}
	attributes := make([]attribute.KeyValue, len(values))
	for i, text := range values {
		if !utf8.ValidString(text) {
			return
		}
		attributes[i] = attribute.String(f.attributes[i], text)
	}
	c.to.ObserveFloat64(c.instruments[f.at], v, metric.WithAttributes(attributes...))
}

// value observes a known number. An unknown or absent one is left out.
func value[T int64 | float64](c collection, f *figure, v limits.Value[T]) {
	if n, ok := v.Get(); ok {
		c.number(f, float64(n))
	}
}

// flag observes 1 or 0.
func (c collection) flag(f *figure, is bool, values ...string) {
	v := 0.0
	if is {
		v = 1
	}
	c.number(f, v, values...)
}

// set observes 1 for each state in the list that holds and 0 for the others, so that each is a
// series from the start. It observes 1 once for each that holds and is not in the list.
func (c collection) set(f *figure, states []string, hold ...string) {
	seen := make(map[string]bool, len(hold))
	for _, state := range hold {
		seen[state] = true
	}
	for _, state := range states {
		c.flag(f, seen[state], state)
		delete(seen, state)
	}
	for state := range seen {
		c.flag(f, true, state)
	}
}

// The attribute values present in every collection.
var (
	knobs    = []string{"GOMAXPROCS", "GOMEMLIMIT", "GOGC"}
	verdicts = []string{string(adapt.VerdictUnknown), string(adapt.VerdictFine), string(adapt.VerdictTooFewProcs),
		string(adapt.VerdictQuotaSpent), string(adapt.VerdictHostBusy)}
	levels = []string{adapt.PressureCalm.String(), adapt.PressureTight.String(), adapt.PressureSpiral.String()}
)

func (c collection) watcher(x *snug.Stats) {
	c.flag(watching, !x.Ended)
	c.flag(failed, x.Failure != "")
	c.number(polls, float64(x.Polls))
	c.number(changes, float64(x.Changes))
	if x.Interval > 0 {
		c.number(interval, x.Interval.Seconds())
	}
	c.set(givenUp, knobs, x.GivenUp...)
}

func (c collection) memory(x *adapt.MemoryStats) {
	value(c, memoryLimit, x.Limit)
	value(c, memoryUsed, x.Used)
	value(c, memoryNonGo, x.NonGo)
	value(c, memoryPeak, x.NonGoPeak)
	value(c, effectiveGOGC, x.EffectiveGOGC)
	if int(x.Pressure) < len(levels) {
		c.set(pressure, levels, levels[x.Pressure])
	}
}

func (c collection) gc(x *adapt.GCStats) {
	value(c, gcShare, x.CPUShare)
	value(c, gcCycles, x.Cycles)
}

func (c collection) cpu(x *adapt.CPUStats) {
	value(c, cores, x.Cores)
	if x.Window > 0 {
		c.number(window, x.Window.Seconds())
		value(c, used, x.Used)
		value(c, throttled, x.Throttled)
		value(c, goWait, x.GoWait)
		value(c, kernelWait, x.KernelWait)
		value(c, perWakeup, x.WakeupWait)
	}
	v := x.Verdict
	if v == "" {
		v = adapt.VerdictUnknown
	}
	c.set(verdict, verdicts, string(v))
	c.flag(raised, x.Raised)
}

func (c collection) plan(p *adapt.Plan) {
	for i, setting := range []*snug.Setting{&p.GOMAXPROCS, &p.GOMEMLIMIT, &p.GOGC} {
		if setting.Reason.Code != "" {
			c.number(planInfo, 1, knobs[i], setting.Reason.Code, string(setting.Action))
		}
	}
	codes := make([]string, 0, len(p.Warnings))
	for _, w := range p.Warnings {
		codes = append(codes, w.Code)
	}
	c.set(warning, nil, codes...)
}
