// SPDX-License-Identifier: Apache-2.0

package load

import (
	"math"
	"testing"
	"time"
)

func take(n int, seed, stream uint64, rate float64) []time.Duration {
	a := newArrivals(seed, stream, rate)
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = a.next()
	}
	return out
}

func TestArrivalsAreCommonToAllRates(t *testing.T) {
	base := take(5000, 7, streamWindow, 100)
	for _, rate := range []float64{100, 437, 1600, 0.5} {
		for i, at := range take(5000, 7, streamWindow, rate) {
			if want := float64(base[i]) * 100 / rate; math.Abs(float64(at)-want) > 1+100/rate {
				t.Fatalf("rate %v: arrival %d at %d ns, want %.0f", rate, i, at, want)
			}
		}
	}
}

func TestArrivalsDependOnSeedAndStream(t *testing.T) {
	base := take(3, 7, streamWindow, 100)
	for name, other := range map[string][]time.Duration{
		"seed":   take(3, 8, streamWindow, 100),
		"stream": take(3, 7, streamWarm, 100),
	} {
		if base[0] == other[0] {
			t.Errorf("another %s gives the same arrivals", name)
		}
	}
}

// TestArrivalsArePoisson: the gaps have the mean of the rate, a standard deviation equal
// to the mean, and e^-1 of them are longer than the mean.
func TestArrivalsArePoisson(t *testing.T) {
	const n, rate = 100_000, 800.0
	var last time.Duration
	var sum, squares, long float64
	for _, at := range take(n, 1, streamWindow, rate) {
		gap := (at - last).Seconds() * rate
		last = at
		sum += gap
		squares += gap * gap
		if gap > 1 {
			long++
		}
	}
	mean := sum / n
	for _, tt := range []struct {
		name      string
		got, want float64
	}{
		{"mean", mean, 1},
		{"standard deviation", math.Sqrt(squares/n - mean*mean), 1},
		{"share of long gaps", long / n, math.Exp(-1)},
	} {
		if math.Abs(tt.got-tt.want) > 0.01 {
			t.Errorf("%s %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}
