// SPDX-License-Identifier: Apache-2.0

package cpuprof

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

// TestDiffer compares with the intervals that Newcombe published (Statistics in Medicine 17, 1998,
// table II, method 10).
func TestDiffer(t *testing.T) {
	z := deviations(1)
	for _, c := range []struct{ k, n, l, m, low, high float64 }{
		{56, 70, 48, 80, 0.0524, 0.3339},
		{9, 10, 3, 10, 0.1705, 0.8090},
		{5, 56, 0, 29, -0.0381, 0.1926},
		{0, 10, 0, 20, -0.1611, 0.2775},
		{10, 10, 0, 20, 0.6791, 1},
	} {
		low, high := differ(counted{c.l, c.m, 1}, counted{c.k, c.n, 1}, z)
		if math.Abs(low-c.low) > 5e-5 || math.Abs(high-c.high) > 5e-5 {
			t.Errorf("%v of %v less %v of %v: %.4f to %.4f, want %v to %v", c.k, c.n, c.l, c.m, low, high, c.low, c.high)
		}
		if l, h := differ(counted{c.l, c.m, 3}, counted{c.k, c.n, 3}, z); math.Abs(l-3*low)+math.Abs(h-3*high) > 1e-9 {
			t.Errorf("three times as much: %v to %v", l, h)
		}
	}
	if z := deviations(1); math.Abs(z-1.95996) > 1e-5 {
		t.Errorf("one interval: %v", z)
	}
	if z := deviations(20); math.Abs(z-3.02334) > 1e-5 { // the 0.99875 quantile
		t.Errorf("20 intervals: %v", z)
	}
}

// TestDifferCovers: intervals of amounts of different profiles contain the true difference as often
// as they claim.
func TestDifferCovers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	draw := func(n int, p float64) (k float64) {
		for range n {
			if random.Float64() < p {
				k++
			}
		}
		return k
	}
	for _, c := range []struct {
		n, m       int
		p, q, a, b float64
	}{{100, 400, 0.3, 0.1, 1, 1}, {500, 200, 0.02, 0.05, 0.5, 1.9}, {1000, 1000, 0.004, 0.004, 2, 2}, {60, 60, 0.5, 0.9, 1, 0.3}} {
		const trials = 2000
		held := 0
		for range trials {
			low, high := differ(counted{draw(c.n, c.p), float64(c.n), c.a}, counted{draw(c.m, c.q), float64(c.m), c.b}, deviations(1))
			if d := c.b*c.q - c.a*c.p; low <= d && d <= high {
				held++
			}
		}
		if share := float64(held) / trials; share < 0.935 {
			t.Errorf("%+v: %v", c, share)
		}
	}
}

// TestSameProgramTwice: samples are independent enough. Of spans of one program, compared in pairs,
// hardly any pair has a class with a difference that would be shown.
func TestSameProgramTwice(t *testing.T) {
	f, err := os.Open("../../../../../experiments/2026-11-21-profile/overhead.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	type span struct {
		Load, Arm string
		Samples   float64
		CPU       float64 `json:"sampled_seconds"`
		Seconds   float64
		Classes   map[Class]float64
	}
	like := map[[2]string][]span{}
	for d := json.NewDecoder(z); ; {
		var s span
		if err := d.Decode(&s); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if s.Samples > 0 {
			key := [2]string{s.Load, s.Arm}
			like[key] = append(like[key], s)
		}
	}
	pairs, alarms := 0, map[bool]int{}
	for _, spans := range like {
		for i, a := range spans {
			for _, b := range spans[:i] {
				pairs++
				for _, byShare := range []bool{true, false} {
					wholeA, wholeB := 1., 1.
					if !byShare {
						wholeA, wholeB = a.CPU/a.Seconds, b.CPU/b.Seconds
					}
					present := 0
					for _, c := range Classes() {
						if a.Classes[c] > 0 || b.Classes[c] > 0 {
							present++
						}
					}
					for _, c := range Classes() {
						low, high := differ(counted{a.Classes[c] * a.Samples, a.Samples, wholeA}, counted{b.Classes[c] * b.Samples, b.Samples, wholeB}, deviations(present))
						if low > 0 || high < 0 {
							alarms[byShare]++
							break
						}
					}
				}
			}
		}
	}
	t.Logf("of %d pairs %d differ by shares, and %d by CPU time per second", pairs, alarms[true], alarms[false])
	for byShare, n := range alarms {
		if float64(n) > (1-Confidence)*float64(pairs) {
			t.Errorf("of %d pairs %d differ; by shares: %v", pairs, n, byShare)
		}
	}
	if pairs != 1520 {
		t.Errorf("%d pairs", pairs)
	}
}
