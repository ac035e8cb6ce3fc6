// SPDX-License-Identifier: Apache-2.0

package snugprom

import (
	"context"
	"math"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"github.com/snug-go/snug"
	"github.com/snug-go/snug/adapt"
	"github.com/snug-go/snug/limits"
)

// fake is a Watcher with figures written by the test.
type fake struct {
	stats adapt.Stats
	plan  adapt.Plan
	// The number of calls by scrapes.
	statsCalls, planCalls int
}

func (f *fake) Stats() adapt.Stats { f.statsCalls++; return f.stats }
func (f *fake) Plan() adapt.Plan   { f.planCalls++; return f.plan }

// busy returns a Watcher whose figures are all known.
func busy() *fake {
	n, x := limits.Of[int64], limits.Of[float64]
	return &fake{
		stats: adapt.Stats{
			Stats: snug.Stats{Polls: 3600, Interval: 250 * time.Millisecond, Changes: 7, GivenUp: []string{"GOGC"}},
			Memory: adapt.MemoryStats{
				Limit: n(268435456), Used: n(230000000), Go: n(150000000), NonGo: n(80000000), NonGoPeak: n(90000000),
				GOMEMLIMIT: n(133976000),
				Pressure:   adapt.PressureTight, EffectiveGOGC: x(17.5),
			},
			GC: adapt.GCStats{GOGC: n(400), CPUShare: x(0.125), Cycles: n(1234)},
			CPU: adapt.CPUStats{
				Window: 10 * time.Second, GOMAXPROCS: n(4), Cores: x(1.5), Used: x(0.75), Throttled: x(0.25),
				GoWait: x(12.5), KernelWait: x(1.5), WakeupWait: x(0.0625), Verdict: adapt.VerdictTooFewProcs, Raised: true,
			},
		},
		plan: adapt.Plan{
			Plan: snug.Plan{
				GOMAXPROCS: snug.Setting{Value: 2, Action: snug.ActionSet, Reason: snug.Reason{Code: "quota-ceil"}},
				GOMEMLIMIT: snug.Setting{Value: 241591910, Action: snug.ActionAlready, Reason: snug.Reason{Code: "memory-max"}},
				Warnings:   []limits.Warning{{Code: limits.WarnQuotaCrashesGo}, {Code: limits.WarnQuotaTorn}},
			},
			GOGC: snug.Setting{Leave: true, Action: snug.ActionLeft, Reason: snug.Reason{Code: "env-set"}},
		},
	}
}

// everything returns a collector of a fake that measures.
func everything(f *fake) collector { return collector{f, true} }

// gather scrapes once, with all checks of a registry.
func gather(t *testing.T, c prometheus.Collector) map[string]*dto.MetricFamily {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*dto.MetricFamily{}
	for _, f := range families {
		byName[f.GetName()] = f
	}
	return byName
}

func name(m *metric) string {
	_, rest, _ := strings.Cut(m.desc.String(), `fqName: "`)
	found, _, _ := strings.Cut(rest, `"`)
	return found
}

func TestEveryFigure(t *testing.T) {
	f := busy()
	want, err := os.Open("testdata/busy.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	if err := testutil.CollectAndCompare(everything(f), want); err != nil {
		t.Error(err)
	}
	got := gather(t, everything(f))
	for _, m := range all {
		if got[name(m)] == nil {
			t.Errorf("%s is described and never sent", name(m))
		}
	}
}

// TestEveryFieldCounts changes one field of Stats at a time: each change must show in the scrape,
// including those of fields added in future.
func TestEveryFieldCounts(t *testing.T) {
	before := scraped(t, busy())
	var change func(path string, field func(*adapt.Stats) reflect.Value)
	change = func(path string, field func(*adapt.Stats) reflect.Value) {
		f := busy()
		v := field(&f.stats)
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				change(path+"."+v.Type().Field(i).Name, func(s *adapt.Stats) reflect.Value { return field(s).Field(i) })
			}
			return
		case reflect.Int, reflect.Int64:
			v.SetInt(v.Int() + 1)
		case reflect.Uint8:
			v.SetUint(v.Uint() - 1)
		case reflect.Uint64:
			v.SetUint(v.Uint() + 1)
		case reflect.Float64:
			v.SetFloat(v.Float() + 1)
		case reflect.Bool:
			v.SetBool(!v.Bool())
		case reflect.String:
			v.SetString("fine")
		case reflect.Slice:
			v.Set(reflect.ValueOf([]string{"GOMAXPROCS"}))
		default:
			t.Fatalf("%s is a %s", path, v.Kind())
		}
		if scraped(t, f) == before {
			t.Errorf("Stats%s changes nothing in the scrape", path)
		}
	}
	change("", func(s *adapt.Stats) reflect.Value { return reflect.ValueOf(s).Elem() })
}

