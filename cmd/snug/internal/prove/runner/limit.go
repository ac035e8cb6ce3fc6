// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"fmt"

	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// A limitError reports a limit above snug's own groups that is tighter than the arm's. A
// run under it would be recorded with the wrong limit.
type limitError struct {
	What string
	Cure string
}

func (e *limitError) Error() string { return e.What }

// Hint returns the cure.
func (e *limitError) Hint() string { return e.Cure }

// enforced compares the limits that apply to a program with those of its arm. cgrun does
// not: it keeps every limit above, and lowers a quota if cgroup v1 rejects it.
func enforced(arm finding.Arm, c cgrun.Confinement) error {
	// systemd rounds a quota; a tighter limit above its scope is not rounding.
	asked := arm.Quota
	if c.Way == cgrun.WaySystemd && c.PeriodMicros > 0 {
		asked = float64(c.QuotaMicros) / float64(c.PeriodMicros)
	}
	const rounding = 1.0 / cgrun.DefaultPeriodMicros // one microsecond per period
	if arm.Quota > 0 && c.CPUs < asked-rounding {
		return &limitError{
			fmt.Sprintf("only %g of the %g requested CPUs are available, %s", c.CPUs, arm.Quota, c.CPUsFrom),
			fmt.Sprintf("use --cpus %g or less, or run snug where there is more", c.CPUs),
		}
	}
	if arm.Memory > 0 && c.MemoryBytes < c.LimitBytes {
		return &limitError{
			fmt.Sprintf("only %d of the %d requested bytes of memory are available, %s", c.MemoryBytes, arm.Memory,
				c.MemoryFrom),
			fmt.Sprintf("use --memory %d or less, or run snug where there is more", c.MemoryBytes),
		}
	}
	return nil
}
