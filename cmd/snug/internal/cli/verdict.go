// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/cli/fit"
	"github.com/snug-go/snug/cmd/snug/internal/cli/look"
	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// verdict answers snug without a command.
func verdict(u *ui.UI) error {
	q := fit.Question{At: &fit.Place{}, Policy: &fit.PolicyFlags{}}
	l, p, err := q.Answer(u.Getenv)
	if err != nil {
		return err
	}
	d := &finding.Verdict{
		Head:   finding.NewHead(finding.KindVerdict),
		Limits: fit.LimitsDocument(l, q.At.Target()),
		Plan:   p,
		Next:   "snug plan",
	}
	d.Limits.Next = "snug plan"
	if !d.Limits.Limited() {
		d.Next = "snug run --cpus 0.5 --memory 256MiB -- PROGRAM"
	}
	d.Worst = []finding.Process{}
	if ps, err := look.ListGo(nil); err == nil {
		slices.SortStableFunc(ps.Processes, func(a, b finding.Process) int { return look.PSOrders["finding"](&a, &b) })
		d.Worst, d.All = ps.Processes[:min(shown, len(ps.Processes))], len(ps.Processes)
		if len(d.Worst) > 0 && finding.Worst(d.Worst[0].Findings).Level() >= finding.SeverityWarning.Level() {
			d.Next = look.AfterPS(d.Worst)
		}
	}
	return u.Answer(d)
}

// shown is how many processes snug without a command shows: those that fit worst.
const shown = 3
