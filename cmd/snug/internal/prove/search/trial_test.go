// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// targetError is an experiment.TargetFailure.
type targetError string

func (e targetError) Error() string { return string(e) }
func (targetError) TargetFailed()   {}

// failing is a Runner under which some runs fail.
type failing struct {
	*world
	fails func(run int, a finding.Arm) error
}

func (f failing) Run(ctx context.Context, t experiment.Trial) (finding.Run, error) {
	if err := f.fails(f.runs, t.Arm); err != nil {
		f.runs++
		return finding.Run{}, err
	}
	return f.world.Run(ctx, t)
}

// TestAFailingSettingIsRuledOut: the failure of a program under one setting does not end
// a search, unless nothing has answered yet.
func TestAFailingSettingIsRuledOut(t *testing.T) {
	const ended = targetError("server ended before it listened, exit code 2")
	for _, c := range []struct {
		name  string
		fails func(run int, a finding.Arm) error
		best  string // GOGC; "error" if the search ends
	}{
		{"the best setting never listens", func(_ int, a finding.Arm) error {
			if a.GOGC == "400" {
				return ended
			}
			return nil
		}, "800"},
		{"the best setting crashes in its last run", func(run int, a finding.Arm) error {
			if a.GOGC == "400" && run > 54 {
				return ended
			}
			return nil
		}, "keep"},
		{"nothing ever answers", func(int, finding.Arm) error { return ended }, "error"},
		{"the cgroup is gone", func(run int, a finding.Arm) error {
			if run == 30 {
				return errors.New("the cgroup is gone")
			}
			return nil
		}, "error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := failing{newWorld(0.02, 3, gogcHelps), c.fails}
			out, err := Run(t.Context(), input(t, "cpu"), w)
			if (err != nil) != (c.best == "error") {
				t.Fatalf("error %v, stages %+v", err, out.Stages)
			}
			if err != nil {
				return
			}
			got := "keep"
			if out.Verdict.Best != nil {
				got = out.Cells[*out.Verdict.Best].GOGC
			}
			if got != c.best {
				t.Errorf("best %q, want %q: %+v", got, c.best, out.Verdict)
			}
			cells := append(slices.Clone(out.Cells), out.Confirm.Winner)
			if !slices.ContainsFunc(cells, func(c finding.Cell) bool {
				return slices.ContainsFunc(c.Rounds, func(r finding.Run) bool { return r.Error == string(ended) })
			}) {
				t.Error("no run has the failure as its result")
			}
		})
	}
}
