// SPDX-License-Identifier: Apache-2.0

package size

import (
	"errors"
	"math"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Errors of Again.
var (
	ErrEarlier = errors.New("it lacks what another price needs, because an earlier version of snug wrote it")
	ErrDamaged = errors.New("damaged document of kind size: a figure is out of range")
)

// most is the largest plausible figure, an EiB. Those of CPU are in cores.
const (
	most                  = 1 << 60
	leastCores, mostCores = 1e-3, 1e6
)

// Possible returns an error if a decided value is one that no answer has.
func Possible(d *finding.Size) error {
	memory, request, limit := d.Memory.Value, d.CPURequest.Value, d.CPULimit.Value
	for _, v := range [...]struct {
		n         *float64
		low, high float64
		whole     bool
	}{
		{memory, mib, most, false}, {request, leastCores, mostCores, false}, {limit, leastCores, mostCores, false},
		{d.GOMAXPROCS.Value, 1, mostCores, true}, {d.GOMEMLIMIT.Value, mib, upTo(memory, most), true},
		{request, 0, upTo(limit, mostCores), false},
	} {
		if v.n != nil && (!(*v.n >= v.low && *v.n <= v.high) || v.whole && *v.n != math.Trunc(*v.n)) {
			return ErrDamaged
		}
	}
	return nil
}

func upTo(n *float64, most float64) float64 {
	if n != nil {
		return *n
	}
	return most
}

// Again decides once more from the facts of a saved answer, with another price.
func Again(d *finding.Size, price Price) (*finding.Size, error) {
	w := d.Watched
	if w == nil {
		return nil, ErrEarlier
	}
	s := &Seen{SizeSeen: d.Seen, Seconds: d.Seconds, Collections: d.Collections,
		Age: w.Age, Mates: w.Mates, CPUs: w.CPUs, Minor: w.Minor, Aware: w.Aware}
	f := &s.SizeSeen
	all := []float64{
		s.Seconds, s.Age, float64(s.Collections), float64(w.CPUs), float64(w.Minor), f.Live.N, f.LiveMost.N, f.Growth.N,
		f.Allocated.N, f.GCCores.N, f.Goal.N, f.Over.N, f.Rest.N, f.Other.N, f.Used.N, f.Earlier.N,
		f.CPUMean.N, f.CPUHigh.N, f.CPUMost.N, f.Waited.N, f.Throttled.N, f.Quota.N, float64(f.GOGC.N + 1),
	}
	strange := slices.ContainsFunc(all, func(n float64) bool { return !(n >= 0 && n <= most) })
	if strange || max(f.CPUMean.N, f.CPUHigh.N, f.CPUMost.N, f.Quota.N) > math.MaxInt32 {
		return nil, ErrDamaged
	}
	if s.Seconds < 1 { // no watch is that short
		return nil, ErrDamaged
	}
	again := Decide(s, price)
	again.Target, again.Go, again.Unknown, again.Next = d.Target, d.Go, d.Unknown, d.Next
	return again, Possible(again)
}

// Gaps returns the unknown figures of what was seen, as the document lists them.
func Gaps(s *finding.SizeSeen) []finding.Gap {
	return finding.Gaps(&struct {
		Seen *finding.SizeSeen `json:"seen"`
	}{s}, "")
}
