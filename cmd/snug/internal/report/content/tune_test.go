// SPDX-License-Identifier: Apache-2.0

package content

import (
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// TestKnobsSaid: which knobs of the leader are needed, and what becomes of the others.
func TestKnobsSaid(t *testing.T) {
	change := &finding.Comparison{Metric: metric.CPU, Ratio: 1.01, Low: new(0.99), High: new(1.03)}
	d := &finding.Tune{Confirm: &finding.Confirm{Answer: 2, Knobs: []finding.KnobTest{
		{Knob: "GOMAXPROCS", Value: "1", Cell: 2, Change: change},
		{Knob: "GOGC", Value: "400", Cell: 3, Change: change},
		{Knob: "GOMEMLIMIT", Value: "450MiB", Cell: 4, Needed: true, Broken: &finding.Broken{Code: finding.BrokeMemory}},
	}}}
	want := []string{
		"GOMAXPROCS=1 is left out: that costs no more than the margin (CPU per operation +1.0 % (95 % interval -1.0 to +3.0 %) without it)",
		"GOGC=400 stays: these rounds show neither that it is needed nor that it is not (CPU per operation +1.0 % (95 % interval -1.0 to +3.0 %) without it)",
		"GOMEMLIMIT=450MiB is needed: without it: OOM-killed",
	}
	if got := KnobTests(d); !slices.Equal(got, want) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
	d.Confirm.Answer = 1
	if got := KnobTests(d); len(got) != 0 {
		t.Errorf("%q of a leader that is not recommended", got)
	}
	d.Confirm = &finding.Confirm{Winner: finding.Cell{Arm: finding.Arm{Knobs: finding.Knobs{GOMAXPROCS: "1", GOGC: "400"}}}}
	if got := KnobTests(d); len(got) != 1 || !strings.HasPrefix(got[0], "which of the 2 knobs are needed was not tested") {
		t.Errorf("%q without runs that test them", got)
	}
	if got := KnobTests(&finding.Tune{}); len(got) != 0 {
		t.Errorf("%q without a confirmation", got)
	}
}
