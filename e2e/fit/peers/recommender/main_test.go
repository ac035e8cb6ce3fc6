// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

const mib = 1 << 20

// used returns samples once a second of a container that uses cpu(i) cores in the second before sample i, and memory(i) MiB of
// working set at it.
func used(n int, cpu, memory func(i int) float64) []sample {
	s, spent := make([]sample, n), 0.0
	for i := range s {
		if i > 0 {
			spent += cpu(i)
		}
		s[i] = sample{float64(i), 9000 * mib, memory(i) * mib, spent}
	}
	return s
}

func always(v float64) func(int) float64 { return func(int) float64 { return v } }

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9*math.Max(1, math.Abs(b)) }

// TestKRR: the quantile interpolates as that of Prometheus, and both figures have their rounding and their minimum.
func TestKRR(t *testing.T) {
	rising := func(i int) float64 { return float64(i) / 100 } // 0.01 to 1 core
	for name, c := range map[string]struct {
		s           []sample
		cpu, memory float64
	}{
		"rising":         {used(101, rising, rising), 0.951, 100}, // 0.95 and a twentieth of the way to 0.96, rounded up
		"constant":       {used(10, always(0.5), always(200)), 0.5, 230},
		"rounded up":     {used(10, always(0.2501), always(101)), 0.251, 117},
		"least":          {used(10, always(0.001), always(3)), 0.01, 100},
		"one difference": {used(2, always(0.5), always(200)), 0.5, 230},
		"the largest":    {used(10, always(0.5), func(i int) float64 { return 200 + float64(100*(i/9)) }), 0.5, 345},
		"not the first":  {used(10, always(0.5), func(i int) float64 { return 200 + float64(100*((9-i)/9)) }), 0.5, 230},
	} {
		if r := krr(c.s); !near(*r.CPU, c.cpu) || !near(*r.Memory, c.memory*mib) {
			t.Errorf("%s: %v cores and %v MiB, want %v and %v", name, *r.CPU, *r.Memory/mib, c.cpu, c.memory)
		}
	}
}

// TestVPA: VPA gets the mean CPU between samples and the working set. Its answer for constant use is that and 15 %, in
// buckets 5 % wide, and not less than its least, which is for a whole pod.
func TestVPA(t *testing.T) {
	s := used(600, always(0.5), always(300))
	s[300][0] += 0.5 // between the others
	s[300][3] += 0.25
	for _, c := range cores(s) {
		if !near(c, 0.5) {
			t.Fatalf("%v cores", c)
		}
	}
	short, long := vpa(s, 0), vpa(s, 8*24*time.Hour)
	for name, b := range map[string]bounds{"short": short, "8 days": long} {
		for what, v := range map[string][3]float64{
			"CPU":    {*b.Target.CPU, 0.5, *b.Bare.CPU},
			"memory": {*b.Target.Memory, 300 * mib, *b.Bare.Memory},
		} {
			if ratio := v[0] / v[1]; ratio < 1.15 || ratio > 1.15*1.07 || v[0] != v[2] {
				t.Errorf("%s: %s %v for %v, without a minimum %v", name, what, v[0], v[1], v[2])
			}
		}
		if *b.Lower.CPU > *b.Target.CPU || *b.Upper.CPU < *b.Target.CPU || *b.Lower.Memory > *b.Target.Memory || *b.Upper.Memory < *b.Target.Memory {
			t.Errorf("%s: %v, %v, %v", name, b.Lower, b.Target, b.Upper)
		}
	}
	if *long.Upper.Memory >= *short.Upper.Memory || *long.Lower.Memory <= *short.Lower.Memory {
		t.Errorf("8 days are no more certain: %v to %v MiB, short %v to %v", *long.Lower.Memory/mib, *long.Upper.Memory/mib, *short.Lower.Memory/mib, *short.Upper.Memory/mib)
	}
	if b := vpa(used(600, always(0.001), always(3)), 0); !near(*b.Target.CPU, 0.025) || !near(*b.Target.Memory, 250*mib) || *b.Bare.CPU >= 0.025 || *b.Bare.Memory >= 250*mib {
		t.Errorf("%v, %v MiB; without a minimum %v, %v MiB", *b.Target.CPU, *b.Target.Memory/mib, *b.Bare.CPU, *b.Bare.Memory/mib)
	}
}

// TestRun: a line for each record that has two samples; one whose time stands still is refused.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(strings.NewReader(`{"program":"a","cell":"x","samples":[[0,1,1048576,0]]}
{"program":"b","cell":"x","samples":[[1,1,1048576,0],[3,1,1048576,1]]}`), &out); err != nil {
		t.Fatal(err)
	}
	var a advice
	if err := json.Unmarshal(out.Bytes(), &a); err != nil || string(a.Program) != `"b"` || a.Seconds != 2 || a.Samples != 2 || *a.KRR.CPU != 0.5 {
		t.Errorf("%v, %s", err, out.Bytes())
	}
	err := run(strings.NewReader("{}\n"+`{"samples":[[1,1,1,0],[1,1,1,1]]}`), &out)
	if err == nil || err.Error() != "line 2: samples[1]: no later than the one before" {
		t.Error(err)
	}
}
