// SPDX-License-Identifier: Apache-2.0

// Package needs holds what sizing needs of each workload, small enough for an agent to keep for weeks:
// distributions of a few figures. Those of several nodes can be added up. It reads nothing by itself.
package needs

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"time"
)

// Sketch is the distribution of a figure over time, in exponential buckets whose weights decay. The idea is
// the decaying histogram of Kubernetes' VPA (autoscaler, vertical-pod-autoscaler/pkg/recommender/util), and so are
// the width of the buckets and the half-life. Only buckets that are not empty are kept. If there are too many, the
// lowest becomes part of the one above it, so that high quantiles stay right, as in DDSketch (Masson, Rim, Lee, VLDB
// 2019).
//
// A value weighs as many seconds as it held.
type Sketch struct {
	Seconds float64 `json:"seconds"`           // all of them, decayed
	Sum     float64 `json:"sum"`               // of values times seconds
	Zero    float64 `json:"zero,omitempty"`    // seconds below least
	Buckets buckets `json:"buckets,omitempty"` // sorted by number
}

// bucket has the values from least times growth to the power of its number.
type bucket struct {
	number  int32
	seconds float32
}

type buckets []bucket

const (
	// growth is from the lower end of a bucket to its upper end, so a quantile is at most 5 % above the value.
	growth = 1.05
	// least is where bucket 0 begins: a thousandth of a core, and less than a byte.
	least = 1e-3
	// most bounds a value: no figure is larger. highest is the number of no bucket below it.
	most    = 1e18
	highest = 1000
	// maxBuckets span a factor of 265,000 if none is empty: from 0.004 cores to 1,000.
	maxBuckets = 256
	// maxSum bounds what is summed up of a node, so that the sum of all nodes is finite.
	maxSum = 1e30
	// HalfLife is after how many seconds a value weighs half: a day.
	HalfLife = 24 * 3600
	// forgotten are the seconds below which a bucket is dropped: those of one scan of 15 s are after eight days, which is
	// how long VPA keeps a peak of memory.
	forgotten = 0.05
)

// Add adds a value that held for some seconds. NaN and values below 0 or above most are ignored.
func (s *Sketch) Add(v, seconds float64) {
	if !(v >= 0 && v <= most && seconds > 0 && seconds <= maxSum) {
		return
	}
	s.Seconds += seconds
	s.Sum += v * seconds
	if v < least {
		s.Zero += seconds
		return
	}
	s.add(int32(math.Log(v/least)/math.Log(growth)), float32(seconds))
}

func (s *Sketch) add(number int32, seconds float32) {
	i, found := slices.BinarySearchFunc(s.Buckets, number, func(b bucket, n int32) int { return cmp.Compare(b.number, n) })
	if found {
		s.Buckets[i].seconds += seconds
		return
	}
	s.Buckets = slices.Insert(s.Buckets, i, bucket{number, seconds})
	if len(s.Buckets) > maxBuckets {
		s.Buckets[1].seconds += s.Buckets[0].seconds
		s.Buckets = slices.Delete(s.Buckets, 0, 1)
	}
}

// Decay multiplies all weights, and drops what is forgotten.
func (s *Sketch) Decay(factor float64) {
	s.Seconds, s.Sum, s.Zero = s.Seconds*factor, s.Sum*factor, s.Zero*factor
	for i := range s.Buckets {
		s.Buckets[i].seconds *= float32(factor)
	}
	s.Buckets = slices.DeleteFunc(s.Buckets, func(b bucket) bool { return b.seconds < forgotten })
	if len(s.Buckets) == 0 {
		if s.Buckets = nil; s.Zero < forgotten {
			*s = Sketch{}
		}
	}
}

// Merge adds another distribution of the same figure.
func (s *Sketch) Merge(o *Sketch) {
	s.Seconds, s.Sum, s.Zero = s.Seconds+o.Seconds, s.Sum+o.Sum, s.Zero+o.Zero
	for _, b := range o.Buckets {
		s.add(b.number, b.seconds)
	}
}

// Quantile returns a value that was not passed in a part of the time, 0 to 1: the upper end of its bucket, which is at
// most 5 % above the value, unless its bucket was the lowest of too many. It is false if there is nothing.
func (s *Sketch) Quantile(part float64) (float64, bool) {
	total := s.Zero
	for _, b := range s.Buckets {
		total += float64(b.seconds)
	}
	if total <= 0 {
		return 0, false
	}
	below, v := s.Zero, 0.0
	for _, b := range s.Buckets {
		if below > 0 && below >= part*total {
			break
		}
		below, v = below+float64(b.seconds), least*math.Pow(growth, float64(b.number+1))
	}
	return v, true
}

