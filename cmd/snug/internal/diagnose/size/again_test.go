// SPDX-License-Identifier: Apache-2.0

package size

import (
	"encoding/json"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestAgain: a saved answer holds all that the decision depends on, so that Decide says the same again, by any price.
func TestAgain(t *testing.T) {
	const why = "no collection ended in the watch"
	for name, change := range map[string]func(*Seen){
		"usual":           func(*Seen) {},
		"off":             off,
		"young":           func(s *Seen) { s.Age = 20 },
		"not alone":       func(s *Seen) { s.Mates = 2 },
		"one CPU":         func(s *Seen) { s.CPUs = 1 },
		"blind":           func(s *Seen) { s.Minor, s.Aware = 24, false },
		"no collection":   func(s *Seen) { s.Collections, s.Live = 0, figure.Of[float64]{Why: why} },
		"throttled":       func(s *Seen) { s.Quota, s.Throttled = know(1), know(0.4) },
		"without a quota": func(s *Seen) { s.Quota.None(); s.Throttled.None() },
	} {
		t.Run(name, func(t *testing.T) {
			s := seen()
			change(s)
			for _, other := range []Price{Fargate, {1, 1}, {1, 100}} {
				want := Decide(s, other)
				first := Decide(s, Fargate)
				first.Target, first.Next, first.Unknown = "server", "snug ps", append(first.Unknown, Gaps(&first.Seen)...)
				want.Target, want.Next, want.Unknown = first.Target, first.Next, first.Unknown
				text, err := finding.Encode(first)
				if err != nil {
					t.Fatal(err)
				}
				saved, err := finding.Decode(text)
				if err != nil {
					t.Fatal(err)
				}
				got := Again(saved.(*finding.Size), other)
				a, _ := json.Marshal(want)
				b, _ := json.Marshal(got)
				if string(a) != string(b) {
					t.Errorf("%+v:\n%s\nafter it was saved:\n%s", other, a, b)
				}
			}
		})
	}
	if Again(&finding.Size{}, Fargate) != nil {
		t.Error("an answer from nothing")
	}
}