func scraped(t *testing.T, f *fake) string {
	t.Helper()
	families := gather(t, everything(f))
	var text []string
	for _, family := range families {
		text = append(text, family.String())
	}
	slices.Sort(text)
	return strings.Join(text, "\n")
}

func TestUnknownIsAbsent(t *testing.T) {
	bytes, number := limits.Value[int64]{}, limits.Value[float64]{}
	averages := []string{"snug_cpu_window_seconds", "snug_cpu_used_cores", "snug_cpu_throttled_ratio",
		"snug_go_wait_goroutines", "snug_kernel_wait_threads", "snug_wakeup_wait_seconds"}
	// Before the first poll only the Watcher's own state is known.
	var unmeasured []string
	for _, m := range all {
		if !slices.Contains([]*metric{watching, failed, polls, changes, interval, givenUp, planInfo, warning}, m) {
			unmeasured = append(unmeasured, name(m))
		}
	}
	for _, c := range []struct {
		name   string
		change func(s *adapt.Stats, p *adapt.Plan)
		absent []string
	}{
		{"everything is known", func(*adapt.Stats, *adapt.Plan) {}, nil},
		{"no memory limit", func(s *adapt.Stats, _ *adapt.Plan) { s.Memory.Limit = limits.NoLimit[int64]() }, []string{"snug_memory_limit_bytes"}},
		{"the group's memory cannot be read", func(s *adapt.Stats, _ *adapt.Plan) { s.Memory.Used = bytes }, []string{"snug_memory_unreclaimable_bytes"}},
		{"Go's memory cannot be read", func(s *adapt.Stats, _ *adapt.Plan) { s.Memory.Go, s.Memory.GOMEMLIMIT = bytes, bytes }, []string{"snug_memory_go_bytes", "snug_gomemlimit_bytes"}},
		{"without SNUG_ADAPT=memory", func(s *adapt.Stats, _ *adapt.Plan) {
			s.Memory.NonGoPeak = bytes
		}, []string{"snug_memory_nongo_peak_bytes"}},
		{"no collection yet", func(s *adapt.Stats, _ *adapt.Plan) {
			s.Memory.EffectiveGOGC, s.GC.CPUShare = number, number
		}, []string{"snug_gc_effective_gogc_percent", "snug_gc_cpu_ratio"}},
		{"no number", func(s *adapt.Stats, _ *adapt.Plan) { s.Memory.EffectiveGOGC = limits.Of(math.NaN()) }, []string{"snug_gc_effective_gogc_percent"}},
		{"GOGC and its cycles are unknown", func(s *adapt.Stats, _ *adapt.Plan) { s.GC.GOGC, s.GC.Cycles = bytes, bytes }, []string{"snug_gogc_percent", "snug_gc_cycles_total"}},
		{"a pressure level of the future", func(s *adapt.Stats, _ *adapt.Plan) { s.Memory.Pressure = 200 }, []string{"snug_pressure_level"}},
		{"no window yet", func(s *adapt.Stats, _ *adapt.Plan) { s.CPU.Window = 0 }, averages},
		{"no figure of the window", func(s *adapt.Stats, _ *adapt.Plan) {
			c := &s.CPU
			c.Used, c.Throttled, c.GoWait, c.KernelWait, c.WakeupWait = number, number, number, number, number
		}, averages[1:]},
		{"cores are unknown", func(s *adapt.Stats, _ *adapt.Plan) { s.CPU.Cores = number }, []string{"snug_cpu_limit_cores"}},
		{"no plan", func(_ *adapt.Stats, p *adapt.Plan) { *p = adapt.Plan{} }, []string{"snug_plan_info", "snug_warning_info"}},
		{"GOMAXPROCS and the next look are unknown", func(s *adapt.Stats, _ *adapt.Plan) { s.Interval, s.CPU.GOMAXPROCS = 0, bytes }, []string{"snug_poll_interval_seconds", "snug_gomaxprocs"}},
		{"it has not looked yet", func(s *adapt.Stats, _ *adapt.Plan) { s.Polls = 0 }, unmeasured},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := busy()
			c.change(&f.stats, &f.plan)
			got := gather(t, everything(f))
			for _, m := range all {
				if absent := slices.Contains(c.absent, name(m)); (got[name(m)] == nil) != absent {
					t.Errorf("%s: %v, want absent=%t", name(m), got[name(m)], absent)
				}
			}
			for _, family := range got {
				for _, m := range family.Metric {
					if math.IsNaN(m.GetGauge().GetValue()) || math.IsNaN(m.GetCounter().GetValue()) {
						t.Errorf("%s is NaN", family.GetName())
					}
				}
			}
		})
	}
}

