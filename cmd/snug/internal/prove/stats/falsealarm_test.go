// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// A simulated experiment has the size of `snug bench`.
const (
	simulations = 2000
	rounds      = 7
	arms        = 3
)

// TestFalseAlarms runs 2,000 A/A experiments for each kind of noise through the whole
// decision: a baseline and three arms that are really equal. In a family (the three arms
// of one metric) a false alarm is any word of better or worse, and, stricter, any
// adjusted p of at most 0.05.
func TestFalseAlarms(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("noise,family,experiments,word_false_alarms,word_rate,word_lower95,word_upper95,holm_false_alarms,holm_rate,holm_lower95,holm_upper95,unadjusted_false_alarms,unadjusted_rate,interval_misses,intervals,miss_rate,same\n")
	equalRatios := slices.Repeat([]float64{1}, arms)
	unadjustedIsSeen := 0
	for k, shape := range noises {
		type count struct{ word, holm, unadjusted, misses, same int }
		found := make([]count, len(metrics)+1) // the last one: any family of the experiment
		for s := range simulations {
			random := rand.New(rand.NewPCG(uint64(k), uint64(s)))
			var any [3]bool
			for i, m := range metrics {
				d := decide(m, blocks(random, m, shape, rounds, equalRatios))
				word := slices.Contains(d.words, finding.Better) || slices.Contains(d.words, finding.Worse)
				holm := slices.Min(d.adjusted) <= 0.05
				unadjusted := slices.ContainsFunc(d.pairs, func(p Paired) bool { return p.P <= 0.05 })
				for j, one := range []struct {
					is    bool
					count *int
				}{{word, &found[i].word}, {holm, &found[i].holm}, {unadjusted, &found[i].unadjusted}} {
					if one.is {
						*one.count++
						any[j] = true
					}
				}
				for j, p := range d.pairs {
					if !p.HasInterval {
						t.Fatal("no interval")
					}
					if p.Interval.Low > 1 || p.Interval.High < 1 {
						found[i].misses++
						found[len(metrics)].misses++
					}
					if d.words[j] == finding.Same {
						found[i].same++
						found[len(metrics)].same++
					}
				}
			}
			last := &found[len(metrics)]
			for j, c := range []*int{&last.word, &last.holm, &last.unadjusted} {
				if any[j] {
					*c++
				}
			}
		}
		for i, c := range found {
			name, intervals := "any of the three", simulations*arms*len(metrics)
			if i < len(metrics) {
				name, intervals = metrics[i].name, simulations*arms
				for what, hits := range map[string]int{"words": c.word, "adjusted p": c.holm} {
					if low := lowerBound(hits, simulations); low > 0.05 {
						t.Errorf("%s, %s: false alarms by %s in %d of %d, at least %.4f", shape.name, name, what, hits, simulations, low)
					}
				}
				if low := lowerBound(c.misses, intervals); low > 0.05 {
					t.Errorf("%s, %s: %d of %d intervals miss 1", shape.name, name, c.misses, intervals)
				}
				if c.word > c.holm {
					t.Errorf("%s, %s: more words than significant differences", shape.name, name)
				}
				if lowerBound(c.unadjusted, simulations) > 0.05 {
					unadjustedIsSeen++
				}
			}
			rate := func(hits int) float64 { return float64(hits) / simulations }
			fmt.Fprintf(&table, "%s,%s,%d,%d,%.4f,%.4f,%.4f,%d,%.4f,%.4f,%.4f,%d,%.4f,%d,%d,%.4f,%d\n",
				strings.ReplaceAll(shape.name, ",", ";"), name, simulations,
				c.word, rate(c.word), lowerBound(c.word, simulations), upperBound(c.word, simulations),
				c.holm, rate(c.holm), lowerBound(c.holm, simulations), upperBound(c.holm, simulations),
				c.unadjusted, rate(c.unadjusted), c.misses, intervals, float64(c.misses)/float64(intervals), c.same)
		}
	}
	// Without Holm's adjustment a family has about 13 % false alarms, except
	// where ties keep p large. A simulation that cannot see false alarms would
	// not see these either.
	if unadjustedIsSeen < (len(noises)-1)*len(metrics) {
		t.Errorf("only in %d families the missing adjustment is seen", unadjustedIsSeen)
	}
	published(t, "false-alarms.csv", table.String())
}

