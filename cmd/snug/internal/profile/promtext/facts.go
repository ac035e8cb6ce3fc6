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
	GOMAXPROCS figure.Of[int]    // 1 or more
	GOGC       figure.Of[int]    // percent, or Off
	GOMEMLIMIT figure.Of[int64]  // bytes

	HeapAlloc    figure.Of[int64] // bytes of objects, live or not yet swept
	HeapLive     figure.Of[int64] // bytes marked live by the last collection
	HeapGoal     figure.Of[int64] // bytes at which the next collection should end; none with GOGC=off and no GOMEMLIMIT
	Sys          figure.Of[int64] // bytes of address space reserved by the runtime
	HeapReleased figure.Of[int64] // bytes of Sys returned to the kernel

	GCs            figure.Of[int64]   // collections
	ForcedGCs      figure.Of[int64]   // collections forced by the program
	GCPauseSeconds figure.Of[float64] // wall time that collections stopped the world
	GCCPUFraction  figure.Of[float64] // share of GOMAXPROCS times wall time since the start, 0 to 1
	CPU            CPUClasses

	Threads    figure.Of[int] // threads created, which Go rarely ends
	Goroutines figure.Of[int]

	RSS              figure.Of[int64]   // resident bytes, counted by the kernel
	MaxRSS           figure.Of[int64]   // maximum resident bytes
	CPUSeconds       figure.Of[float64] // user and system time, counted by the kernel
	StartTimeSeconds figure.Of[float64] // Unix time
}

// CPUClasses are the runtime's estimates of its CPU time by class, in seconds (/cpu/classes in
// package runtime/metrics), as of the last collection. Total is GOMAXPROCS times wall time,
// even if the process got less CPU time, so compare classes only with each other.
type CPUClasses struct {
	GCAssist, GCDedicated, GCIdle, GCPause, GCTotal figure.Of[float64]
	Scavenge, Idle, User, Total                     figure.Of[float64]
}

// series is the source of a figure: the first of names that exists. The names of
// client_golang (including its runtime metrics) come first, then those of
// VictoriaMetrics, then those of OpenTelemetry.
type series struct {
	names []string
	take  func(*GoFacts, float64)
}

var figures = []series{
	{[]string{"go_sched_gomaxprocs_threads", "go_gomaxprocs", "go_processor_limit"}, func(g *GoFacts, f float64) {
		if n, ok := integer(f); ok && n >= 1 && n <= 1<<20 {
			g.GOMAXPROCS = known(int(n))
		}
	}},
	{[]string{"go_gc_gogc_percent", "go_config_gogc_percent"}, func(g *GoFacts, f float64) {
		// The runtime reports -1 as a uint64.
		if f == -1 || f == math.MaxUint64 {
			g.GOGC = known(Off)
		} else if n, ok := integer(f); ok && n <= math.MaxInt32 {
			g.GOGC = known(int(n))
		}
	}},
	// OpenTelemetry omits it if there is no limit, so "none" and "unknown" look alike.
	{[]string{"go_gc_gomemlimit_bytes", "go_memory_limit_bytes"}, func(g *GoFacts, f float64) { g.GOMEMLIMIT = limit(f) }},

	wholeOf(func(g *GoFacts) *figure.Of[int64] { return &g.HeapAlloc }, "go_memstats_heap_alloc_bytes", "go_memstats_alloc_bytes", "go_memory_classes_heap_objects_bytes"),
	wholeOf(func(g *GoFacts) *figure.Of[int64] { return &g.HeapLive }, "go_gc_heap_live_bytes"),
	{[]string{"go_memstats_next_gc_bytes", "go_gc_heap_goal_bytes", "go_memory_gc_goal_bytes"}, func(g *GoFacts, f float64) { g.HeapGoal = limit(f) }},
	wholeOf(func(g *GoFacts) *figure.Of[int64] { return &g.Sys }, "go_memstats_sys_bytes", "go_memory_classes_total_bytes"),
	wholeOf(func(g *GoFacts) *figure.Of[int64] { return &g.HeapReleased }, "go_memstats_heap_released_bytes", "go_memory_classes_heap_released_bytes"),

	wholeOf(func(g *GoFacts) *figure.Of[int64] { return &g.GCs }, "go_gc_duration_seconds_count", "go_gc_cycles_total_gc_cycles_total"),
	wholeOf(func(g *GoFacts) *figure.Of[int64] { return &g.ForcedGCs }, "go_gc_cycles_forced_gc_cycles_total", "go_gc_forced_count"),
	secondsOf(func(g *GoFacts) *figure.Of[float64] { return &g.GCPauseSeconds }, "go_gc_duration_seconds_sum"),
	{[]string{"go_memstats_gc_cpu_fraction"}, func(g *GoFacts, f float64) { g.GCCPUFraction = fraction(f) }},

	secondsOf(func(g *GoFacts) *figure.Of[float64] { return &g.CPU.GCAssist }, "go_cpu_classes_gc_mark_assist_cpu_seconds_total"),
	secondsOf(func(g *GoFacts) *figure.Of[float64] { return &g.CPU.GCDedicated }, "go_cpu_classes_gc_mark_dedicated_cpu_seconds_total"),
	secondsOf(func(g *GoFacts) *figure.Of[float64] { return &g.CPU.GCIdle }, "go_cpu_classes_gc_mark_idle_cpu_seconds_total"),
	secondsOf(func(g *GoFacts) *figure.Of[float64] { return &g.CPU.GCPause }, "go_cpu_classes_gc_pause_cpu_seconds_total"),
	secondsOf(func(g *GoFacts) *figure.Of[float64] { return &g.CPU.GCTotal }, "go_cpu_classes_gc_total_cpu_seconds_total"),
	secondsOf(func(g *GoFacts) *figure.Of[float64] { return &g.CPU.Scavenge }, "go_cpu_classes_scavenge_total_cpu_seconds_total"),
	secondsOf(func(g *GoFacts) *figure.Of[float64] { return &g.CPU.Idle }, "go_cpu_classes_idle_cpu_seconds_total"),
	secondsOf(func(g *GoFacts) *figure.Of[float64] { return &g.CPU.User }, "go_cpu_classes_user_cpu_seconds_total"),
	secondsOf(func(g *GoFacts) *figure.Of[float64] { return &g.CPU.Total }, "go_cpu_classes_total_cpu_seconds_total"),

	countOf(func(g *GoFacts) *figure.Of[int] { return &g.Threads }, "go_threads", "process_num_threads"),
	countOf(func(g *GoFacts) *figure.Of[int] { return &g.Goroutines }, "go_goroutines", "go_sched_goroutines_goroutines", "go_goroutine_count"),

	wholeOf(func(g *GoFacts) *figure.Of[int64] { return &g.RSS }, "process_resident_memory_bytes"),
	secondsOf(func(g *GoFacts) *figure.Of[float64] { return &g.CPUSeconds }, "process_cpu_seconds_total"),
	secondsOf(func(g *GoFacts) *figure.Of[float64] { return &g.StartTimeSeconds }, "process_start_time_seconds"),
}

