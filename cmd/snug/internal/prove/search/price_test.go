// SPDX-License-Identifier: Apache-2.0

package search

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestVerdictTellsThePrice: the verdict says in which metrics the winner is worse.
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
	want := regexp.MustCompile(`^set GOGC=400.*: CPU per operation -1\d % \(95 % interval .*\) against the default in \d+ paired rounds, for 1\d % less throughput and 139 % more memory$`)
	if !want.MatchString(out.Verdict.Text) {
		t.Errorf("verdict %q", out.Verdict.Text)
	}
	i := slices.IndexFunc(out.Warnings, func(w finding.Warning) bool { return strings.HasPrefix(w.Text, "peak memory is worse with it: +139") })
	if i < 0 || out.Warnings[i].Code != WarnTrade {
		t.Errorf("warnings %+v", out.Warnings)
	}
}
