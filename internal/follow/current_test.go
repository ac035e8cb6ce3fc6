// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"testing"

	"github.com/snug-go/snug/internal/plan"
)

func TestCurrent(t *testing.T) {
	restore := latest.sets
	defer register(restore, false)
	expect := func(what string, want *Loop) {
		t.Helper()
		if got := Current(); got != want {
			t.Errorf("%s: it is %p, want %p", what, got, want)
		}
	}
	register(nil, false)
	expect("none was started", nil)
	if CurrentMeasuring() != nil {
		t.Error("one that was not started measures")
	}
	loop := func() *Loop { return &Loop{set: running{}} }
	first, second, dry, last := loop(), loop(), loop(), loop()
	register(dry, true)
	expect("a dry one alone", dry)
	register(first, false)
	expect("one that sets", first)
	first.stats.Ended = true
	expect("one that has ended", first)
	register(second, false)
	expect("the next", second)
	register(dry, true)
	expect("a dry one beside it", dry)
	dry.stats.Ended = true
	expect("the dry one has ended", second)
	second.stats.Ended = true
	expect("both have", dry)
	register(last, false)
	expect("one that sets, after a dry one", last)
	if CurrentMeasuring() != nil {
		t.Error("it measures")
	}
	m := measuring(prepare(&Config{Input: &plan.Input{}, Plan: plan.Nothing(plan.NoLimit)}, running{}, nil), &Measure{})
	register(m.Loop, false)
	if CurrentMeasuring() != m {
		t.Error("one that measures is not found")
	}
}

// running is a setter whose loop goes on.
type running struct{ setter }

func (running) Holds() bool { return true }
