// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// bounds are those of Spread.Below: 16 µs to 0.54 s, each eight times the one before. Buckets of
// the runtime begin at them.
var bounds = [...]time.Duration{1 << 14, 1 << 17, 1 << 20, 1 << 23, 1 << 26, 1 << 29}

// Bounds returns the bounds of Spread.Below, in seconds.
func Bounds() []float64 {
	all := make([]float64, len(bounds))
	for i, b := range bounds {
		all[i] = b.Seconds()
	}
	return all
}

// Spread sums up a histogram. It is none if the histogram is empty.
func Spread(of figure.Of[goproc.Durations]) figure.Of[finding.Spread] {
	if !of.Known() {
		return figure.Of[finding.Spread]{Why: of.Why, Source: of.Source}
	}
	d := &of.N
	longest, some := d.Quantile(1)
	if !some {
		return figure.None[finding.Spread](of.Source)
	}
	s := finding.Spread{Count: int64(d.Count()), Max: longest.Seconds()}
	half, _ := d.Quantile(0.5)
	most, _ := d.Quantile(0.99)
	s.P50, s.P99 = half.Seconds(), most.Seconds()
	for _, b := range bounds {
		s.Below = append(s.Below, d.Below(b))
	}
	return figure.New(s, of.Source)
}

// SpreadSince is Spread for what was added between two looks. It is none if one of them is unknown.
func SpreadSince(a, b figure.Of[goproc.Durations]) figure.Of[finding.Spread] {
	if !a.Known() || !b.Known() {
		return figure.None[finding.Spread]("")
	}
	d, ok := b.N.Since(&a.N)
	if !ok {
		return figure.None[finding.Spread]("")
	}
	return Spread(figure.New(d, b.Source))
}