func wholeOf(of func(*GoFacts) *figure.Of[int64], names ...string) series {
	return series{names, func(g *GoFacts, f float64) {
		if n, ok := integer(f); ok {
			*of(g) = known(n)
		}
	}}
}

func countOf(of func(*GoFacts) *figure.Of[int], names ...string) series {
	return series{names, func(g *GoFacts, f float64) {
		if n, ok := integer(f); ok && n <= math.MaxInt32 {
			*of(g) = known(int(n))
		}
	}}
}

func secondsOf(of func(*GoFacts) *figure.Of[float64], names ...string) series {
	return series{names, func(g *GoFacts, f float64) {
		if f >= 0 && f <= math.MaxFloat64 {
			*of(g) = known(f)
		}
	}}
}

// integer converts a whole number from 0 to below 2^63.
func integer(f float64) (int64, bool) {
	if !(f >= 0 && f < math.MaxInt64) || f != math.Trunc(f) {
		return 0, false
	}
	return int64(f), true
}

// unbounded is 2^60 bytes, more than Go can address. With GOGC=off and no
// GOMEMLIMIT the goal is MaxUint64 or, since Go 1.19, a few percent below
// MaxInt64 (memoryLimitHeapGoal in runtime/mgcpacer.go).
const unbounded = 1 << 60

// limit converts an integer; unbounded and more is none.
func limit(f float64) figure.Of[int64] {
	if f >= unbounded && f <= math.MaxUint64 {
		return figure.None[int64](fromProgram)
	}
	if n, ok := integer(f); ok {
		return known(n)
	}
	return figure.Of[int64]{}
}

func fraction(f float64) figure.Of[float64] {
	if !(f >= 0 && f <= 1) {
		return figure.Of[float64]{}
	}
	return known(f)
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
		for _, name := range f.names {
			if s, ok := of[name]; ok {
				f.take(&g, s.Value)
				break
			}
		}
	}
	return g
}

// wanted holds the names of all samples that figures use.
var wanted = func() map[string]bool {
	names := map[string]bool{"go_info": true}
	for _, f := range figures {
		for _, name := range f.names {
			names[name] = true
		}
	}
	return names
}()

func same(a, b Sample) bool {
	return slices.Equal(a.Labels, b.Labels) && math.Float64bits(a.Value) == math.Float64bits(b.Value)
}
