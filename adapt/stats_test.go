// SPDX-License-Identifier: Apache-2.0

package adapt_test

import (
	"context"
	"encoding/json"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug"
	"github.com/snug-go/snug/adapt"
	"github.com/snug-go/snug/limits"
)

// marshalled returns Stats as encoding/json writes it, and as it reads that back.
func marshalled(t *testing.T, s adapt.Stats) (text string, top map[string]any) {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &top); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return string(b), top
}

const unknownText = `{"polls":0,"changes":0,"every_ns":0,"ended":false,` +
	`"memory":{"limit_bytes":null,"used_bytes":null,"go_bytes":null,"nongo_bytes":null,"nongo_peak_bytes":null,` +
	`"gomemlimit_bytes":null,"pressure":"calm","effective_gogc_percent":null},` +
	`"gc":{"gogc_percent":null,"cpu_ratio":null,"cycles":null},` +
	`"cpu":{"window_ns":0,"gomaxprocs":null,"cores":null,"used_cores":null,"throttled_ratio":null,"go_wait_goroutines":null,` +
	`"kernel_wait_threads":null,"wakeup_wait_seconds":null,"verdict":"unknown","raised":false}}`

func TestZeroStatsAreJSON(t *testing.T) {
	if got, _ := marshalled(t, adapt.Stats{}); got != strings.Replace(unknownText, `"verdict":"unknown"`, `"verdict":""`, 1) {
		t.Errorf("the zero Stats are\n%s\nwant\n%s", got, unknownText)
	}
	var none *adapt.Watcher
	if got, _ := marshalled(t, none.Stats()); got != strings.Replace(unknownText, `"ended":false`, `"ended":true`, 1) {
		t.Errorf("a nil Watcher's Stats are\n%s", got)
	}
}

func TestFullStatsAreJSON(t *testing.T) {
	n, x := limits.Of(int64(7)), limits.Of(0.5)
	s := adapt.Stats{
		Stats:  snug.Stats{Polls: 1, Changes: 2, Interval: 1500 * time.Millisecond, GivenUp: []string{"GOGC"}, Failure: "a \"panic\"\n"},
		Memory: adapt.MemoryStats{n, n, n, n, n, limits.NoLimit[int64](), adapt.PressureSpiral, x},
		GC:     adapt.GCStats{limits.NoLimit[int64](), limits.Of(math.NaN()), n},
		CPU:    adapt.CPUStats{10 * time.Second, n, x, x, x, x, x, x, adapt.VerdictHostBusy, true},
	}
	text, top := marshalled(t, s)
	for _, want := range []string{
		`"every_ns":1500000000`, `"given_up":["GOGC"]`, `"failure":"a \"panic\"\n"`, `"limit_bytes":7`, `"gomemlimit_bytes":"none"`,
		`"pressure":"spiral"`, `"effective_gogc_percent":0.5`, `"gogc_percent":"none","cpu_ratio":null`, `"window_ns":10000000000,"gomaxprocs":7`,
		`"verdict":"host-busy","raised":true`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
	// No field is forgotten, now or in future: each part has one member per field, and so has
	// the whole.
	for part, v := range map[string]any{"memory": s.Memory, "gc": s.GC, "cpu": s.CPU} {
		if members := len(top[part].(map[string]any)); members != reflect.TypeOf(v).NumField() {
			t.Errorf("%s has %d members for %d fields", part, members, reflect.TypeOf(v).NumField())
		}
	}
	if want := reflect.TypeFor[snug.Stats]().NumField() + reflect.TypeFor[adapt.Stats]().NumField() - 1; len(top) != want {
		t.Errorf("%d members, want %d", len(top), want)
	}
}

func TestPressureIsJSON(t *testing.T) {
	b, err := json.Marshal(adapt.Pressure{Level: adapt.PressureTight, EffectiveGOGC: limits.Of(12.5), GOMEMLIMIT: limits.NoLimit[int64]()})
	if want := `{"level":"tight","effective_gogc_percent":12.5,"gc_cpu_ratio":null,"gomemlimit_bytes":"none"}`; err != nil || string(b) != want {
		t.Errorf("%s, %v; want %s", b, err, want)
	}
}

// TestRunningStatsAreJSON: before the first poll, before the first collection, after one, and at
// the end.
func TestRunningStatsAreJSON(t *testing.T) {
	knobs(t)
	o := hinted()
	o.Memory, o.GC, o.CPU = true, true, true
	o.Poll = time.Hour // the first poll comes after a second
	w := watch(t, context.Background(), o)
	s := w.Stats()
	text, _ := marshalled(t, s)
	// If a second has passed already, it has polled.
	if s.Polls == 0 && (!strings.Contains(text, `"gogc_percent":null`) || !strings.Contains(text, `"every_ns":3600000000000`)) {
		t.Errorf("before the first look: %s", text)
	}
	w = watch(t, context.Background(), hinted())
	eventually(t, "a look", func() bool { return w.Stats().Polls > 0 })
	if _, ok := w.Stats().Memory.EffectiveGOGC.Get(); ok {
		if n, _ := w.Stats().GC.Cycles.Get(); n == 0 {
			t.Error("an effective GOGC before the first collection")
		}
	}
	marshalled(t, w.Stats())
	runtime.GC()
	eventually(t, "a collection in Stats", func() bool { n, ok := w.Stats().GC.Cycles.Get(); return ok && n > 0 })
	text, _ = marshalled(t, w.Stats())
	for _, unwanted := range []string{`"gogc_percent":null`, `"effective_gogc_percent":null`, `"cycles":null`, `"gomaxprocs":null`, `"gomemlimit_bytes":null`} {
		if strings.Contains(text, unwanted) {
			t.Errorf("%s after a collection: %s", unwanted, text)
		}
	}
	w.Undo()
	eventually(t, "the end", func() bool { return w.Stats().Ended && goroutines() == 0 })
	marshalled(t, w.Stats())
}
