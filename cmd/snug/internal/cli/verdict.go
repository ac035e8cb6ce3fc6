// SPDX-License-Identifier: Apache-2.0

package cli

import (
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
	return u.answer(d)
}
