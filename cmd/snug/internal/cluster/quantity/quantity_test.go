// SPDX-License-Identifier: Apache-2.0

package quantity_test

import (
	"math"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/quantity"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text         string
		value, milli int64
	}{
		{"0", 0, 0},
		{"1", 1, 1000},
		{"+1", 1, 1000},
		{"-1", 0, 0},
		{"1500m", 2, 1500},
		{"1.5", 2, 1500},
		{".5", 1, 500},
		{"5.", 5, 5000},
		{"100n", 1, 1},
		{"0.1n", 1, 1}, // rounded up to a billionth
		{"1u", 1, 1},
		{"512Mi", 512 << 20, 512 << 20 * 1000},
		{"1.5Gi", 3 << 29, 3 << 29 * 1000},
		{"128974848000m", 128974848, 128974848000},
		{"123e6", 123e6, 123e9},
		{"1E3", 1000, 1e6},
		{"1e-3", 1, 1},
		{"1E", 1e18, math.MaxInt64},
		{"8Ei", math.MaxInt64, math.MaxInt64},
		{"1e999999999", math.MaxInt64, math.MaxInt64},
		{"1e-999999999", 1, 1},
		{"9223372036854775808", math.MaxInt64, math.MaxInt64},
		{"k", -1, 0}, {"", -1, 0}, {"1.2.3", -1, 0}, {"1K", -1, 0}, {"1mi", -1, 0}, {"1 Gi", -1, 0}, {"1e", -1, 0}, {"1e1.5", -1, 0},
		{"512MiB", -1, 0}, {"--1", -1, 0}, {"+", -1, 0}, {"1ee3", -1, 0}, {"0x10", -1, 0}, {strings.Repeat("9", 65), -1, 0},
	} {
		q, ok := quantity.Parse(c.text)
		if ok != (c.value >= 0) {
			t.Errorf("%q: read %v", c.text, ok)
			continue
		}
		if ok && (q.Value() != c.value || q.Milli() != c.milli || q.String() != c.text) {
			t.Errorf("%q: %d, %d milli; want %d, %d", c.text, q.Value(), q.Milli(), c.value, c.milli)
		}
	}
}

// TestDivided checks values seen on a real node.
func TestDivided(t *testing.T) {
	for _, c := range []struct {
		amount, divisor string
		cpu             bool
		want            int64
	}{
		{"1500m", "1", true, 2},
		{"250m", "1", true, 1},
		{"1500m", "0", true, 2},
		{"1500m", "1m", true, 1500},
		{"128Mi", "1Mi", false, 128},
		{"128Mi", "1", false, 128 << 20},
		{"100M", "1Mi", false, 96},
		{"128Mi", "1m", false, 128 << 20},
		{"0", "1", false, 0},
	} {
		amount, ok := quantity.Parse(c.amount)
		divisor, ok2 := quantity.Parse(c.divisor)
		if got := amount.Divided(divisor, c.cpu); !ok || !ok2 || got != c.want {
			t.Errorf("%s by %s: %d, want %d", c.amount, c.divisor, got, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"1500m", "-1.5e-9", "8Ei", "1E", ".", "1e9999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, ok := quantity.Parse(text)
		if !ok && q.Sign() != 0 {
			t.Errorf("%q: refused, and not 0", text)
		}
		if q.Milli() < q.Value()-1 || q.Value() < 0 || q.Divided(q, true) < 0 {
			t.Errorf("%q: %d, %d milli", text, q.Value(), q.Milli())
		}
	})
}
