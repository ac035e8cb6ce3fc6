// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strconv"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/quantity"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
	"github.com/snug-go/snug/limits"
)

// bounds is a key of a compose file or a unit that sets a limit.
type bounds struct {
	key, resource string
	read          func(string) (quantity.Quantity, bool)
}

var boundsOf = map[manifest.Form][]bounds{
	manifest.Compose: {
		{"mem_limit", "memory", quantity.Docker},
		{"deploy.resources.limits.memory", "memory", quantity.Docker},
		{"cpus", "cpu", quantity.Cores},
		{"deploy.resources.limits.cpus", "cpu", quantity.Cores},
		{"cpu_quota", "cpu", nil}, // with cpu_period
	},
	manifest.Unit: {
		{"MemoryMax", "memory", quantity.Systemd},
		{"MemoryHigh", "memory", quantity.Systemd},
		{"MemoryLimit", "memory", quantity.Systemd},
		{"CPUQuota", "cpu", quantity.Percent},
	},
}

// serviceLimit returns the lowest known limit of a service.
func serviceLimit(o *manifest.Object, c *manifest.Container, resource string) amount {
	tightest := amount{state: limits.None}
	if c.Partial() {
		tightest.state = limits.Unknown
	}
	for _, b := range boundsOf[o.Form] {
		f := c.Resources.Limits[b.key]
		if !f.Set() || b.resource != resource || b.key == "MemoryLimit" && c.Resources.Limits["MemoryMax"].Set() {
			continue
		}
		read := b.read
		if read == nil {
			read = func(quota string) (quantity.Quantity, bool) {
				return quantity.Quota(quota, c.Resources.Limits["cpu_period"].Text)
			}
		}
		q, ok := read(f.Text)
		switch {
		case !ok && tightest.state == limits.None:
			tightest.state = limits.Unknown
		case ok && q.Sign() > 0 && (tightest.state != limits.Known || q.Milli() < tightest.q.Milli()):
			tightest = amount{q: q, state: limits.Known, at: o.FieldAt(f), key: b.key}
		}
	}
	return tightest
}

// cpuLists lists the keys that name CPUs.
var cpuLists = []string{"cpuset", "AllowedCPUs", "CPUAffinity"}

// aboveAffinity finds a GOMAXPROCS above the number of CPUs that a service may run on.
func aboveAffinity(s *subject) {
	k := s.knobs["GOMAXPROCS"]
	n, ok := s.procs()
	if !ok {
		return
	}
	// aboveLimit reports a lower quota.
	quota := int64(quantity.MaxCPUs)
	if limit, ok := s.cpuLimit(); ok {
		quota = runtimeProcs(limit.q.Milli())
	}
	for _, key := range cpuLists {
		f := s.c.Resources.Limits[key]
		cpus, ok := quantity.CPUs(f.Text)
		if !ok || n <= int64(cpus) || quota <= int64(cpus) {
			continue
		}
		g := s.report("procs-above-affinity", finding.SeverityInfo, s.at(k),
			"GOMAXPROCS is "+k.text+" and "+key+" has "+units.Plural(cpus, "CPU")+": the other Ps wait for a CPU",
			"GOMAXPROCS="+strconv.Itoa(cpus)+", or none: Go uses the CPUs that it may run on")
		g.Evidence = []finding.Evidence{
			{What: "GOMAXPROCS in the " + s.noun(), Value: float64(n), Unit: finding.UnitCount, Source: k.source(), Raw: k.text},
			{What: "CPUs it may run on", Value: float64(cpus), Unit: finding.UnitCount, Source: key, Raw: f.Text},
		}
		return
	}
}
