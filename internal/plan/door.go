// SPDX-License-Identifier: Apache-2.0

package plan

// What a limit alone gives, for those that have no machine to read: manifests, admission, advice. It is
// Decide's answer, so that all of them say the same number. None is above the CPUs of a machine, which the
// caller may know.

// ProcsForLimit returns GOMAXPROCS for a CPU limit in cores: rounded up, at least 2, but 1 below one core. It is 0
// if the limit is none that a machine can have.
func ProcsForLimit(cores float64, p *Policy) int64 { return procsFor(Hints{CPULimit: cores}, p) }

// ProcsForRequest returns GOMAXPROCS for a CPU request in cores, if there is no limit: RequestFactor times as many,
// rounded up, at least 2. It is 0 as by ProcsForLimit.
func ProcsForRequest(cores float64, p *Policy) int64 { return procsFor(Hints{CPURequest: cores}, p) }

func procsFor(h Hints, p *Policy) int64 {
	if max(h.CPULimit, h.CPURequest) >= maxProcs {
		return 0
	}
	in := Input{Hints: h, Policy: *p}
	return Decide(&in).GOMAXPROCS.Value
}

// MemoryForLimit returns GOMEMLIMIT in bytes for a memory limit in bytes; 0 if the limit is too small for one, and
// the knob is left alone.
func MemoryForLimit(limit int64, p *Policy) int64 {
	in := Input{Hints: Hints{MemoryLimit: limit}, Policy: *p}
	return Decide(&in).GOMEMLIMIT.Value
}

// GoProcs returns the GOMAXPROCS that the Go runtime chooses for a quota in cores that it reads, where there are
// CPUs enough: rounded up, and at least 2 (runtime/cgroup_linux.go, adjustCgroupGOMAXPROCS).
func GoProcs(cores float64) int { return max(2, ceil(min(cores, maxProcs))) }
