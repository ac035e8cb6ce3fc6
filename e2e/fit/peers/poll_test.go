// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"
	"testing"

	"github.com/snug-go/snug/limits"
)

// BenchmarkPoll is one look at quota, throttling and memory use by a kept-open
// handle. "levels" is how many cgroups of the CPU controller are visible.
// BenchmarkRuntime is the runtime's own: affinity and the leaf's quota, which
// SetDefaultGOMAXPROCS reads and, where nothing changed, leaves at that.
//
// Benchmarks do not assert; what they are to show is that a poll allocates
// nothing and costs at most five of the runtime's.
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

// BenchmarkPollLimits is the same without counters: quota, limits and affinity,
// which is more than the runtime reads and as much as a decision needs.
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
