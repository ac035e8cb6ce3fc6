// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/finding"
)

// verdict is what snug says when it is asked nothing.
func verdict(u *ui) error {
	q := question{at: &place{}, policy: &policyFlags{}}
	l, p, err := q.answer(u.getenv)
	if err != nil {
		return err
	}
	d := &finding.Verdict{
		Head:   finding.NewHead(finding.KindVerdict),
		Limits: limitsDocument(l, q.at.target()),
		Plan:   p,
		Next:   "snug plan",
	}
	d.Limits.Next = "snug plan"
	if !d.Limits.Limited() {
		d.Next = "snug run --cpus 0.5 --memory 256MiB -- PROGRAM"
	}
	d.Worst = worstHere(3)
	return u.answer(d)
}

// worstHere are the Go processes here that fit worst.
func worstHere(most int) []finding.Process {
	ps, err := listGo(nil)
	if err != nil {
		return []finding.Process{}
	}
	slices.SortStableFunc(ps.Processes, func(a, b finding.Process) int { return psOrders["finding"](&a, &b) })
	return ps.Processes[:min(most, len(ps.Processes))]
}
