// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/follow"
	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// TestMeasuredStatsAreJSON: figures that the loop represents by NaN, Inf, -1 and 0.
func TestMeasuredStatsAreJSON(t *testing.T) {
	nan := math.NaN()
	looked := follow.Measured{
		Stats: follow.Stats{Polls: 1}, Limit: limits.NoLimit[int64](), Used: -1, Procs: 2,
		Heap:    law.Heap{Mapped: 5 << 20, Limit: math.MaxInt64, GOGC: 100, Goal: 4 << 20},
		Memory:  law.MemoryDecision{NonGo: -1, Peak: -1},
		GC:      law.GCDecision{Share: nan},
		Waiting: law.Waiting{Seconds: 10, GoWait: 0.5, KernelWait: nan, PerWakeup: nan, Used: 0.25, Throttled: nan},
	}
	for _, c := range []struct {
		name   string
		change func(*follow.Measured)
		want   []string
	}{
		{"before the first collection", func(*follow.Measured) {}, []string{
			`"limit_bytes":"none","used_bytes":null,"go_bytes":5242880,"nongo_bytes":null`, `"gomemlimit_bytes":"none"`,
			`"effective_gogc_percent":null`, `"gogc_percent":100,"cpu_ratio":null,"cycles":0`,
			`"window_ns":10000000000,"gomaxprocs":2,"cores":null,"used_cores":0.25,"throttled_ratio":null,"go_wait_goroutines":0.5,"kernel_wait_threads":null`,
		}},
		{"GOGC is off", func(s *follow.Measured) { s.Heap.GOGC = -1 }, []string{`"gogc_percent":"none"`}},
		{"after a collection", func(s *follow.Measured) { s.Heap.Cycles, s.Heap.Live, s.GC.Share = 1, 2<<20, 0.5 }, []string{
			`"effective_gogc_percent":100`, `"cpu_ratio":0.5,"cycles":1`,
		}},
		{"no window", func(s *follow.Measured) { s.Waiting = law.Waiting{} }, []string{`"window_ns":0`, `"used_cores":null`, `"verdict":"unknown"`}},
		{"before the first look", func(s *follow.Measured) { s.Procs, s.Heap = 0, law.Heap{Mapped: -1, Limit: -1, GOGC: -1} }, []string{
			`"go_bytes":null`, `"gomemlimit_bytes":null`, `"gogc_percent":null`, `"cycles":null`, `"gomaxprocs":null`,
		}},
	} {
		s := looked
		c.change(&s)
		text, err := json.Marshal(measured(&s))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for _, want := range c.want {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: %s is not in %s", c.name, want, text)
			}
		}
		if _, err := json.Marshal(pressure(&s)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestReasonsOfLaws: package snug does not know the laws, but prints their reasons too.
func TestReasonsOfLaws(t *testing.T) {
	s := setting(&plan.Setting{Value: 1 << 28, Reason: plan.Reason{Code: law.MemoryMeasured, Number: 1 << 20}}, apply.Set)
	if want := "95 % of the memory limit, less the recent peak of memory outside Go (now 1 MiB)"; s.Text() != want {
		t.Errorf("it says %q, want %q", s.Text(), want)
	}
}
