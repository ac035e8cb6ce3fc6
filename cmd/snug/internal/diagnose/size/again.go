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

// most is the largest plausible figure, an EiB.
const most = 1 << 60

// Again decides once more from the facts of a saved answer, with another price.
func Again(d *finding.Size, price Price) (*finding.Size, error) {
	w := d.Watched
	if w == nil {
		return nil, ErrEarlier
	}
	s := &Seen{SizeSeen: d.Seen, Seconds: d.Seconds, Collections: d.Collections,
		Age: w.Age, Mates: w.Mates, CPUs: w.CPUs, Minor: w.Minor, Aware: w.Aware}
	f := &s.SizeSeen
	all := []float64{s.Seconds, s.Age, float64(s.Collections), float64(w.CPUs), float64(w.Minor), f.Live.N, f.LiveMost.N, f.Growth.N, f.Allocated.N, f.GCCores.N, f.Goal.N, f.Over.N,
		f.Rest.N, f.Other.N, f.Used.N, f.Earlier.N, f.CPUMean.N, f.CPUHigh.N, f.CPUMost.N, f.Waited.N, f.Throttled.N, f.Quota.N, float64(f.GOGC.N + 1)}
	if slices.ContainsFunc(all, func(n float64) bool { return !(n >= 0 && n <= most) }) || max(f.CPUMean.N, f.CPUHigh.N, f.CPUMost.N, f.Quota.N) > math.MaxInt32 {
		return nil, ErrDamaged
	}
	again := Decide(s, price)
	again.Target, again.Go, again.Unknown, again.Next = d.Target, d.Go, d.Unknown, d.Next
	return again, nil
}

// Gaps returns the unknown figures of what was seen, as the document lists them.
func Gaps(s *finding.SizeSeen) []finding.Gap {
	return finding.Gaps(&struct {
		Seen *finding.SizeSeen `json:"seen"`
	}{s}, "")
}
