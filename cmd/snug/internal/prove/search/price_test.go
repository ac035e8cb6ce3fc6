// SPDX-License-Identifier: Apache-2.0

package search

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestVerdictTellsThePrice: what the winner is worse in is in its sentence.
func TestVerdictTellsThePrice(t *testing.T) {
	w := newWorld(0.01, 1, gogcHelps)
	w.alter = func(r *finding.Run) {
		peak := int64(100 << 20)
		if r.Arm.GOGC == "400" {
			peak = 239 << 20
			*r.RPS *= 0.75
		}
		r.Peak = &peak
	}
	out := search1(t, input(t, "cpu"), w)
	want := regexp.MustCompile(`^set GOGC=400.*: CPU per operation -1\d % \(95 % interval .*\), for 1\d % less throughput and 139 % more memory$`)
	if !want.MatchString(out.Verdict.Text) {
		t.Errorf("verdict %q", out.Verdict.Text)
	}
	i := slices.IndexFunc(out.Warnings, func(w finding.Warning) bool { return strings.HasPrefix(w.Text, "peak memory is worse with it: +139") })
	if i < 0 || out.Warnings[i].Code != WarnTrade {
		t.Errorf("warnings %+v", out.Warnings)
	}
}

func TestPrice(t *testing.T) {
	worse := func(field string, ratio float64) finding.Comparison {
		return finding.Comparison{Metric: field, Ratio: ratio, Word: finding.Worse}
	}
	same := worse("memory_peak_bytes", 3)
	same.Word = finding.NotShown
	for _, c := range []struct {
		name string
		all  []finding.Comparison
		want string
	}{
		{"nothing", []finding.Comparison{same}, ""},
		{"the objective itself", []finding.Comparison{worse("cpu_seconds_per_op", 1.05)}, ""},
		{"memory", []finding.Comparison{worse("memory_peak_bytes", 2.386)}, ", for 139 % more memory"},
		{"everything", []finding.Comparison{worse("rps", 0.951), worse("p50_seconds", 1.073), worse("p99_seconds", 1.25), worse("wall_seconds", 1.2)},
			", for 4.9 % less throughput, a 7.3 % higher P50, a 25 % higher P99 and 20 % more wall time"},
	} {
		s := search{tune: &finding.Tune{Confirm: &finding.Confirm{Comparisons: c.all}}}
		s.in.Objective, _ = ParseObjective("cpu")
		if got := s.price(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
