// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strconv"

	"github.com/snug-go/snug/internal/cgroup"
	"github.com/snug-go/snug/limits"
)

// Confine adds to a process's limits those of a cgroup to be created below its own: cores and
// bytes of memory, 0 for no limit.
func Confine(l *limits.Limits, cores float64, memory int64) {
	const file = "the cgroup to be made"
	if cores > 0 {
		c := &l.CPU
		from := limits.Source{File: file, Raw: strconv.FormatFloat(cores, 'f', -1, 64) + " CPUs"}
		level := limits.CPULevel{Source: from, Quota: limits.Of(cores), GoQuota: limits.Of(cores),
			CrashesGo: cgroup.Overflows(cores)}
		// Go 1.25 finds the new group where it finds the own one.
		finds := c.RuntimeLevel125 == nil || len(c.Levels) == 0 || c.RuntimeLevel125.File == c.Levels[0].File
		c.Levels = append([]limits.CPULevel{level}, c.Levels...)
		if c.RuntimeLevel = &c.Levels[0]; finds {
			c.RuntimeLevel125 = c.RuntimeLevel
		}
		if q, ok := c.Quota.Get(); !ok || cores < q {
			c.Quota, c.QuotaSource = limits.Of(cores), from
		}
	}
	m := &l.Memory
	if total, ok := m.Soft.Get(); ok && m.SoftSource.File == cgroup.HostMemory && memory > total {
		memory = 0 // the machine has less
	}
	if memory > 0 {
		from := limits.Source{File: file, Raw: strconv.FormatInt(memory, 10)}
		if n, ok := m.Hard.Get(); !ok || memory < n {
			m.Hard, m.HardSource, m.HardShared = limits.Of(memory), from, false
		}
		if n, ok := m.Soft.Get(); !ok || memory < n {
			m.Soft, m.SoftSource = limits.Of(memory), from
		}
	}
}
