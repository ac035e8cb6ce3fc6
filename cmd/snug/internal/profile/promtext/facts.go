// SPDX-License-Identifier: Apache-2.0

package promtext

import (
	"math"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
)

// fromProgram is the source of all figures here.
const fromProgram = "reported by the program"

func known[T any](v T) figure.Of[T] { return figure.New(v, fromProgram) }

// Off is GOGC=off, as in debug.SetGCPercent.
const Off = -1

// GoFacts holds the figures that a Go process reports. Counters are since its start:
// a rate is the difference of two.
type GoFacts struct {
	// IsGo reports whether there is a figure that only Go programs report.
	// Programs in other languages report process_* too.
	IsGo bool
	// Several reports whether the page has figures of more than one process,
	// like the page of a gateway or a federation. All else is then unknown.
	Several bool

	Version    figure.Of[string] // "go1.26.8", as from runtime.Version
	GOMAXPROCS figure.Of[int64]  // 1 or more
	GOGC       figure.Of[int64]  // percent, or Off
	GOMEMLIMIT figure.Of[int64]  // bytes

	HeapLive     figure.Of[int64] // bytes marked live by the last collection
	HeapGoal     figure.Of[int64] // bytes at which the next collection should end; none with GOGC=off and no GOMEMLIMIT
	Sys          figure.Of[int64] // bytes of address space reserved by the runtime
	HeapReleased figure.Of[int64] // bytes of Sys returned to the kernel
	GCs          figure.Of[int64] // collections

	// The runtime's estimates of its CPU time by class, in seconds (/cpu/classes in package runtime/metrics), as of
	// the last collection. They add up to GOMAXPROCS times wall time, even if the process got less CPU time, so
	// compare them only with each other.
	GCCPU, GCIdle, Scavenge, User figure.Of[float64]

	CPUSeconds figure.Of[float64] // user and system time, counted by the kernel
	Started    figure.Of[float64] // Unix time, in seconds
}

// series is the source of a figure: the first of names that exists. The names of
// client_golang (including its runtime metrics) come first, then those of
// VictoriaMetrics, then those of OpenTelemetry.
type series struct {
	names string
	take  func(*GoFacts, float64)
}

var figures = []series{
	{"go_sched_gomaxprocs_threads go_gomaxprocs go_processor_limit", func(g *GoFacts, f float64) {
		if f >= 1 && f <= 1<<20 {
			g.GOMAXPROCS = whole(f)
		}
	}},
	{"go_gc_gogc_percent go_config_gogc_percent", func(g *GoFacts, f float64) {
		if f == -1 || f == math.MaxUint64 { // the runtime reports -1 as a uint64
			g.GOGC = known[int64](Off)
		} else if f <= math.MaxInt32 {
			g.GOGC = whole(f)
		}
	}},
	// OpenTelemetry omits it if there is no limit, so "none" and "unknown" look alike.
	{"go_gc_gomemlimit_bytes go_memory_limit_bytes", func(g *GoFacts, f float64) { g.GOMEMLIMIT = limit(f) }},
	{"go_gc_heap_live_bytes", func(g *GoFacts, f float64) { g.HeapLive = whole(f) }},
	{"go_memstats_next_gc_bytes go_gc_heap_goal_bytes go_memory_gc_goal_bytes", func(g *GoFacts, f float64) {
		g.HeapGoal = limit(f)
	}},
	{"go_memstats_sys_bytes go_memory_classes_total_bytes", func(g *GoFacts, f float64) { g.Sys = whole(f) }},
	{"go_memstats_heap_released_bytes go_memory_classes_heap_released_bytes", func(g *GoFacts, f float64) {
		g.HeapReleased = whole(f)
	}},
	{"go_gc_duration_seconds_count go_gc_cycles_total_gc_cycles_total", func(g *GoFacts, f float64) { g.GCs = whole(f) }},
	{"go_cpu_classes_gc_total_cpu_seconds_total", func(g *GoFacts, f float64) { g.GCCPU = seconds(f) }},
	{"go_cpu_classes_gc_mark_idle_cpu_seconds_total", func(g *GoFacts, f float64) { g.GCIdle = seconds(f) }},
	{"go_cpu_classes_scavenge_total_cpu_seconds_total", func(g *GoFacts, f float64) { g.Scavenge = seconds(f) }},
	{"go_cpu_classes_user_cpu_seconds_total", func(g *GoFacts, f float64) { g.User = seconds(f) }},
	{"process_cpu_seconds_total", func(g *GoFacts, f float64) { g.CPUSeconds = seconds(f) }},
	{"process_start_time_seconds", func(g *GoFacts, f float64) { g.Started = seconds(f) }},
}

// others are figures of every Go program that nothing here needs: they tell that it is one, and how many there are.
const others = "go_info go_threads go_goroutines go_sched_goroutines_goroutines go_goroutine_count"

// whole returns a whole number from 0 to below 2^63.
func whole(f float64) (n figure.Of[int64]) {
	if f >= 0 && f < math.MaxInt64 && f == math.Trunc(f) {
		n = known(int64(f))
	}
	return n
}

func seconds(f float64) (s figure.Of[float64]) {
	if f >= 0 && f <= math.MaxFloat64 {
		s = known(f)
	}
	return s
}

// unbounded is 2^60 bytes, more than Go can address. With GOGC=off and no
// GOMEMLIMIT the goal is MaxUint64 or, since Go 1.19, a few percent below
// MaxInt64 (memoryLimitHeapGoal in runtime/mgcpacer.go).
const unbounded = 1 << 60

// limit returns a whole number; unbounded and more is none.
func limit(f float64) figure.Of[int64] {
	if f >= unbounded && f <= math.MaxUint64 {
		return figure.None[int64](fromProgram)
	}
	return whole(f)
}

// Go returns the facts in samples. Invalid figures are unknown.
func Go(samples []Sample) GoFacts {
	var g GoFacts
	of := map[string]Sample{}
	for _, s := range samples {
		if !wanted[s.Name] {
			continue
		}
		if have, twice := of[s.Name]; twice && !same(have, s) {
			g.Several = true
		}
		of[s.Name] = s
		g.IsGo = g.IsGo || strings.HasPrefix(s.Name, "go_")
	}
	if g.Several {
		return GoFacts{IsGo: g.IsGo, Several: true}
	}
	for _, l := range of["go_info"].Labels {
		if l.Name == "version" && l.Value != "" && len(l.Value) <= 256 {
			g.Version = known(l.Value)
		}
	}
	for _, f := range figures {
		for name := range strings.FieldsSeq(f.names) {
			if s, ok := of[name]; ok {
				f.take(&g, s.Value)
				break
			}
		}
	}
	return g
}

// wanted holds the names of all samples that figures use, and the others.
var wanted = func() map[string]bool {
	names := map[string]bool{}
	for _, f := range append(figures, series{names: others}) {
		for name := range strings.FieldsSeq(f.names) {
			names[name] = true
		}
	}
	return names
}()

func same(a, b Sample) bool {
	return slices.Equal(a.Labels, b.Labels) && math.Float64bits(a.Value) == math.Float64bits(b.Value)
}