// valid reports whether it can be one that was written by this package.
func (s *Sketch) valid() bool {
	for _, n := range [...]float64{s.Seconds, s.Sum, s.Zero} {
		if !(n >= 0 && n <= maxSum) {
			return false
		}
	}
	before := int32(-1)
	for _, b := range s.Buckets {
		if b.number <= before || b.number > highest || !(b.seconds >= 0 && b.seconds <= maxSum) {
			return false
		}
		before = b.number
	}
	return len(s.Buckets) <= maxBuckets
}

// MarshalJSON writes pairs of a number and three digits of the seconds: the file of an agent is small.
func (all buckets) MarshalJSON() ([]byte, error) {
	text := []byte{'['}
	for i, b := range all {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(append(text, '['), int64(b.number), 10)
		text = strconv.AppendFloat(append(text, ','), float64(b.seconds), 'g', 3, 32)
		text = append(text, ']')
	}
	return append(text, ']'), nil
}

// UnmarshalJSON reads what MarshalJSON writes. It fails if that are no pairs, or a number is not whole.
func (all *buckets) UnmarshalJSON(text []byte) error {
	var pairs [][]float64
	if err := json.Unmarshal(text, &pairs); err != nil {
		return err
	}
	*all = make(buckets, len(pairs))
	for i, p := range pairs {
		if len(p) != 2 || p[0] != math.Trunc(p[0]) || math.Abs(p[0]) > math.MaxInt32 {
			return errors.New("no pair of a whole number and seconds")
		}
		(*all)[i] = bucket{int32(p[0]), float32(p[1])}
	}
	return nil
}

const (
	// MaxWorkloads bounds the workloads of a node.
	MaxWorkloads = 200
	// MaxBytes bounds a document: MaxWorkloads whose sketches are full take 5 MB, usual ones a tenth.
	MaxBytes = 6 << 20
	// version changes when older documents cannot be read.
	version = 1
	kind    = "snug-needs"
)

// Document is what an agent has seen of the workloads of its node: its answer, and its file.
type Document struct {
	Kind      string      `json:"kind"`
	Version   int         `json:"version"`
	Node      string      `json:"node"` // "" = unknown
	At        time.Time   `json:"at"`   // of the last scan
	Workloads []*Workload `json:"workloads"`
	LeftOut   int         `json:"left_out"` // workloads of the last scan that are not kept, because there are too many
	Nameless  int         `json:"nameless"` // containers of the last scan whose workload is unknown
}

// Encode writes the document. If the clock was set back, what was first seen after it was last seen was first seen
// then.
func (d *Document) Encode() ([]byte, error) {
	d.Kind, d.Version = kind, version
	for _, w := range d.Workloads {
		if w.First.After(w.Last) {
			w.First = w.Last
		}
	}
	return json.Marshal(d)
}

// Errors of Decode.
var (
	ErrForeign = errors.New("it is not what an agent has kept of workloads")
	ErrVersion = errors.New("another version of snug has written it")
	ErrBroken  = errors.New("it is damaged")
)

// Decode reads a document, at most MaxBytes. It fails with one of the errors above.
func Decode(text []byte) (*Document, error) {
	if len(text) > MaxBytes {
		return nil, ErrForeign
	}
	var head struct {
		Kind    string
		Version int
	}
	err := json.Unmarshal(text, &head)
	var syntax *json.SyntaxError
	switch {
	case head.Kind != kind && !errors.As(err, &syntax):
		return nil, ErrForeign
	case err != nil:
		return nil, ErrBroken
	case head.Version != version:
		return nil, ErrVersion
	}
	d := &Document{}
	if err := json.Unmarshal(text, d); err != nil || len(d.Workloads) > MaxWorkloads {
		return nil, ErrBroken
	}
	for _, w := range d.Workloads {
		if w == nil || !w.valid() {
			return nil, ErrBroken
		}
	}
	return d, nil
}

func (w *Workload) valid() bool {
	for _, s := range w.sketches() {
		if !s.valid() {
			return false
		}
	}
	h := &w.Has
	for _, a := range [...]*Amount{&h.Limit, &h.Request, &h.Quota} {
		for _, n := range [...]float64{a.Sum, a.Least, a.Most} {
			if !(n >= 0 && n <= most) {
				return false
			}
		}
		if !counts(a.N) || !counts(a.None) {
			return false
		}
	}
	for _, n := range w.sums() {
		if !(*n >= 0 && *n <= maxSum) {
			return false
		}
	}
	for _, n := range [...]int{h.Containers, w.Mates, h.Minor, h.CPUs, h.Procs} {
		if !counts(n) {
			return false
		}
	}
	for _, n := range [...]float64{w.Seen, w.Every} {
		if !(n >= 0 && n <= maxSum) {
			return false
		}
	}
	return !w.First.After(w.Last) && h.Bound >= 0 && len(w.Why) <= maxWhy
}

// counts reports whether n can be a number of things on a node.
func counts(n int) bool { return n >= 0 && n <= 1<<24 }

// maxWhy bounds a reason in bytes.
const maxWhy = 300