// TestPower measures what experiments find if one arm of three differs by the true ratio.
// If that is the margin, better, worse and same are all wrong; each has the 2.5 % of one
// end of an interval.
func TestPower(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("family,noise,margin,rounds,true_ratio,experiments,right_way,wrong_way,same,not_shown,right_rate,same_rate,holm_rate\n")
	shape := noises[0]
	for k, m := range metrics {
		differences := []float64{0, 0.01, 0.02, 0.03, 0.05, 0.08, 0.10, 0.15, 0.20}
		if m.noise > 0.1 {
			differences = []float64{0, 0.05, 0.10, 0.25, 0.50, 1, 2, 3, 5}
		}
		for _, n := range []int{7, 10, 16} {
			last := -1
			for i, difference := range differences {
				ratio := 1 + difference
				words := map[string]int{}
				significant := 0
				for s := range simulations {
					random := rand.New(rand.NewPCG(uint64(1000+100*k+i), uint64(1000*s+n)))
					d := decide(m, blocks(random, m, shape, n, []float64{ratio, 1, 1}))
					words[d.words[0]]++
					if d.adjusted[0] <= 0.05 {
						significant++
					}
				}
				right, wrong := words[finding.Worse], words[finding.Better]
				if !m.lower {
					right, wrong = wrong, right
				}
				const few = simulations/40 + 28 // four standard deviations
				if same := words[finding.Same]; difference >= m.margin && same > few {
					t.Errorf("%s, %d rounds, ratio %v: same in %d", m.name, n, ratio, same)
				}
				if difference <= m.margin && max(right, wrong) > few {
					t.Errorf("%s, %d rounds, ratio %v: %d worse or better", m.name, n, ratio, max(right, wrong))
				}
				if difference > m.margin && right < last-simulations/50 {
					t.Errorf("%s, %d rounds: a ratio of %v is seen less often than a smaller one", m.name, n, ratio)
				}
				last = right
				fmt.Fprintf(&table, "%s,%g,%g,%d,%g,%d,%d,%d,%d,%d,%.3f,%.3f,%.3f\n", m.name, m.noise, m.margin, n, ratio, simulations,
					right, wrong, words[finding.Same], words[finding.NotShown],
					float64(right)/simulations, float64(words[finding.Same])/simulations, float64(significant)/simulations)
			}
		}
	}
	published(t, "power.csv", table.String())
}

// TestNeedNIsEnough: with NeedN rounds the words come as often as NeedN says.
func TestNeedNIsEnough(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("family,margin,power,need_n,found_at_margin,better_or_worse_at_margin_squared,same_at_1\n")
	for k, m := range metrics {
		if m.noise > 0.1 {
			m.margin = 0.50 // at 10 % these would be some 300 rounds
		}
		for _, power := range []float64{0.8, 0.9} {
			n := NeedN(m.noise*math.Sqrt2, m.margin, power, 0.05)
			found, far, same := 0, 0, 0
			for s := range simulations {
				random := rand.New(rand.NewPCG(uint64(2000+k), uint64(s)))
				for i, ratio := range []float64{1 + m.margin, (1 + m.margin) * (1 + m.margin), 1} {
					d := decide(m, blocks(random, m, noises[0], n, []float64{ratio}))
					switch {
					case i == 0 && d.adjusted[0] <= 0.05:
						found++
					case i == 1 && d.words[0] != finding.NotShown && d.words[0] != finding.Same:
						far++
					case i == 2 && d.words[0] == finding.Same:
						same++
					}
				}
			}
			share := func(hits int) float64 { return float64(hits) / simulations }
			fmt.Fprintf(&table, "%s,%g,%g,%d,%.3f,%.3f,%.3f\n", m.name, m.margin, power, n, share(found), share(far), share(same))
			for what, off := range map[string]float64{
				"found": share(found) - power, "better or worse": share(far) - power, "same": share(same) - (2*power - 1),
			} {
				if math.Abs(off) > 0.05 {
					t.Errorf("%s, power %v, %d rounds: %s off by %.3f", m.name, power, n, what, off)
				}
			}
		}
	}
	published(t, "need-n.csv", table.String())
}

