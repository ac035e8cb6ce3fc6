// SPDX-License-Identifier: Apache-2.0

package snugotel

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/snug-go/snug"
	"github.com/snug-go/snug/adapt"
	"github.com/snug-go/snug/limits"
)

// fake is a Watcher with figures written by the test.
type fake struct {
	stats adapt.Stats
	plan  adapt.Plan
	// The number of calls by collections.
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

// open returns a provider of the SDK, and what collects from it.
func open(t *testing.T) (metric.MeterProvider, *sdk.ManualReader) {
	t.Helper()
	reader := sdk.NewManualReader()
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	t.Cleanup(func() { provider.Shutdown(context.Background()) })
	return provider, reader
}

// collect collects once. The keys are the names of metrics, the lines of one its series.
func collect(t *testing.T, reader *sdk.ManualReader) map[string][]string {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	series := map[string][]string{}
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			series[m.Name] = lines(t, m)
		}
	}
	return series
}

func lines(t *testing.T, m metricdata.Metrics) []string {
	t.Helper()
	switch data := m.Data.(type) {
	case metricdata.Sum[float64]:
		return points(data.DataPoints)
	case metricdata.Gauge[float64]:
		return points(data.DataPoints)
	case metricdata.Sum[int64]:
		return points(data.DataPoints)
	}
	t.Fatalf("%s is a %T", m.Name, m.Data)
	return nil
}

func points[N int64 | float64](all []metricdata.DataPoint[N]) []string {
	var lines []string
	for _, p := range all {
		var words []string
		for _, a := range p.Attributes.ToSlice() {
			words = append(words, string(a.Key)+"="+a.Value.AsString())
		}
		lines = append(lines, strings.Join(append(words, fmt.Sprint(p.Value)), " "))
	}
	slices.Sort(lines)
	return lines
}

// seen collects once from a Watcher that measures.
func seen(t *testing.T, f *fake) map[string][]string {
	t.Helper()
	provider, reader := open(t)
	if _, err := register(f, true, provider); err != nil {
		t.Fatal(err)
	}
	return collect(t, reader)
}

