// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"
	"testing"

	"github.com/snug-go/snug/limits"
)

// BenchmarkPoll polls quota, throttling and memory use with an open handle. "levels" is the number
// of visible cgroups of the CPU controller. BenchmarkRuntime is the runtime's own poll:
// SetDefaultGOMAXPROCS reads affinity and the leaf's quota, and sets nothing if they have not
// changed.
//
// Benchmarks do not assert. The expected result: a poll allocates nothing and costs at most five of
// the runtime's.
func BenchmarkPoll(b *testing.B) {
	h, err := limits.Open(limits.Process{})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	l, err := h.Read(limits.Counters)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		h.Read(limits.Counters)
	}
	b.ReportMetric(float64(len(l.CPU.Levels)), "levels")
}

// BenchmarkPollLimits polls without counters: quota, limits and affinity, which is more than the
// runtime reads and enough for a decision.
func BenchmarkPollLimits(b *testing.B) {
	h, err := limits.Open(limits.Process{})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	b.ReportAllocs()
	for b.Loop() {
		h.Read(0)
	}
}

func BenchmarkRuntime(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		runtime.SetDefaultGOMAXPROCS()
	}
}
