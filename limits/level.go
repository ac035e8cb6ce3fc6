// SPDX-License-Identifier: Apache-2.0

package limits

import "github.com/snug-go/snug/internal/cgroup"

// NewCPULevel is the level of a cgroup that is yet to be made, with a quota of
// so many cores.
func NewCPULevel(cores float64, from Source) CPULevel {
	return CPULevel{Source: from, Quota: Of(cores), plain: true, crashes: cgroup.Overflows(cores)}
}
