// SPDX-License-Identifier: Apache-2.0

// Package needs holds what sizing needs of each workload, small enough for an agent to keep for weeks:
// distributions of a few figures. Those of several nodes can be added up. It reads nothing by itself.
package needs

import (
	"math"
	"slices"
	"strconv"
)

// Sketch is the distribution of a figure over time, in exponential buckets whose weights decay. The idea is
// the decaying histogram of Kubernetes' VPA (autoscaler, vertical-pod-autoscaler/pkg/recommender/util), and so are
// the width of the buckets and the half-life. It keeps few buckets: if a value needs one too many, the lowest two
// become one, so that high quantiles stay right, as in DDSketch (Masson, Rim, Lee, VLDB 2019).
//
// A value weighs as many seconds as it held.
type Sketch struct {
	Seconds float64 `json:"seconds"`           // all of them, decayed
	Sum     float64 `json:"sum"`               // of values times seconds
	Zero    float64 `json:"zero,omitempty"`    // seconds below least
	First   int     `json:"first,omitempty"`   // number of the first of Buckets
	Buckets weights `json:"buckets,omitempty"` // bucket i begins at least times growth to the power of i
}

// weights are seconds.
type weights []float32

const (
	// growth is from one bucket to the next: a quantile is at most so much larger than the value.
	growth = 1.05
	// least is where bucket 0 begins: a thousandth of a core, and less than a byte.
	least = 1e-3
	// maxBuckets span a factor of 22.
	maxBuckets = 64
	// HalfLife is after how many seconds a value weighs half: a day.
	HalfLife = 24 * 3600
	// forgotten are the seconds below which a bucket is dropped: those of one scan of 15 s are after eight days, which is
	// how long VPA keeps a peak of memory.
	forgotten = 0.05
)

// Add adds a value that held for some seconds. Values below 0 and NaN are ignored.
func (s *Sketch) Add(v, seconds float64) {
	if !(v >= 0 && seconds > 0) || math.IsInf(v, 1) {
		return
	}
	s.Seconds += seconds
	s.Sum += v * seconds
	if v < least {
		s.Zero += seconds
		return
	}
	s.add(int(math.Log(v/least)/math.Log(growth)), float32(seconds))
}

func (s *Sketch) add(i int, seconds float32) {
	switch n := len(s.Buckets); {
	case n == 0:
		s.First = i
	case i < s.First:
		i = max(i, s.First+n-maxBuckets)
		s.Buckets = slices.Concat(make(weights, s.First-i), s.Buckets)
		s.First = i
	case i >= s.First+maxBuckets:
		low := i - maxBuckets + 1
		drop, sum := min(low-s.First, n), float32(0)
		for _, w := range s.Buckets[:drop] {
			sum += w
		}
		if s.Buckets = slices.Delete(s.Buckets, 0, drop); len(s.Buckets) == 0 {
			s.Buckets = append(s.Buckets, 0)
		}
		s.First = low
		s.Buckets[0] += sum
	}
	for len(s.Buckets) <= i-s.First {
		s.Buckets = append(s.Buckets, 0)
	}
	s.Buckets[i-s.First] += seconds
}

// Decay multiplies all weights, and drops what is forgotten.
func (s *Sketch) Decay(factor float64) {
	s.Seconds, s.Sum, s.Zero = s.Seconds*factor, s.Sum*factor, s.Zero*factor
	begin, end := -1, 0
	for i := range s.Buckets {
		if s.Buckets[i] *= float32(factor); s.Buckets[i] < forgotten {
			s.Buckets[i] = 0
			continue
		}
		if end = i + 1; begin < 0 {
			begin = i
		}
	}
	if begin < 0 {
		s.First, s.Buckets = 0, nil
		if s.Zero < forgotten {
			*s = Sketch{}
		}
		return
	}
	s.Buckets = slices.Delete(s.Buckets[:end], 0, begin)
	s.First += begin
}

// Merge adds another distribution of the same figure.
func (s *Sketch) Merge(o *Sketch) {
	s.Seconds, s.Sum, s.Zero = s.Seconds+o.Seconds, s.Sum+o.Sum, s.Zero+o.Zero
	for i, w := range o.Buckets {
		if w > 0 {
			s.add(o.First+i, w)
		}
	}
}

// Mean returns the mean; false if there is nothing.
func (s *Sketch) Mean() (float64, bool) {
	if s.Seconds <= 0 {
		return 0, false
	}
	return s.Sum / s.Seconds, true
}

// Quantile returns a value that was not passed in a part of the time, 0 to 1: the upper end of its bucket, at most 5 %
// more than it was. It is false if there is nothing.
func (s *Sketch) Quantile(part float64) (float64, bool) {
	total := s.Zero
	for _, w := range s.Buckets {
		total += float64(w)
	}
	if total <= 0 {
		return 0, false
	}
	below, v := s.Zero, 0.0
	for i, w := range s.Buckets {
		if below > 0 && below >= part*total {
			break
		}
		if w > 0 {
			below, v = below+float64(w), least*math.Pow(growth, float64(s.First+i+1))
		}
	}
	return v, true
}

// valid reports whether it can be one that was written by this package.
func (s *Sketch) valid() bool {
	if !(s.Seconds >= 0 && s.Sum >= 0 && s.Zero >= 0) || math.IsInf(s.Seconds+s.Sum+s.Zero, 0) || len(s.Buckets) > maxBuckets || s.First < -1 || s.First > 1<<15 {
		return false
	}
	return !slices.ContainsFunc(s.Buckets, func(w float32) bool { return !(w >= 0 && w <= math.MaxFloat32) })
}

// MarshalJSON writes three digits of each: the file of an agent is small.
func (w weights) MarshalJSON() ([]byte, error) {
	text := []byte{'['}
	for i, n := range w {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendFloat(text, float64(n), 'g', 3, 32)
	}
	return append(text, ']'), nil
}
