// SPDX-License-Identifier: Apache-2.0

package content

import (
	"slices"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func TestInvalidNotes(t *testing.T) {
	late := func(ms string) finding.Run {
		return finding.Run{Invalid: "the load generator was late: " + ms + " ms at the 99th percentile"}
	}
	at := func(r finding.Run, round, try int) finding.Run {
		r.Round, r.Try = round, try
		return r
	}
	noisy := finding.Run{Invalid: "noisy neighbours: 0.8 CPUs busy"}
	for _, c := range []struct {
		name            string
		again, excluded int
		runs            []finding.Run
		want            []string
	}{
		{"all count", 0, 0, []finding.Run{{}}, nil},
		{"left out", 0, 1, []finding.Run{late("7.7")}, []string{"1 run did not count: the load generator was late (7.7 ms at the 99th percentile); not replaced, left out"}},
		{"left out, with other numbers", 0, 2, []finding.Run{late("7.7"), at(late("3"), 1, 0)},
			[]string{"2 runs did not count: the load generator was late (for example 7.7 ms at the 99th percentile); not replaced, left out"}},
		{"repeated", 1, 0, []finding.Run{noisy, at(finding.Run{}, 0, 1)}, []string{"1 run did not count and was repeated: noisy neighbours (0.8 CPUs busy)"}},
		{"the repetition was left out", 1, 0, []finding.Run{{}, at(noisy, 0, 1)}, []string{"1 run did not count and was repeated: noisy neighbours (0.8 CPUs busy)"}},
		{"again in vain", 1, 1, []finding.Run{late("7.7"), at(noisy, 0, 1)}, []string{
			"1 run did not count and was repeated: the load generator was late (7.7 ms at the 99th percentile)",
			"1 run did not count: noisy neighbours (0.8 CPUs busy); not replaced, left out"}},
		{"two reasons", 0, 2, []finding.Run{late("7.7"), at(noisy, 1, 0)}, []string{
			"2 runs did not count: 1 × the load generator was late (7.7 ms at the 99th percentile); 1 × noisy neighbours (0.8 CPUs busy); not replaced, left out"}},
		{"without runs", 0, 1, nil, []string{"1 run did not count: the document does not hold the runs, so the reason is unknown; not replaced, left out"}},
	} {
		got := invalidNotes(&finding.Setup{Repeated: c.again, Excluded: c.excluded}, []finding.Cell{{Rounds: c.runs}})
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
