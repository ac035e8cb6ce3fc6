// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"math"
	"testing"
	"time"
)

func TestStallLaw(t *testing.T) {
	const period = 100 * time.Millisecond
	for _, c := range []struct {
		name          string
		quota         float64
		threads, cpus int
		wantMillis    float64
		// measured is the median worst gap on 2 CPUs, Linux 6.18, HZ=250, in
		// milliseconds; 0 where there was none or nothing was measured.
		measured float64
	}{
		{"quarter, one thread", 0.25, 1, 2, 75, 75.9},
		{"quarter, two threads", 0.25, 2, 2, 87.5, 88.0},
		{"half, one thread", 0.5, 1, 2, 50, 51.2},
		{"half, two threads", 0.5, 2, 2, 75, 76.0},
		{"half, more threads than CPUs", 0.5, 4, 2, 75, 79},
		{"one, one thread", 1, 1, 2, 0, 0},
		{"one, two threads", 1, 2, 2, 50, 51.2},
		{"one and a half, two threads", 1.5, 2, 2, 25, 24.1},
		{"two of 24 CPUs, three threads", 2, 3, 24, 100.0 / 3, 0},
		{"two of 24 CPUs, 24 threads", 2, 24, 24, 100 * 22.0 / 24, 0},
		{"quota above the CPUs", 4, 24, 2, 0, 0},
		{"no quota", 0, 8, 2, 0, 0},
		{"nothing runs", 1, 0, 2, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := float64(StallLaw(c.quota, c.threads, c.cpus, period)) / 1e6
			if math.Abs(got-c.wantMillis) > 0.001 {
				t.Errorf("StallLaw = %.3f ms, want %.3f", got, c.wantMillis)
			}
			if c.measured > 0 && math.Abs(got/c.measured-1) > 0.06 {
				t.Errorf("StallLaw = %.1f ms, measured %.1f", got, c.measured)
			}
		})
	}
	if got := StallLaw(0.5, 1, 2, 10*time.Millisecond); got != 5*time.Millisecond {
		t.Errorf("a period of 10 ms: %v, want 5ms", got)
	}
}