// TestCoverage: intervals contain the truth as often as they claim.
func TestCoverage(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("interval,noise,n,confidence,experiments,hits,coverage\n")
	for k, shape := range noises[:3] {
		centre := 0.0 // of both: median of the differences of two equal runs
		for _, n := range []int{6, 7, 10, 20} {
			var hodges, median int
			var says, medianSays float64
			for s := range simulations {
				random := rand.New(rand.NewPCG(uint64(3000+k), uint64(100*s+n)))
				d := make([]float64, n)
				for i := range d {
					d[i] = shape.draw(random) - shape.draw(random)
				}
				iv, ok := HodgesLehmannInterval(d, 0.95)
				if !ok {
					t.Fatal(n)
				}
				says = iv.Confidence
				if iv.Low <= centre && centre <= iv.High {
					hodges++
				}
				iv, _ = MedianInterval(d, 0.95)
				medianSays = iv.Confidence
				if iv.Low <= centre && centre <= iv.High {
					median++
				}
			}
			for _, c := range []struct {
				name string
				hits int
				says float64
			}{{"Hodges-Lehmann", hodges, says}, {"median", median, medianSays}} {
				fmt.Fprintf(&table, "%s,%s,%d,%.4f,%d,%d,%.4f\n", c.name, shape.name, n, c.says, simulations, c.hits, float64(c.hits)/simulations)
				// Exact: the claimed confidence lies within the bounds of the
				// observed one, which are wider here because there are 24 of them.
				sd := math.Sqrt(c.says * (1 - c.says) / simulations)
				if off := float64(c.hits)/simulations - c.says; math.Abs(off) > 3.5*sd {
					t.Errorf("%s of %d with %s noise: %d of %d, says %v", c.name, n, shape.name, c.hits, simulations, c.says)
				}
			}
		}
	}
	published(t, "coverage.csv", table.String())
}

// TestBootstrapCoverage: pooled quantiles of log-normal latencies with differences
// between runs. The true value is that of a log-normal with both variances. Above the
// 0.999 quantile there are hardly more measurements than the minimum, 10 to 20, and the
// intervals contain it less often: a limit of the method, which is published instead of
// hidden by an easier case.
func TestBootstrapCoverage(t *testing.T) {
	t.Parallel()
	const tries, requests, resamples = 300, 2000, 2000
	var table strings.Builder
	table.WriteString("runs,requests_each,quantile,confidence,experiments,hits,coverage,median_width_ratio\n")
	for _, runs := range []int{5, 7, 10} {
		for _, q := range []float64{0.99, 0.999} {
			truth := math.Exp(math.Sqrt(1+betweenRuns*betweenRuns) * normalQuantile(q))
			hits := 0
			var widths []float64
			for s := range tries {
				random := rand.New(rand.NewPCG(4000+uint64(runs), uint64(s)))
				_, iv, ok := ClusterBootstrap(latencies(random, runs, requests), q, 0.95, resamples, uint64(s))
				if !ok {
					t.Fatalf("%d runs: no interval", runs)
				}
				if iv.Low <= truth*1.02 && truth/1.02 <= iv.High { // a class is 2 % wide
					hits++
				}
				widths = append(widths, iv.High/iv.Low)
			}
			fmt.Fprintf(&table, "%d,%d,%g,0.95,%d,%d,%.3f,%.2f\n", runs, requests, q, tries, hits, float64(hits)/tries, Median(widths))
			least := 0.90
			if q > 0.99 {
				least = 0.85
			}
			if upper := upperBound(hits, tries); upper < least {
				t.Errorf("%d runs, quantile %v: only %d of %d intervals hold the true value", runs, q, hits, tries)
			}
		}
	}
	published(t, "bootstrap.csv", table.String())
}
