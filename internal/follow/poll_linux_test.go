// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"testing"
	"time"

	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/internal/sense"
)

// polling returns a loop on this very process; the test drives it.
func polling(t testing.TB, parts Parts) *Measuring {
	t.Helper()
	cfg := Config{Dry: true, Input: &plan.Input{}}
	cfg.Plan, _, _ = fit.Decide(cfg.Input, apply.AtStart)
	cfg.Input.Policy.Memory = plan.Memory{}
	cfg.Result = apply.Take(cfg.Plan, true)
	m := NewMeasuring(&cfg, &Measure{Adapt: parts})
	var err error
	if m.machine, err = sense.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.machine.Close)
	m.look()
	return m
}

func TestPollAllocatesNothing(t *testing.T) {
	for name, parts := range map[string]Parts{"limits": 0, "all": Memory | GC | CPU} {
		t.Run(name, func(t *testing.T) {
			l := polling(t, parts)
			for range 3 {
				time.Sleep(10 * time.Millisecond)
				l.look()
			}
			if n := testing.AllocsPerRun(200, func() { l.look() }); n != 0 {
				t.Errorf("%v allocations a look, want 0", n)
			}
			// Include the samples that are taken less often.
			if n := testing.AllocsPerRun(50, func() { l.cpu.At, l.from.At = -1e3, -1e3; l.look() }); n != 0 {
				t.Errorf("%v allocations a look that samples CPU time, want 0", n)
			}
		})
	}
}

func BenchmarkPoll(b *testing.B) {
	for name, parts := range map[string]Parts{"limits": 0, "all": Memory | GC | CPU} {
		b.Run(name, func(b *testing.B) {
			l := polling(b, parts)
			b.ReportAllocs()
			for range b.N {
				l.cpu.At = -1
				l.look()
			}
		})
	}
}
