// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"strconv"
	"strings"
)

// path returns the path of level i's group below a base: "/l0", "/l0/l1" and so on.
func path(i int) string {
	var b strings.Builder
	for n := range i + 1 {
		b.WriteString("/l")
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}

// V2 returns the situation's groups with their files, and the innermost group.
func (s Situation) V2() (groups map[string]map[string]string, in string) {
	groups = map[string]map[string]string{}
	for i, l := range s.Levels {
		files := map[string]string{}
		if l.CPU != "" {
			files["cpu.max"] = l.CPU
		}
		if l.Memory != 0 {
			files["memory.max"] = strconv.FormatInt(l.Memory, 10)
		}
		if l.High != 0 {
			files["memory.high"] = strconv.FormatInt(l.High, 10)
		}
		if l.CPUs != "" {
			files["cpuset.cpus"] = l.CPUs
		}
		groups[path(i)] = files
	}
	return groups, path(len(s.Levels) - 1)
}

// V1 is V2 for v1: each controller's groups, relative to a base in its hierarchy. A v1 cpuset is
// unusable without CPUs and memory nodes, so a level without CPUs of its own gets those of its
// parent, and the outermost level those of base.
func (s Situation) V1(baseCPUs, baseMems string) (controllers map[string]map[string]map[string]string, in string) {
	controllers = map[string]map[string]map[string]string{"cpu": {}, "memory": {}, "cpuset": {}}
	cpus := baseCPUs
	for i, l := range s.Levels {
		cpu := map[string]string{}
		switch quota, period, ok := strings.Cut(l.CPU, " "); {
		case ok:
			cpu["cpu.cfs_period_us"], cpu["cpu.cfs_quota_us"] = period, quota
		case l.CPU == "max":
			cpu["cpu.cfs_quota_us"] = "-1"
		}
		memory := map[string]string{}
		if l.Memory != 0 {
			memory["memory.limit_in_bytes"] = strconv.FormatInt(l.Memory, 10)
		}
		if l.CPUs != "" {
			cpus = l.CPUs
		}
		controllers["cpu"][path(i)] = cpu
		controllers["memory"][path(i)] = memory
		controllers["cpuset"][path(i)] = map[string]string{"cpuset.cpus": cpus, "cpuset.mems": baseMems}
	}
	return controllers, path(len(s.Levels) - 1)
}