func TestOffIsInfinite(t *testing.T) {
	f := busy()
	f.stats.GC.GOGC, f.stats.Memory.GOMEMLIMIT = limits.NoLimit[int64](), limits.NoLimit[int64]()
	got := gather(t, everything(f))
	for _, name := range []string{"snug_gogc_percent", "snug_gomemlimit_bytes"} {
		if v := got[name].Metric[0].GetGauge().GetValue(); !math.IsInf(v, 1) {
			t.Errorf("%s is %v, want +Inf", name, v)
		}
	}
}

// ones returns the label values of a family's series that are 1, and the number of series.
func ones(f *dto.MetricFamily) (which []string, series int) {
	for _, m := range f.GetMetric() {
		if m.GetGauge().GetValue() == 1 {
			which = append(which, m.Label[0].GetValue())
		}
	}
	slices.Sort(which)
	return which, len(f.GetMetric())
}

func TestStates(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(f *fake)
		metric string
		want   []string
		series int
	}{
		{"a verdict is one of five", func(f *fake) { f.stats.CPU.Verdict = "quota-spent" }, "snug_verdict", []string{"quota-spent"}, 5},
		{"no verdict yet is unknown", func(f *fake) { f.stats.CPU.Verdict = "" }, "snug_verdict", []string{"unknown"}, 5},
		{"a verdict of the future", func(f *fake) { f.stats.CPU.Verdict = "bewitched" }, "snug_verdict", []string{"bewitched"}, 6},
		{"calm", func(f *fake) { f.stats.Memory.Pressure = adapt.PressureCalm }, "snug_pressure_level", []string{"calm"}, 3},
		{"spiral", func(f *fake) { f.stats.Memory.Pressure = adapt.PressureSpiral }, "snug_pressure_level", []string{"spiral"}, 3},
		{"no knob was given up", func(f *fake) { f.stats.GivenUp = nil }, "snug_knob_given_up", nil, 3},
		{"a knob that was given up twice", func(f *fake) { f.stats.GivenUp = []string{"GOGC", "GOGC"} }, "snug_knob_given_up", []string{"GOGC"}, 3},
		{"a knob of the future", func(f *fake) { f.stats.GivenUp = []string{"GODEBUG", "GOMEMLIMIT"} }, "snug_knob_given_up", []string{"GODEBUG", "GOMEMLIMIT"}, 4},
		{"one warning from two levels", func(f *fake) { f.plan.Warnings = []limits.Warning{{Code: "a"}, {Code: "a"}, {Code: "b"}} }, "snug_warning_info", []string{"a", "b"}, 2},
		{"a label that is no text", func(f *fake) { f.plan.Warnings = []limits.Warning{{Code: "\xff"}, {Code: "b"}} }, "snug_warning_info", []string{"b"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := busy()
			c.change(f)
			got, series := ones(gather(t, everything(f))[c.metric])
			if !slices.Equal(got, c.want) || series != c.series {
				t.Errorf("1 are %q of %d, want %q of %d", got, series, c.want, c.series)
			}
		})
	}
}

func TestOneLookAScrape(t *testing.T) {
	f := busy()
	gather(t, everything(f))
	if f.statsCalls != 1 || f.planCalls != 1 {
		t.Errorf("one scrape took %d Stats and %d Plans, want one of each", f.statsCalls, f.planCalls)
	}
}

