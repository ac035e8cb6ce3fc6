// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

var record = flag.Bool("record", false, "write the tables to experiments/2026-11-21-false-alarms")

// published compares a table with the published one, or writes it with -record.
func published(t *testing.T, name, table string) {
	t.Helper()
	t.Logf("%s\n%s", name, table)
	path := filepath.Join("..", "..", "..", "..", "..", "experiments", "2026-11-21-false-alarms", name)
	if *record {
		if err := os.WriteFile(path, []byte(table), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		t.Logf("not compared: %s is not beside this module", path)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	// Other processors fuse multiplications and additions, which may change a
	// simulated comparison.
	if runtime.GOARCH == "amd64" && string(want) != table {
		t.Errorf("%s is not what the code gives; run with -record and look at the difference", path)
	}
}

// metric is a compared metric with its measured noise: the standard deviation of its
// logarithm between runs of 4 seconds.
type metric struct {
	name   string
	noise  float64
	margin float64
	lower  bool // is better
}

var metrics = []metric{
	{"cpu_seconds_per_op", 0.03, 0.02, true},
	{"rps", 0.026, 0.03, false},
	{"p99_seconds", 0.40, 0.10, true},
}

// noise is the shape of one run's noise; its size is about 1.
type noise struct {
	name string
	draw func(*rand.Rand) float64
}

var noises = []noise{
	{"normal", (*rand.Rand).NormFloat64},
	// Student's t with 2 degrees of freedom: no variance.
	{"heavy tails", func(r *rand.Rand) float64 { return r.NormFloat64() / math.Sqrt(r.ExpFloat64()) }},
	{"skewed", func(r *rand.Rand) float64 { return r.ExpFloat64() - 1 }},
	{"one run in ten disturbed", func(r *rand.Rand) float64 {
		v := r.NormFloat64()
		if r.IntN(10) == 0 {
			v += 10
		}
		return v
	}},
	{"coarse clock, many ties", func(r *rand.Rand) float64 { return math.Round(r.NormFloat64()) }},
}

// blocks returns rounds of a metric: first the baseline's values, then those of the arms
// with these true ratios to it. The noise of a round affects all of its runs and is twice
// the noise of a run.
func blocks(random *rand.Rand, m metric, shape noise, rounds int, ratios []float64) [][]float64 {
	values := make([][]float64, 1+len(ratios))
	for range rounds {
		common := 2 * m.noise * random.NormFloat64()
		for i := range values {
			v := common + m.noise*shape.draw(random)
			if i > 0 {
				v += math.Log(ratios[i-1])
			}
			values[i] = append(values[i], math.Exp(v))
		}
	}
	return values
}

// decided is a family: all arms of one metric against the baseline.
type decided struct {
	pairs    []Paired
	adjusted []float64
	words    []string
}

// decide makes the whole decision as experiments do.
func decide(m metric, values [][]float64) decided {
	var d decided
	var p []float64
	for _, arm := range values[1:] {
		pair := ComparePaired(values[0], arm, 0.95)
		d.pairs, p = append(d.pairs, pair), append(p, pair.P)
	}
	d.adjusted = Holm(p)
	for i, pair := range d.pairs {
		d.words = append(d.words, Judge(pair, d.adjusted[i], m.margin, m.lower))
	}
	return d
}

// lowerBound returns the one-sided 95 % lower confidence bound of a probability with this
// many hits of n (C. J. Clopper and E. S. Pearson, Biometrika 26 (1934)): the probability
// with which hits or more occur in 5 of 100 cases.
func lowerBound(hits, n int) float64 {
	if hits == 0 {
		return 0
	}
	low, high := 0.0, float64(hits)/float64(n)
	for range 60 {
		if mid := (low + high) / 2; atLeast(hits, n, mid) < 0.05 {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// upperBound returns the other bound.
func upperBound(hits, n int) float64 { return 1 - lowerBound(n-hits, n) }

// atLeast returns the probability of k or more in n throws of a coin with probability p.
func atLeast(k, n int, p float64) float64 {
	all, _ := math.Lgamma(float64(n + 1))
	tail := 0.0
	for i := k; i <= n; i++ {
		a, _ := math.Lgamma(float64(i + 1))
		b, _ := math.Lgamma(float64(n - i + 1))
		tail += math.Exp(all - a - b + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return tail
}

func TestClopperPearson(t *testing.T) {
	for _, c := range []struct {
		hits, n     int
		lower, want float64
	}{
		{0, 100, 0, 1 - math.Pow(0.05, 0.01)}, // the rule of three
		{5, 100, 0.0199, 0.1023},              // binom.test(5, 100), one side at a time
		{100, 100, math.Pow(0.05, 0.01), 1},
	} {
		if low, high := lowerBound(c.hits, c.n), upperBound(c.hits, c.n); !near(low, c.lower, 1e-4) || !near(high, c.want, 1e-4) {
			t.Errorf("%d of %d: %v to %v, want %v to %v", c.hits, c.n, low, high, c.lower, c.want)
		}
	}
}
