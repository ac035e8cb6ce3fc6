// SPDX-License-Identifier: Apache-2.0

package search

import (
	"errors"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func TestBaselineWithoutFigures(t *testing.T) {
	w := newWorld(0.03, 1, gogcHelps)
	w.alter = func(r *finding.Run) { r.CPUPerOp, r.Error = nil, "connection refused" }
	for _, c := range []struct {
		in         Input
		w          *world
		want, hint string
	}{
		{input(t, "cpu"), w, "CPU per operation was not measured by any run of the baseline: connection refused", "by hand"},
		{input(t, "cpu", "p99<20ms"), newWorld(0.03, 1, gogcHelps), "P99 was not measured", "leave the constraint out"},
		{input(t, "wall"), newWorld(0.03, 1, gogcHelps), "wall time was not measured", "another --objective"},
		{input(t, "p99"), newWorld(0.03, 1, gogcHelps), "too few requests for a P99 at 5/s: a run has 20, and it takes 1000", "--window 200s"},
	} {
		switch c.in.Objective.String() {
		case "wall":
			c.in.Base.Load = "batch"
		case "p99":
			c.in.Base.Load, c.in.Base.Rate = "5/s", 5
			c.w.alter = tails("400", 0.01, 0.02)
		}
		_, err := Run(t.Context(), c.in, c.w)
		e, ok := errors.AsType[*UnmeasuredError](err)
		if !ok || !strings.Contains(e.Error(), c.want) || !strings.Contains(e.Hint(), c.hint) {
			t.Errorf("error %v, want %s; %s", err, c.want, c.hint)
		}
	}
}

// TestDefaultIsKilled: a default that runs out of memory does not end a search.
func TestDefaultIsKilled(t *testing.T) {
	kill := func(r *finding.Run) {
		kills := uint64(1)
		r.OOMKills, r.Exit, r.CPUPerOp, r.RPS, r.Ops, r.Errors = &kills, "OOM-killed", nil, nil, 0, 1
	}
	for name, c := range map[string]struct {
		dies func(finding.Arm) bool
		want string
	}{
		"all without a GOMEMLIMIT are": {func(a finding.Arm) bool { return a.GOMEMLIMIT == "" },
			"the default is OOM-killed in 15 of 15 runs, this setting in none"},
		"all but a low GOGC are": {func(a finding.Arm) bool { return a.GOGC != "50" },
			"set GOGC=50"},
		"everything is": {func(finding.Arm) bool { return true },
			"no setting to recommend: the default is OOM-killed in 6 of 6 runs, and nothing that was tried holds"},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t, "cpu")
			in.Base.Memory = 512 << 20
			w := newWorld(0.02, 3, gogcHelps)
			w.alter = func(r *finding.Run) {
				peak := int64(300 << 20)
				r.Peak, r.MaxRSS = &peak, &peak
				if c.dies(r.Arm) {
					peak = 512 << 20
					kill(r)
				}
			}
			out, err := Run(t.Context(), in, w)
			content.SayTune(out)
			if err != nil {
				t.Fatal(err)
			}
			if out.Verdict.Keep || !strings.Contains(out.Verdict.Text, c.want) {
				t.Errorf("verdict %+v\nwant %s", out.Verdict, c.want)
			}
			if found := out.Verdict.Best != nil; found != (name != "everything is") || found && c.dies(out.Cells[*out.Verdict.Best].Arm) {
				t.Errorf("best %v", out.Verdict.Best)
			}
		})
	}
}
