// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"

	"github.com/snug-go/snug/cmd/snug/internal/finding"
)

// Try starts a program that does nothing with a CPU limit, in cores, and says
// by which way it could be confined. It fails where the runs would fail.
func (r *Runner) Try(ctx context.Context, cpus float64) (way string, err error) {
	p, err := r.start(ctx, finding.Arm{Quota: cpus}, launch{args: []string{r.Self, "version"}, env: r.base()})
	if err != nil {
		return "", err
	}
	<-p.exited
	return string(p.child.Confinement.Way), p.remove()
}
