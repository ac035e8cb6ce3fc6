// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
)

const mib = 1 << 20

// TestGrowth: what grows is told from what warms up, what is garbage, and what only moves.
func TestGrowth(t *testing.T) {
	type value = func(s float64) float64
	flat := func(v float64) value { return func(float64) float64 { return v } }
	saw := func(low, high, period float64) value { // memory between collections
		return func(s float64) float64 { return low + (high-low)*math.Mod(s, period)/period }
	}
	for _, c := range []struct {
		name                      string
		live, mapped, rss, thread value
		every                     float64 // seconds between collections; 0 = none
		want                      string  // what grows
		kept                      float64
		garbage                   bool
	}{
		{"nothing", flat(50 * mib), flat(100 * mib), flat(120 * mib), flat(9), 0.5, "", 0.5, false},
		{"the live heap", func(s float64) float64 { return (50 + 2*s) * mib }, func(s float64) float64 { return (110 + 4*s) * mib }, func(s float64) float64 { return (120 + 4*s) * mib }, flat(9), 0.5, "live go", 0.5, false},
		{"it warms up", func(s float64) float64 { return (50 + 40*(1-math.Exp(-s/3))) * mib }, func(s float64) float64 { return (100 + 80*(1-math.Exp(-s/3))) * mib }, func(s float64) float64 { return (120 + 80*(1-math.Exp(-s/3))) * mib }, flat(9), 0.5, "", 0.5, false},
		{"garbage, and no collection", flat(50 * mib), func(s float64) float64 { return (100 + 3*s) * mib }, func(s float64) float64 { return (120 + 3*s) * mib }, flat(9), 0, "", 0.5, true},
		{"all of it is kept, and no collection", flat(50 * mib), func(s float64) float64 { return (100 + 3*s) * mib }, func(s float64) float64 { return (120 + 3*s) * mib }, flat(9), 0, "go", 0.95, false},
		{"it steps up once", func(s float64) float64 { return (50 + 30*math.Floor(s/6)) * mib }, flat(150 * mib), flat(170 * mib), flat(9), 0.5, "", 0.5, false},
		{"stacks", flat(50 * mib), func(s float64) float64 { return (100 + 2*s) * mib }, func(s float64) float64 { return (120 + 2*s) * mib }, flat(9), 0.5, "go", 0.5, false},
		{"memory of C", flat(50 * mib), flat(100 * mib), func(s float64) float64 { return (120 + s) * mib }, flat(9), 0.5, "other", 0.5, false},
		{"threads", flat(50 * mib), flat(100 * mib), flat(120 * mib), func(s float64) float64 { return math.Floor(10 + 4*s) }, 0.5, "threads", 0.5, false},
		{"the heap breathes", saw(40*mib, 60*mib, 2.3), saw(80*mib, 120*mib, 2.3), saw(90*mib, 130*mib, 2.3), flat(9), 0.5, "", 0.5, false},
	} {
		var looks []Look
		begin := time.Unix(1700000000, 0)
		marked, collections := c.live(0), 0.0
		for s := 0.0; s <= 10; s += 0.05 {
			if c.every > 0 && math.Floor(s/c.every) > collections {
				marked, collections = c.live(s), math.Floor(s/c.every)
			}
			looks = append(looks, Look{begin.Add(time.Duration(s * 1e9)), collections, marked, c.mapped(s), c.rss(s), c.thread(s)})
		}
		f := &rules.Facts{Kept: figure.New(c.kept, "")}
		garbage, part := Growth(f, looks)
		got := ""
		for _, g := range []struct {
			name string
			t    *rules.Trend
		}{{"live", f.LiveGrowth}, {"go", f.GoGrowth}, {"other", f.OtherGrowth}, {"threads", f.ThreadGrowth}} {
			if g.t == nil {
				continue
			}
			if got != "" {
				got += " "
			}
			got += g.name
			if !(g.t.Min <= g.t.PerSecond && g.t.PerSecond <= g.t.Max) {
				t.Errorf("%s: %+v", c.name, g.t)
			}
		}
		if got != c.want || (garbage > 0) != c.garbage || part != 0 {
			t.Errorf("%s: %q grows, want %q; %v may be garbage, %v of the collections", c.name, got, c.want, garbage, part)
		}
		if c.name == "the live heap" && math.Abs(f.LiveGrowth.PerSecond-2*mib) > 0.2*mib {
			t.Errorf("%+v, want 2 MiB/s", f.LiveGrowth)
		}
	}
}

// TestGrowthByChance: noise without growth looks like growth in at most 1 of 100 watches with eight
// collections, and no more often with many.
func TestGrowthByChance(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n, most := range map[int]int{8: 50, 40: 50} {
		found := 0
		for range 5000 {
			var s series
			for i := range n {
				s.add(float64(i), 100*mib+10*mib*r.NormFloat64())
			}
			if s.trend(minGrowth, "") != nil {
				found++
			}
		}
		if found > most {
			t.Errorf("%d collections: growth in %d of 5000", n, found)
		}
	}
}
