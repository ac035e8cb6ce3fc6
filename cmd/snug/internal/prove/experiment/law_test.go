// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func TestLawText(t *testing.T) {
	cell := func(law float64, median *float64) finding.Cell {
		return finding.Cell{Stall: &finding.Stall{Law: law, Median: median}}
	}
	tests := []struct {
		name  string
		cells []finding.Cell
		want  string
	}{
		{"no probe", []finding.Cell{{}}, ""},
		{"nothing to be held back by", []finding.Cell{cell(0, new(0.0))}, ""},
		{"one", []finding.Cell{cell(0.05, new(0.052))}, "the median gap is within 4 % of the stall law T(1-q/N)"},
		{"several, the worst counts", []finding.Cell{cell(0.05, new(0.051)), cell(0.075, new(0.0705)), cell(0, new(0.0))},
			"the median gap is within 6 % of the stall law T(1-q/N) in each of 2 settings; in 1 more the quota is enough for all threads"},
		{"far off", []finding.Cell{cell(0.05, new(0.02))},
			"the median gap differs from the stall law T(1-q/N) by up to 60 %: other programs probably used the CPUs"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := finding.BenchVerdict{Code: finding.CodeLaw, Law: stallTest(test.cells)}
			if v.Law == nil != (test.want == "") {
				t.Fatalf("%+v", v.Law)
			}
			if v.Law == nil {
				return
			}
			if got := said(v, test.cells).Text; got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}
