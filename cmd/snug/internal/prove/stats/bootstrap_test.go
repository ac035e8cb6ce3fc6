// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// raw returns a cluster of measurements.
func raw(x ...float64) Cluster {
	slices.Sort(x)
	var c Cluster
	for i, v := range x {
		if i > 0 && v == x[i-1] {
			c.Counts[len(c.Counts)-1]++
			continue
		}
		c.Values = append(c.Values, v)
		c.Counts = append(c.Counts, 1)
	}
	return c
}

// TestPooledQuantile: counting classes gives the same as sorting all measurements.
func TestPooledQuantile(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	for range 50 {
		var runs []Cluster
		var all [][]float64
		for range 1 + random.IntN(5) {
			x := make([]float64, 1+random.IntN(40))
			for i := range x {
				x[i] = float64(random.IntN(30))
			}
			runs, all = append(runs, raw(slices.Clone(x)...)), append(all, x)
		}
		p := pool(runs)
		times := make([]int64, len(runs))
		var many []float64
		for len(many) == 0 {
			for i := range times {
				times[i] = int64(random.IntN(3))
				for range times[i] {
					many = append(many, all[i]...)
				}
			}
		}
		slices.Sort(many)
		for _, q := range []float64{0.01, 0.25, 0.5, 0.9, 0.999} {
			if got, want := p.quantile(times, q), Quantile(many, q); got != want {
				t.Fatalf("quantile %v of %v: %v, want %v", q, many, got, want)
			}
		}
	}
}

func TestClusterBootstrap(t *testing.T) {
	runs := latencies(rand.New(rand.NewPCG(6, 6)), 7, 2000)
	estimate, iv, ok := ClusterBootstrap(runs, 0.999, 0.95, 2000, 1)
	if !ok || !(iv.Low < estimate && estimate < iv.High) || iv.Confidence != 0.95 {
		t.Errorf("%v %v %v", estimate, iv, ok)
	}
	if _, again, _ := ClusterBootstrap(runs, 0.999, 0.95, 2000, 1); again != iv {
		t.Errorf("the same seed gives %v and %v", iv, again)
	}
	if _, other, _ := ClusterBootstrap(runs, 0.999, 0.95, 2000, 2); other == iv {
		t.Error("the seed is not used")
	}
	// Identical runs give an interval of one point.
	alike := slices.Repeat(runs[:1], 7)
	if estimate, iv, ok := ClusterBootstrap(alike, 0.99, 0.95, 2000, 1); !ok || iv.Low != estimate || iv.High != estimate {
		t.Errorf("equal runs: %v %v %v", estimate, iv, ok)
	}
	// Empty classes and runs change nothing.
	padded := slices.Clone(runs)
	padded[0] = Cluster{append([]float64{-1}, runs[0].Values...), append([]int64{0}, runs[0].Counts...)}
	padded = append(padded, Cluster{}, Cluster{[]float64{1}, []int64{0}})
	if e, i, ok := ClusterBootstrap(padded, 0.999, 0.95, 2000, 1); !ok || e != estimate || i != iv {
		t.Errorf("padded: %v %v %v", e, i, ok)
	}
}

func TestClusterBootstrapWithoutEnough(t *testing.T) {
	runs := latencies(rand.New(rand.NewPCG(7, 7)), 5, 2000) // 10 of 10,000 above P99.9
	for _, c := range []struct {
		name          string
		runs          []Cluster
		q, confidence float64
		resamples     int
		ok            bool
	}{
		{"ten above", runs, 0.999, 0.95, 2000, true},
		{"one above", runs, 0.9999, 0.95, 2000, false},
		{"nine above", append(slices.Clone(runs[:4]), one(runs[4])), 0.999, 0.95, 2000, false},
		{"four runs", runs[:4], 0.9, 0.95, 2000, false},
		{"five runs", runs, 0.9, 0.95, 2000, true},
		{"too few resamples", runs, 0.9, 0.95, 20, false},
		{"certainty", runs, 0.9, 1, 2000, false},
	} {
		estimate, iv, ok := ClusterBootstrap(c.runs, c.q, c.confidence, c.resamples, 1)
		if ok != c.ok || !ok && iv != (Interval{}) || math.IsNaN(estimate) {
			t.Errorf("%s: %v %v %v", c.name, estimate, iv, ok)
		}
	}
	for name, runs := range map[string][]Cluster{"no runs": nil, "empty runs": make([]Cluster, 7)} {
		if estimate, _, ok := ClusterBootstrap(runs, 0.9, 0.95, 2000, 1); ok || !math.IsNaN(estimate) {
			t.Errorf("%s: %v %v", name, estimate, ok)
		}
	}
	if estimate, _, ok := ClusterBootstrap(runs, nan, 0.95, 2000, 1); ok || !math.IsNaN(estimate) {
		t.Errorf("no quantile: %v %v", estimate, ok)
	}
}

// one removes one measurement.
func one(c Cluster) Cluster {
	counts := slices.Clone(c.Counts)
	i := slices.IndexFunc(counts, func(n int64) bool { return n > 0 })
	counts[i]--
	return Cluster{c.Values, counts}
}

// TestStudent compares with the quantiles of published tables.
func TestStudent(t *testing.T) {
	for _, c := range []struct {
		freedom    int
		confidence float64
		want       float64
	}{
		{1, 0.95, 12.706}, {2, 0.95, 4.303}, {3, 0.95, 3.182}, {6, 0.95, 2.447}, {9, 0.95, 2.262},
		{30, 0.95, 2.042}, {6, 0.99, 3.707}, {9, 0.90, 1.833}, {100000, 0.95, 1.960},
	} {
		if got := studentQuantile(c.confidence, c.freedom); !near(got, c.want, 0.001) {
			t.Errorf("%d degrees of freedom at %v: %v, want %v", c.freedom, c.confidence, got, c.want)
		}
	}
	if got := expandedTail(1e6, 0.95); !near(got, 0.025, 0.0001) {
		t.Errorf("many runs: %v", got)
	}
}

// betweenRuns is the standard deviation of the logarithm of latency between runs; within
// a run it is 1.
const betweenRuns = 0.25

// latencies returns log-normal latencies of runs, in classes 2 % wide.
func latencies(random *rand.Rand, runs, requests int) []Cluster {
	const class = 0.02
	out := make([]Cluster, runs)
	for i := range out {
		luck := betweenRuns * random.NormFloat64()
		x := make([]float64, requests)
		for j := range x {
			x[j] = math.Exp(class * math.Ceil((luck+random.NormFloat64())/class))
		}
		out[i] = raw(x...)
	}
	return out
}

// BenchmarkClusterBootstrap: 10 runs of 10,000 measurements that all differ.
func BenchmarkClusterBootstrap(b *testing.B) {
	random := rand.New(rand.NewPCG(8, 8))
	runs := make([]Cluster, 10)
	for i := range runs {
		x := make([]float64, 10000)
		for j := range x {
			x[j] = random.ExpFloat64()
		}
		runs[i] = raw(x...)
	}
	for b.Loop() {
		ClusterBootstrap(runs, 0.999, 0.95, 2000, 1)
	}
}

func BenchmarkSignedRank(b *testing.B) {
	for b.Loop() {
		SignedRank(withSum(exactLimit, exactLimit*exactLimit/4))
	}
}
