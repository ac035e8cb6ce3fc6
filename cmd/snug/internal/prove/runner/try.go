// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"

	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Check returns a *cgrun.SpecError for limits of an arm that no machine could enforce.
func (r *Runner) Check(a finding.Arm) error {
	if r.NoLimit || r.Own || len(r.Command) == 0 && len(r.Request.URLs) > 0 {
		return nil
	}
	spec := cgrun.Spec{
		Args: []string{r.Self}, CPUs: a.Quota, MemoryBytes: a.Memory, Weight: weight,
	}
	return spec.Check()
}

// Try starts a program that does nothing with a CPU limit, in cores, and returns how it
// was confined. It fails where the runs would fail.
func (r *Runner) Try(ctx context.Context, cpus float64) (way string, err error) {
	p, err := r.start(ctx, finding.Arm{Quota: cpus}, launch{args: []string{r.Self, "version"}, env: r.base()})
	if err != nil {
		return "", err
	}
	select {
	case <-p.exited:
	case <-ctx.Done():
	}
	return string(p.child.Confinement.Way), errors.Join(ctx.Err(), p.remove())
}
