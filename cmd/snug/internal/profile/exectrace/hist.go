// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"math/bits"
	"time"
)

// A histogram has classes of 1 ns up to 32 ns, and from there on 32 to each
// doubling: no value is further than 1/64 from the middle of its class. It takes 15 KiB.
const (
	subBits = 5
	subs    = 1 << subBits
)

// HistogramError is by how much a percentile may be off, as a ratio.
const HistogramError = 1.0 / (2 * subs)

type histogram struct {
	n, sum, max int64 // ns
	classes     [(64 - subBits) * subs]int64
}

// add counts a duration in ns; below 0 is 0.
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

// low is the least value of a class; the class ends before low of the next.
func low(class int) int64 {
	if class < subs {
		return int64(class)
	}
	shift := class>>subBits - 1
	return (int64(class&(subs-1)) + subs) << shift
}

// tail is how many samples must lie above a percentile for it to be told.
const tail = 10

// quantile is the p-th quantile, 0 < p < 1, to HistogramError; false where fewer than
// ten samples lie above it.
func (h *histogram) quantile(p float64) (time.Duration, bool) {
	rank := int64(p*float64(h.n)) + 1 // the rank-th smallest
	if h.n-rank < tail {
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

// Distribution is a histogram as others see it.
type Distribution struct {
	Count     int64
	Sum, Max  time.Duration
	Quantiles [len(Percentiles)]*time.Duration // nil where fewer than ten samples lie above
	Classes   []Class                          // those that are not empty, rising
}

// Percentiles are those of a Distribution.
var Percentiles = [...]float64{0.5, 0.9, 0.99, 0.999}

// Class is Count durations below Below and not below the Below of the class before.
type Class struct {
	Below time.Duration
	Count int64
}

// Mean is 0 where there are none.
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

// plus adds two that are not below 0, and stays at the largest number there is.
func plus(a, b int64) int64 {
	if s := a + b; s >= a {
		return s
	}
	return 1<<63 - 1
}
