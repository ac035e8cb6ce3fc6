// SPDX-License-Identifier: Apache-2.0

package look

import (
	"context"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/examine"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// saved reports whether the targets are two documents to compare.
func saved(ctx context.Context, names []string) bool {
	return len(names) == 2 && examine.Saved(ctx, names[0]) && examine.Saved(ctx, names[1])
}

// compareSaved prints what became of the findings of one document in another. Those of the second
// decide about the exit code.
func compareSaved(ctx context.Context, u *ui.UI, names []string, minSeverity finding.Severity) error {
	before, err := examine.ReadSaved(ctx, names[0])
	if err != nil {
		return err
	}
	after, err := examine.ReadSaved(ctx, names[1])
	if err != nil {
		return err
	}
	d := &finding.DoctorDiff{Head: finding.NewHead(finding.KindDoctorDiff), Before: names[0], After: names[1],
		Targets: examine.Compare(before, after)}
	d.Next = "snug report " + message.Quote(names[1])
	if err := u.Answer(d); err != nil {
		return err
	}
	if minSeverity != "" && after.Worst().Level() >= minSeverity.Level() {
		return &message.Failure{Code: message.ExitFinding}
	}
	return nil
}