func TestLint(t *testing.T) {
	for name, c := range map[string]prometheus.Collector{"busy": everything(busy()), "nil": New(nil)} {
		problems, err := testutil.CollectAndLint(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			t.Errorf("%s: %s: %s", name, p.Metric, p.Text)
		}
	}
}

func TestNoWatcher(t *testing.T) {
	for name, c := range map[string]prometheus.Collector{"nil": New(nil), "a nil Watcher": NewAdapt(nil)} {
		got := gather(t, c)
		if len(got) != 1 || got["snug_watching"].Metric[0].GetGauge().GetValue() != 0 {
			t.Errorf("%s: %v, want snug_watching 0 and nothing else", name, got)
		}
	}
}

// TestScrapes: several registries scrape one real Watcher, of either package, while it is undone.
func TestScrapes(t *testing.T) {
	ctx := context.Background()
	light, err := snug.Watch(ctx, snug.WatchOptions{Poll: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("snug", func(t *testing.T) { scrapes(t, New(light), light.Stats, light.Undo, false) })
	w, err := adapt.Watch(ctx, adapt.Options{Poll: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("adapt", func(t *testing.T) {
		scrapes(t, NewAdapt(w), func() snug.Stats { return w.Stats().Stats }, w.Undo, true)
	})
}

func scrapes(t *testing.T, c prometheus.Collector, stats func() snug.Stats, undo func(), measures bool) {
	defer undo()
	wait(t, "a look", func() bool { return stats().Polls > 0 })
	got := gather(t, c)
	if v := got["snug_gomaxprocs"].GetMetric(); len(v) != 1 || v[0].GetGauge().GetValue() != float64(runtime.GOMAXPROCS(0)) {
		t.Errorf("snug_gomaxprocs is %v, want %d", v, runtime.GOMAXPROCS(0))
	}
	if got["snug_gomemlimit_bytes"] == nil {
		t.Error("no snug_gomemlimit_bytes")
	}
	for _, name := range []string{"snug_gogc_percent", "snug_verdict", "snug_pressure_level"} {
		if (got[name] != nil) != measures {
			t.Errorf("%s: %v, want it there: %t", name, got[name], measures)
		}
	}
	var scrapers sync.WaitGroup
	for range 8 {
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(c)
		scrapers.Add(1)
		go func() {
			defer scrapers.Done()
			for range 20 {
				if _, err := registry.Gather(); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	undo()
	scrapers.Wait()
	wait(t, "the end", func() bool { return gather(t, c)["snug_watching"].Metric[0].GetGauge().GetValue() == 0 })
	if gather(t, c)["snug_gomaxprocs"] == nil {
		t.Error("the last figures are gone after the end")
	}
}

// TestWatchersThatNeverLook: the operator's switches leave nothing to measure.
func TestWatchersThatNeverLook(t *testing.T) {
	for _, c := range []struct{ variable, value, code string }{
		{"SNUG", "off", "disabled"},
		{"SNUG_WATCH", "0", ""},
	} {
		t.Run(c.variable+"="+c.value, func(t *testing.T) {
			t.Setenv(c.variable, c.value)
			w, err := adapt.Watch(context.Background(), adapt.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Undo()
			got := gather(t, NewAdapt(w))
			if v := got["snug_watching"].Metric[0].GetGauge().GetValue(); v != 0 {
				t.Errorf("snug_watching is %v, want 0", v)
			}
			if got["snug_gogc_percent"] != nil || got["snug_gomemlimit_bytes"] != nil {
				t.Errorf("nothing was measured, and there are %v, %v", got["snug_gogc_percent"], got["snug_gomemlimit_bytes"])
			}
			if plans := got["snug_plan_info"].String(); len(got["snug_plan_info"].GetMetric()) != 3 || !strings.Contains(plans, c.code) {
				t.Errorf("the plan is %s, want three settings with %q", plans, c.code)
			}
		})
	}
}

// wait waits up to half a minute for something that takes milliseconds.
func wait(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not come", what)
		}
	}
}

func BenchmarkScrape(b *testing.B) {
	c := everything(busy())
	ch := make(chan prometheus.Metric, 100)
	b.ReportAllocs()
	for range b.N {
		c.Collect(ch)
		for range len(ch) {
			<-ch
		}
	}
}
