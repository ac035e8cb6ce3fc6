// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"math/bits"
	"time"
)

// A histogram has classes of 1 ns up to 32 ns, and above that 32 classes per doubling:
// every value is within 1/64 of the middle of its class. It takes 15 KiB.
const (
	subBits = 5
	subs    = 1 << subBits
)

// HistogramError is the maximum relative error of a percentile.
const HistogramError = 1.0 / (2 * subs)

type histogram struct {
	n, sum, max int64 // ns
	classes     [(64 - subBits) * subs]int64
}

// add counts a duration in ns; a negative one counts as 0.
func (h *histogram) add(ns int64) {
	ns = max(ns, 0)
	h.n++
	h.sum = plus(h.sum, ns)
	h.max = max(h.max, ns)
	h.classes[class(ns)]++
}

func class(ns int64) int {
	if ns < subs {
		return int(ns)
	}
	shift := bits.Len64(uint64(ns)) - 1 - subBits
	return (shift+1)<<subBits + int(ns>>shift) - subs
}

// low returns the smallest value of a class; the class ends before low of the next.
func low(class int) int64 {
	if class < subs {
		return int64(class)
	}
	shift := class>>subBits - 1
	return (int64(class&(subs-1)) + subs) << shift
}

// minAbove is how many samples must lie above a percentile to estimate it.
const minAbove = 10

// quantile returns the p-th quantile, 0 < p < 1, to within HistogramError; false if fewer
// than ten samples lie above it.
func (h *histogram) quantile(p float64) (time.Duration, bool) {
	rank := int64(p*float64(h.n)) + 1 // the rank-th smallest
	if h.n-rank < minAbove {
		return 0, false
	}
	seen := int64(0)
	for i, n := range h.classes {
		if seen += n; seen >= rank {
			width := int64(1)
			if i >= subs {
				width = 1 << (i>>subBits - 1)
			}
			return time.Duration(min(low(i)+(width-1)/2, h.max)), true
		}
	}
	return time.Duration(h.max), true
}

// Distribution is a distribution of durations.
type Distribution struct {
	Count     int64
	Sum, Max  time.Duration
	Quantiles [len(Percentiles)]*time.Duration // nil if fewer than ten samples lie above
	Classes   []Class                          // not empty, ascending
}

// Percentiles are the percentiles of a Distribution.
var Percentiles = [...]float64{0.5, 0.9, 0.99, 0.999}

// Class is Count durations from the Below of the previous class up to, not including,
// Below.
type Class struct {
	Below time.Duration
	Count int64
}

// Mean returns the mean, 0 of no durations.
func (d *Distribution) Mean() time.Duration {
	if d.Count == 0 {
		return 0
	}
	return d.Sum / time.Duration(d.Count)
}

func (h *histogram) distribution() Distribution {
	d := Distribution{Count: h.n, Sum: time.Duration(h.sum), Max: time.Duration(h.max)}
	for i, p := range Percentiles {
		if q, ok := h.quantile(p); ok {
			d.Quantiles[i] = &q
		}
	}
	for i, n := range h.classes {
		if n > 0 {
			below := h.max + 1
			if i+1 < len(h.classes) {
				below = low(i + 1)
			}
			d.Classes = append(d.Classes, Class{time.Duration(below), n})
		}
	}
	return d
}

// plus adds two non-negative numbers; at an overflow it returns the largest int64.
func plus(a, b int64) int64 {
	if s := a + b; s >= a {
		return s
	}
	return 1<<63 - 1
}
