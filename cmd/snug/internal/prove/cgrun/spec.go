// SPDX-License-Identifier: Apache-2.0

package cgrun

import (
	"fmt"
	"math"
)

// want is the limits of a Spec in the kernel's units; 0 means none.
type want struct {
	quota, period int64 // microseconds
	memory        int64 // bytes
	weight        int   // v2's
	counters      bool
}

// cpu reports whether the cpu controller is needed for more than its counters.
func (w want) cpu() bool { return w.quota > 0 || w.weight > 0 }

func (w want) controllers() []string {
	var list []string
	if w.cpu() {
		list = append(list, "cpu")
	}
	if w.memory > 0 {
		list = append(list, "memory")
	}
	return list
}

// Check returns a *SpecError if no machine could fulfil s, else nil.
func (s *Spec) Check() error {
	_, err := s.want()
	return err
}

func (s *Spec) want() (want, error) {
	w := want{memory: s.MemoryBytes, counters: s.Counters}
	bad := func(what, cure string) (want, error) { return want{}, &SpecError{what, cure} }

	if len(s.Args) == 0 || s.Args[0] == "" {
		return bad("no command", "name the program to run")
	}
	if math.IsNaN(s.CPUs) || s.CPUs < 0 {
		return bad(fmt.Sprintf("CPU limit %g is not a number of cores", s.CPUs), "use a number above 0, such as 1.5")
	}
	if s.MemoryBytes < 0 {
		return bad(fmt.Sprintf("memory limit %d is negative", s.MemoryBytes), "use a size such as 256MiB")
	}
	if s.RealTime && !s.NoLimit {
		return bad("real-time priority within a limit", "leave out the limit, which would not hold")
	}
	if s.Own || s.NoLimit {
		return want{}, s.checkWithoutGroup()
	}
	if s.CPUs == 0 && s.MemoryBytes == 0 {
		return bad("neither a CPU nor a memory limit", "ask for at least one of them")
	}
	if s.CPUs > 0 {
		w.period = DefaultPeriodMicros
		quota := math.Round(s.CPUs * float64(w.period))
		if quota < minQuotaMicros {
			return bad(fmt.Sprintf("CPU limit %g is below the smallest quota, 1 ms in a period of %g ms", s.CPUs,
				float64(w.period)/1000),
				fmt.Sprintf("use at least %g CPUs", float64(minQuotaMicros)/float64(w.period)))
		}
		if quota > maxQuotaMicros {
			return bad(fmt.Sprintf("CPU limit %g is above the largest quota, 2^44-1 µs", s.CPUs),
				fmt.Sprintf("use at most %d CPUs", maxQuotaMicros/w.period))
		}
		w.quota = int64(quota)
	}
	if s.MemoryBytes > 0 && s.MemoryBytes < MinMemoryBytes {
		return bad(fmt.Sprintf("memory limit of %d bytes is too small to start a command in", s.MemoryBytes),
			"use at least 1MiB; the smallest Go programs want 2MiB")
	}
	if s.MemoryOptional && s.MemoryBytes > 0 && s.CPUs == 0 && s.Weight == 0 {
		return bad("the only limit is an optional one",
			"also set a CPU limit or a weight, or make the memory limit mandatory")
	}
	if s.Weight < 0 || s.Weight > maxWeight {
		return bad(fmt.Sprintf("CPU weight %d", s.Weight), "use 1 to 10000; the kernel's default is 100")
	}
	w.weight = s.Weight
	return w, nil
}

// checkWithoutGroup checks a Spec that makes no group.
func (s *Spec) checkWithoutGroup() error {
	if s.Own && s.NoLimit {
		return &SpecError{"both snug's own limits and no limits", "ask for one of them"}
	}
	if s.CPUs != 0 || s.MemoryBytes != 0 || s.Weight != 0 {
		return &SpecError{"a limit for a command that gets no group of its own", "leave out the limits, or make a group"}
	}
	return nil
}
