// SPDX-License-Identifier: Apache-2.0

package snugotel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	goruntime "go.opentelemetry.io/contrib/instrumentation/runtime"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/snug-go/snug"
	"github.com/snug-go/snug/adapt"
	"github.com/snug-go/snug/limits"
)

func TestNoWatcher(t *testing.T) {
	for name, register := range map[string]func(metric.MeterProvider) (metric.Registration, error){
		"nil":           func(p metric.MeterProvider) (metric.Registration, error) { return Register(nil, p) },
		"nil, measured": func(p metric.MeterProvider) (metric.Registration, error) { return RegisterAdapt(nil, p) },
	} {
		provider, reader := open(t)
		if _, err := register(provider); err != nil {
			t.Fatal(err)
		}
		if got := collect(t, reader); len(got) != 1 || !slices.Equal(got["snug.watching"], []string{"0"}) {
			t.Errorf("%s: %v, want snug.watching 0 and nothing else", name, got)
		}
	}
}

// TestProviders: every provider can be given, a registration ended twice, and begun again.
func TestProviders(t *testing.T) {
	provider, reader := open(t)
	ended := sdk.NewMeterProvider()
	if err := ended.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]metric.MeterProvider{"the global one": nil, "none": noop.NewMeterProvider(), "one without readers": sdk.NewMeterProvider(),
		"one that has ended": ended, "the SDK's": provider} {
		for range 2 {
			r, err := register(busy(), true, p)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if p == provider {
				if got := collect(t, reader); len(got) != len(all) {
					t.Errorf("%s: %d metrics, want %d", name, len(got), len(all))
				}
			}
			for range 2 {
				if err := r.Unregister(); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if got := collect(t, reader); len(got) > 0 {
				t.Errorf("%s: after Unregister there is %v", name, got)
			}
		}
	}
}

// refusing makes no counter.
type refusing struct{ metric.MeterProvider }
type refuses struct{ metric.Meter }

var errRefused = errors.New("refused")

func (r refusing) Meter(name string, o ...metric.MeterOption) metric.Meter {
	return refuses{r.MeterProvider.Meter(name, o...)}
}

func (refuses) Float64ObservableCounter(string, ...metric.Float64ObservableCounterOption) (metric.Float64ObservableCounter, error) {
	return nil, errRefused
}

func TestRefused(t *testing.T) {
	provider, reader := open(t)
	r, err := register(busy(), true, refusing{provider})
	if r != nil || !errors.Is(err, errRefused) || !strings.Contains(err.Error(), "snug.polls") {
		t.Errorf("%v, %v", r, err)
	}
	if got := collect(t, reader); len(got) > 0 {
		t.Errorf("there is %v", got)
	}
}

// TestBeside: with instrumentation/runtime, the knobs in force and Go's memory have their
// conventional names, and agree with the runtime.
func TestBeside(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(400 << 20))
	provider, reader := open(t)
	if err := goruntime.Start(goruntime.WithMeterProvider(provider)); err != nil {
		t.Fatal(err)
	}
	w, err := adapt.Watch(context.Background(), adapt.Options{Poll: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Undo()
	if _, err := RegisterAdapt(w, provider); err != nil {
		t.Fatal(err)
	}
	wait(t, "a look", func() bool { return w.Stats().Polls > 0 })
	got := collect(t, reader)
	for name, want := range map[string]limits.Value[int64]{"go.processor.limit": w.Stats().CPU.GOMAXPROCS,
		"go.memory.limit": w.Stats().Memory.GOMEMLIMIT, "go.config.gogc": w.Stats().GC.GOGC} {
		if n, ok := want.Get(); !ok || !slices.Equal(got[name], []string{fmt.Sprint(n)}) {
			t.Errorf("%s is %v, and Stats says %v", name, got[name], want)
		}
	}
	if len(got["go.memory.used"]) != 2 || len(got["snug.verdict"]) != 5 {
		t.Errorf("go.memory.used is %v, snug.verdict %v", got["go.memory.used"], got["snug.verdict"])
	}
}

// TestOff: what README.md says of knobs that are off.
func TestOff(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	provider, reader := open(t)
	if err := goruntime.Start(goruntime.WithMeterProvider(provider)); err != nil {
		t.Fatal(err)
	}
	got := collect(t, reader)
	// The largest int64, which some versions of the SDK overflow.
	if got["go.memory.limit"] != nil || len(strings.Trim(strings.Join(got["go.config.gogc"], " "), "-")) != 19 {
		t.Errorf("GOMEMLIMIT is %v, GOGC %v", got["go.memory.limit"], got["go.config.gogc"])
	}
}

// TestCollections: several readers collect from one real Watcher, of either package, while it is
// undone.
func TestCollections(t *testing.T) {
	ctx := context.Background()
	light, err := snug.Watch(ctx, snug.WatchOptions{Poll: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("snug", func(t *testing.T) {
		collections(t, func(p metric.MeterProvider) (metric.Registration, error) { return Register(light, p) }, light.Stats, light.Undo, false)
	})
	w, err := adapt.Watch(ctx, adapt.Options{Poll: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("adapt", func(t *testing.T) {
		collections(t, func(p metric.MeterProvider) (metric.Registration, error) { return RegisterAdapt(w, p) },
			func() snug.Stats { return w.Stats().Stats }, w.Undo, true)
	})
}

func collections(t *testing.T, register func(metric.MeterProvider) (metric.Registration, error), stats func() snug.Stats, undo func(), measures bool) {
	defer undo()
	wait(t, "a look", func() bool { return stats().Polls > 0 })
	provider, reader := open(t)
	if _, err := register(provider); err != nil {
		t.Fatal(err)
	}
	got := collect(t, reader)
	if runtime.GOOS == "linux" && got["snug.cpu.limit.cores"] == nil {
		t.Error("no snug.cpu.limit.cores")
	}
	for _, name := range []string{"snug.verdict", "snug.pressure.level"} {
		if (got[name] != nil) != measures {
			t.Errorf("%s: %v, want it there: %t", name, got[name], measures)
		}
	}
	var readers sync.WaitGroup
	for range 8 {
		readers.Add(1)
		go func() {
			defer readers.Done()
			for range 20 {
				var all metricdata.ResourceMetrics
				if err := reader.Collect(context.Background(), &all); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	undo()
	readers.Wait()
	wait(t, "the end", func() bool { return slices.Equal(collect(t, reader)["snug.watching"], []string{"0"}) })
	if collect(t, reader)["snug.polls"] == nil {
		t.Error("the last figures are gone after the end")
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

func BenchmarkCollection(b *testing.B) {
	reader := sdk.NewManualReader()
	if _, err := register(busy(), true, sdk.NewMeterProvider(sdk.WithReader(reader))); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for range b.N {
		var all metricdata.ResourceMetrics
		reader.Collect(context.Background(), &all)
	}
}