func TestEveryFigure(t *testing.T) {
	got := seen(t, busy())
	want := map[string][]string{
		"snug.watching": {"1"}, "snug.failed": {"0"}, "snug.polls": {"3600"}, "snug.poll.interval": {"0.25"}, "snug.changes": {"7"},
		"snug.knob.given_up": {"knob=GOGC 1", "knob=GOMAXPROCS 0", "knob=GOMEMLIMIT 0"},
		"snug.memory.limit":  {"2.68435456e+08"}, "snug.memory.unreclaimable": {"2.3e+08"}, "snug.memory.nongo": {"8e+07"}, "snug.memory.nongo_peak": {"9e+07"},
		"snug.pressure.level":    {"level=calm 0", "level=spiral 0", "level=tight 1"},
		"snug.gc.effective_gogc": {"17.5"}, "snug.gc.cpu": {"0.125"}, "snug.gc.cycles": {"1234"},
		"snug.cpu.limit.cores": {"1.5"}, "snug.cpu.window": {"10"}, "snug.cpu.used.cores": {"0.75"}, "snug.cpu.throttled": {"0.25"},
		"snug.go.wait.goroutines": {"12.5"}, "snug.kernel.wait.threads": {"1.5"}, "snug.wakeup.wait": {"0.0625"},
		"snug.verdict":           {"verdict=fine 0", "verdict=host-busy 0", "verdict=quota-spent 0", "verdict=too-few-procs 1", "verdict=unknown 0"},
		"snug.gomaxprocs.raised": {"1"},
		"snug.plan.info": {"action=already code=memory-max knob=GOMEMLIMIT 1", "action=left code=env-set knob=GOGC 1",
			"action=set code=quota-ceil knob=GOMAXPROCS 1"},
		"snug.warning.info": {"code=" + limits.WarnQuotaCrashesGo + " 1", "code=" + limits.WarnQuotaTorn + " 1"},
	}
	slices.Sort(want["snug.warning.info"])
	for _, f := range all {
		if !slices.Equal(got[f.name], want[f.name]) {
			t.Errorf("%s is %q, want %q", f.name, got[f.name], want[f.name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d metrics, want %d: %v", len(got), len(want), got)
	}
}

// TestEveryFieldCounts changes one field of Stats at a time: each change must show, including those
// of fields added in future. The exceptions are what instrumentation/runtime gives: TestBeside.
func TestEveryFieldCounts(t *testing.T) {
	conventional := []string{".Memory.Go.N", ".Memory.Go.State", ".Memory.GOMEMLIMIT.N", ".Memory.GOMEMLIMIT.State", ".GC.GOGC.N", ".GC.GOGC.State",
		".CPU.GOMAXPROCS.N", ".CPU.GOMAXPROCS.State"}
	before, left := fmt.Sprint(seen(t, busy())), 0
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
		if slices.Contains(conventional, path) {
			left++
		} else if fmt.Sprint(seen(t, f)) == before {
			t.Errorf("Stats%s changes nothing", path)
		}
	}
	change("", func(s *adapt.Stats) reflect.Value { return reflect.ValueOf(s).Elem() })
	if left != len(conventional) {
		t.Errorf("%d of the fields %q exist", left, conventional)
	}
}

func TestUnknownIsAbsent(t *testing.T) {
	bytes, number := limits.Value[int64]{}, limits.Value[float64]{}
	averages := []*figure{window, used, throttled, goWait, kernelWait, perWakeup}
	var unmeasured []*figure // before the first poll only the Watcher's own state is known
	for _, f := range all {
		if !slices.Contains([]*figure{watching, failed, polls, changes, interval, givenUp, planInfo, warning}, f) {
			unmeasured = append(unmeasured, f)
		}
	}
	for _, c := range []struct {
		name   string
		change func(s *adapt.Stats, p *adapt.Plan)
		absent []*figure
	}{
		{"everything is known", func(*adapt.Stats, *adapt.Plan) {}, nil},
		{"no memory limit", func(s *adapt.Stats, _ *adapt.Plan) { s.Memory.Limit = limits.NoLimit[int64]() }, []*figure{memoryLimit}},
		{"the group's memory cannot be read", func(s *adapt.Stats, _ *adapt.Plan) { s.Memory.Used, s.Memory.NonGo = bytes, bytes }, []*figure{memoryUsed, memoryNonGo}},
		{"without SNUG_ADAPT=memory", func(s *adapt.Stats, _ *adapt.Plan) { s.Memory.NonGoPeak = bytes }, []*figure{memoryPeak}},
		{"no collection yet", func(s *adapt.Stats, _ *adapt.Plan) {
			s.Memory.EffectiveGOGC, s.GC.CPUShare, s.GC.Cycles = number, number, bytes
		}, []*figure{effectiveGOGC, gcShare, gcCycles}},
		{"no number", func(s *adapt.Stats, _ *adapt.Plan) { s.Memory.EffectiveGOGC = limits.Of(math.NaN()) }, []*figure{effectiveGOGC}},
		{"a pressure level of the future", func(s *adapt.Stats, _ *adapt.Plan) { s.Memory.Pressure = 200 }, []*figure{pressure}},
		{"no window yet", func(s *adapt.Stats, _ *adapt.Plan) { s.CPU.Window = 0 }, averages},
		{"no figure of the window", func(s *adapt.Stats, _ *adapt.Plan) {
			c := &s.CPU
			c.Used, c.Throttled, c.GoWait, c.KernelWait, c.WakeupWait = number, number, number, number, number
		}, averages[1:]},
		{"cores are unknown", func(s *adapt.Stats, _ *adapt.Plan) { s.CPU.Cores = number }, []*figure{cores}},
		{"no plan", func(_ *adapt.Stats, p *adapt.Plan) { *p = adapt.Plan{} }, []*figure{planInfo, warning}},
		{"the next look is unknown", func(s *adapt.Stats, _ *adapt.Plan) { s.Interval = 0 }, []*figure{interval}},
		{"it has not looked yet", func(s *adapt.Stats, _ *adapt.Plan) { s.Polls = 0 }, unmeasured},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := busy()
			c.change(&f.stats, &f.plan)
			got := seen(t, f)
			for _, m := range all {
				if absent := slices.Contains(c.absent, m); (got[m.name] == nil) != absent {
					t.Errorf("%s: %v, want absent=%t", m.name, got[m.name], absent)
				}
			}
		})
	}
}

func TestStates(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(f *fake)
		metric *figure
		want   []string // those with 1
		series int
	}{
		{"no verdict yet is unknown", func(f *fake) { f.stats.CPU.Verdict = "" }, verdict, []string{"verdict=unknown 1"}, 5},
		{"a verdict of the future", func(f *fake) { f.stats.CPU.Verdict = "bewitched" }, verdict, []string{"verdict=bewitched 1"}, 6},
		{"a knob that was given up twice", func(f *fake) { f.stats.GivenUp = []string{"GOGC", "GOGC"} }, givenUp, []string{"knob=GOGC 1"}, 3},
		{"one warning from two levels", func(f *fake) { f.plan.Warnings = []limits.Warning{{Code: "a"}, {Code: "a"}} }, warning, []string{"code=a 1"}, 1},
		{"an attribute that is no text", func(f *fake) { f.plan.Warnings = []limits.Warning{{Code: "\xff"}, {Code: "b"}} }, warning, []string{"code=b 1"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := busy()
			c.change(f)
			got := seen(t, f)[c.metric.name]
			series := len(got)
			if ones := slices.DeleteFunc(got, func(s string) bool { return !strings.HasSuffix(s, " 1") }); !slices.Equal(ones, c.want) || series != c.series {
				t.Errorf("1 are %q of %d, want %q of %d", ones, series, c.want, c.series)
			}
		})
	}
}

func TestOneLookACollection(t *testing.T) {
	f := busy()
	seen(t, f)
	if f.statsCalls != 1 || f.planCalls != 1 {
		t.Errorf("one collection took %d Stats and %d Plans, want one of each", f.statsCalls, f.planCalls)
	}
}
