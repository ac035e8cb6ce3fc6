// SPDX-License-Identifier: Apache-2.0

package prove

import (
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// recheck recomputes an experiment's medians, intervals, comparisons and verdict from its
// raw runs, by the rules of this version of snug.
func recheck(d finding.Document) (finding.Document, error) {
	b, ok := d.(*finding.Bench)
	if !ok {
		return nil, message.Usage("--recheck: only experiments of snug bench can be recomputed",
			"name a file that snug bench --json wrote")
	}
	design := &experiment.Design{Rounds: b.Rounds, Seed: b.Seed, Against: experiment.BaselineOfVariants}
	var runs []finding.Run
	for i := range b.Cells {
		c := &b.Cells[i]
		arm := experiment.Arm{Arm: c.Arm, Labels: c.Labels}
		if c.Offered != nil {
			arm.Rate = *c.Offered
		}
		design.Arms = append(design.Arms, arm)
		for _, r := range c.Rounds {
			r.Arm = c.Arm
			runs = append(runs, r)
		}
	}
	again := *b
	again.Cells = experiment.Cells(design, runs)
	again.Comparisons = experiment.Compare(design, again.Cells)
	again.Verdict = experiment.Judge(design, again.Cells, again.Comparisons, b.Objective, b.Machine.CPUs)
	content.Say(&again.Verdict, again.Cells)
	return &again, nil
}
