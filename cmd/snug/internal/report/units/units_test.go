// SPDX-License-Identifier: Apache-2.0

package units_test

import (
	"math"
	"slices"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

var nan, inf = math.NaN(), math.Inf(1)

// TestOne: functions of one number, at both sides of every step, at the edges of rounding, negative, zero
// and without a value.
func TestOne(t *testing.T) {
	type in map[float64]string // NaN can be a key of a literal
	for _, c := range []struct {
		name  string
		print func(float64) string
		want  in
	}{
		{"Rate", units.Rate, in{
			0: "0", 4.2: "4.20", -4.2: "-4.20", 9.994: "9.99", 9.996: "10.0", 99.95: "100", 1629.6: "1630", 99_949: "99949", 99_950: "100 k",
			-99_950: "-100 k", 891_234: "891 k", 999_499: "999 k", 999_500: "1.00 M", 999.4e6: "999 M", 999.5e6: "1.00 G", 1.5e12: "1500 G",
			9.99e14: "999000 G", 1e15: "1e+15", -1e15: "-1e+15", nan: "-", inf: "-", -inf: "-"}},
		{"Duration", units.Duration, in{
			0: "0", 3e-9: "3 ns", 0.9994e-6: "999 ns", 0.9996e-6: "1 µs", 619e-6: "619 µs", 0.9994e-3: "999 µs", 0.9996e-3: "1 ms", .05: "50 ms", .0512: "51.2 ms",
			.99949: "999 ms", .9995: "1 s", 90: "90 s", 119.9: "120 s", 120: "2 min", 240: "4 min", 7199: "120 min", 7200: "2 h", 9000: "2.5 h", -.05: "-50 ms", -240: "-4 min",
			2e-10: "0.2 ns", nan: "-", inf: "-"}},
		{"Days", units.Days, in{
			0: "0 min", 1.0 / 24: "60 min", 1.9 / 24: "114 min", 2.0 / 24: "2 h", 1: "24 h", 1.99: "48 h", 2: "2 days", 13.7: "14 days"}},
		{"Share", units.Share, in{
			0: "0 %", -.5: "-50 %", .0001: "<0.1 %", .00099: "<0.1 %", .001: "0.1 %", .00234: "0.234 %", .976: "97.6 %", 1: "100 %", 12.345: "1234 %", nan: "-", inf: "-"}},
		{"About", units.About, in{
			0: "0 %", .0001: "<0.1 %", .001: "0.1 %", .0123: "1.2 %", .0999: "10 %", .1: "10 %", .126: "13 %", 1.5: "150 %", -.02: "-2 %"}},
		{"Two", units.Two, in{0: "0", .123: "0.12", 9.94: "9.9", 9.99: "10", 10: "10", 10.4: "10", 10.5: "11", 1234: "1234"}},
		{"Change", units.Change, in{
			.965: "-3.5 %", 1.139: "+14 %", 1: "0 %", .9999: "0 %", 1.0001: "0 %", 1.0006: "+0.1 %", 2.99: "+199 %", 3: "x3.0", 12.1: "x12", 0: "-100 %", nan: "-", inf: "-"}},
		{"Points", units.Points, in{
			1.0994: "+9.9", 1.0996: "+10", .9006: "-9.9", .9005: "-10", 1.035: "+3.5", .5: "-50", 1: "0", 1.0004: "0", .9996: "0", 1.104: "+10"}},
		{"Number", units.Number, in{0: "0", 1: "1", 10: "10", 1.5: "1.5", -2.25: "-2.25", .0004: "0", .0005: "0.001", 1e6: "1000000"}},
		{"Exact", units.Exact, in{0: "0", .1: "0.1", 1e21: "1000000000000000000000", -1.25: "-1.25"}},
		{"CPUs", units.CPUs, in{0: "no quota", 1: "1 CPU", .5: "0.5 CPUs", 1.5: "1.5 CPUs", 16: "16 CPUs"}},
		{"Seconds", units.Seconds, in{
			0: "0 ms", .0125: "12.5 ms", .999: "999 ms", 1: "1 s", 1.25: "1.25 s", 60: "60 s", 3599: "3599 s", 3600: "1 h", 5400: "1.5 h"}},
		{"NarrowShare", units.NarrowShare, in{
			0: "0", .0004: "<.1", .0005: "0.1", .0123: "1.2", .0994: "9.9", .0995: "10", .5: "50", 1: "100", 15: "1500", -.5: "-50", nan: "?"}},
		{"NarrowNumber", units.NarrowNumber, in{
			0: "0", 1: "1", 1.5: "1.5", 1.25: "1.25", 10.5: "10.5", 99.99: "99.99", 100: "100", 999.94: "999.9", 99999: "99999", 99999.6: "100k", 123456: "123k", 1.5e6: "1.5M", -12.5: "-12.5", nan: "?", inf: "?"}},
		{"Bytes", func(x float64) string { return units.Bytes(int64(x)) }, in{
			0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 1<<20 - 1: "1024 KiB", 1 << 20: "1 MiB", 1 << 30: "1 GiB", 1 << 40: "1 TiB", -1536: "-1.5 KiB"}},
		{"NarrowBytes", func(x float64) string { return units.NarrowBytes(int64(x)) }, in{
			0: "0B", 1: "1B", 812: "812B", 999: "999B", 1000: "1000", 1023: "1023", 1024: "1.0K", 1536: "1.5K", 10 << 10: "10K", 1000 << 10: "1000K",
			1023 << 10: "1023K", 1 << 20: "1.0M", 3 << 29: "1.5G", 1 << 40: "1.0T", 1 << 50: "1.0P", 1 << 60: "1.0E", -1: "-1", -2048: "-2.0K"}},
		{"GoBytes", func(x float64) string { return units.GoBytes(int64(x)) }, in{
			0: "0MiB", 1: "1B", 1000: "1000B", 1 << 20: "1MiB", 1<<20 + 1: "1048577B", 124 << 20: "124MiB"}},
		{"GoMebibytes", func(x float64) string { return units.GoMebibytes(int64(x)) }, in{
			0: "0", 1 << 20: "1048576", 16<<20 - 1: "16777215", 16 << 20: "16MiB", 17<<20 - 1: "16MiB", 17 << 20: "17MiB"}},
		{"Plural", func(x float64) string { return units.Plural(x, "run") }, in{0: "0 runs", 1: "1 run", 2: "2 runs", 1.5: "1.5 runs"}},
		{"NarrowDuration", func(x float64) string { return units.NarrowDuration(x, "u") }, in{
			0: "0", -1: "0", .9e-6: "<1u", 1e-6: "1u", 999.4e-6: "999u", 999.5e-6: "1.0ms", 9.94e-3: "9.9ms", 9.95e-3: "10ms", .9994: "999ms", .9995: "1.0s",
			99.4: "99.4s", 99.5: "100s", 999.4: "999s", 999.5: "1.0ks", 2e6: "2.0Ms", nan: "?", inf: "?", -inf: "?"}},
	} {
		for x, want := range c.want {
			if got := c.print(x); got != want {
				t.Errorf("%s(%v) = %q, want %q", c.name, x, got, want)
			}
		}
	}
}

// TestMore: functions of more than one number, and of texts.
func TestMore(t *testing.T) {
	one, low, high := 1.0, .87, .91
	for _, c := range []struct{ got, want string }{
		{units.Figures(0, 3), "0"}, {units.Figures(nan, 3), "-"}, {units.Figures(-inf, 3), "-"},
		{units.Figures(1e-9, 3), "0.00000000100"}, {units.Figures(.9e-9, 3), "9e-10"}, {units.Figures(-.9e-9, 3), "-9e-10"},
		{units.Figures(1e15, 3), "1e+15"}, {units.Figures(-1e15, 3), "-1e+15"}, {units.Figures(9.99e14, 3), "999000000000000"},
		{units.Figures(99.95, 3), "100"}, {units.Figures(99.94, 3), "99.9"}, {units.Figures(1, 1), "1"}, {units.Figures(.012345, 2), "0.012"}, {units.Figures(-1.005e4, 3), "-10050"},
		{units.ChangeBetween(.965, .959, .971), "-3.5 % [-4.1, -2.9]"},
		{units.ChangeBetween(12.1, 9.8, 15), "x12 [9.8, 15]"}, {units.ChangeBetween(3, 2, 4), "x3.0 [2.0, 4.0]"}, {units.ChangeBetween(2.9, 2, 4), "+190 % [+100, +300]"},
		{units.ChangeBetween(1.2, nan, 2), "+20 %"}, {units.ChangeBetween(1.2, 1, inf), "+20 %"},
		{units.Between(.965, 1.02), "-3.5 to +2.0 %"}, {units.Between(.8, 3), "x0.80 to x3.0"}, {units.Between(.8, 2.9), "-20 to +190 %"},
		{units.ChangeSaid(.89, &low, &high), "-11 % (95 % interval -13 to -9.0 %)"}, {units.ChangeSaid(1, nil, &one), "0 %"}, {units.ChangeSaid(1, &one, nil), "0 %"},
		{units.NarrowCount(0, 4), "0"}, {units.NarrowCount(.04, 4), "0.0"}, {units.NarrowCount(9.94, 4), "9.9"}, {units.NarrowCount(9.95, 4), "10"}, {units.NarrowCount(-1.5, 4), "-2"},
		{units.NarrowCount(9999, 4), "9999"}, {units.NarrowCount(10_000, 4), "10k"}, {units.NarrowCount(999_400, 4), "999k"}, {units.NarrowCount(999_500, 4), "1.0M"}, {units.NarrowCount(nan, 2), "?"},
		{units.NarrowCount(1e15, 4), "1.0P"}, {units.NarrowCount(1e18, 4), "1.0E"}, {units.NarrowCount(2e21, 4), "2000E"}, {units.NarrowCount(-9_940, 4), "-9.9k"}, {units.NarrowCount(-9_950, 4), "-10k"},
		{units.NarrowFixed(1.234, 5), "1.23"}, {units.NarrowFixed(123.456, 5), "123.5"}, {units.NarrowFixed(12345.6, 5), "12346"}, {units.NarrowFixed(123456, 5), "123k"}, {units.NarrowFixed(7, 1), "7"}, {units.NarrowFixed(inf, 5), "?"},
		{units.Trim("50.0"), "50"}, {units.Trim("500"), "500"}, {units.Trim("1.50"), "1.5"}, {units.Trim("1.0e10"), "1.0e10"},
		{units.List(nil), ""}, {units.List([]string{"a"}), "a"}, {units.List([]string{"a", "b"}), "a and b"}, {units.ListBy([]string{"a", "b", "c"}, "or"), "a, b or c"},
		{units.Suits(1023.487, units.Sizes).Name, "B"}, {units.Suits(1023.488, units.Sizes).In(1023.488), "1.00 KiB"}, {units.Suits(512<<20, units.Sizes).In(512 << 20), "512 MiB"}, {units.Suits(1<<40, units.Sizes).In(1 << 41), "2.00 TiB"}, {units.Sizes[0].In(0), "0"}, {units.Sizes[0].In(nan), "-"},
		{units.Suits(60, units.Sizes[1:]).Name, "KiB"}, {units.Suits(1<<30, units.Sizes).Name, "GiB"}, {units.Suits(nan, units.Times).Name, "ns"},
		{units.Suits(60, []units.Unit{{One: 1, Name: "s"}, {One: 60, Name: "min"}}).Name, "min"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	if got := units.Column([]*float64{&one, nil, &high}, units.Times); !slices.Equal(got, []string{"1.00 s", "-", "910 ms"}) {
		t.Errorf("Column: %q", got)
	}
}

// TestNumbers: functions that return numbers.
func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		values    []float64
		low, high float64
		ok        bool
	}{
		{nil, inf, -inf, false},
		{[]float64{nan, inf, -inf, 1e100, -1e101}, inf, -inf, false},
		{[]float64{3}, 3, 3, true},
		{[]float64{2, nan, -1, .9e100, 1e100}, -1, .9e100, true},
	} {
		if low, high, ok := units.Span(c.values); low != c.low || high != c.high || ok != c.ok {
			t.Errorf("Span(%v) = %v, %v, %t", c.values, low, high, ok)
		}
	}
	for _, c := range []struct {
		x      float64
		digits int
		want   float64
	}{{99.95, 3, 100}, {-1234, 2, -1200}, {0, 3, 0}, {inf, 3, inf}, {1.7e308, 1, 1.7e308}} {
		if got := units.RoundTo(c.x, c.digits); got != c.want {
			t.Errorf("RoundTo(%v, %d) = %v", c.x, c.digits, got)
		}
	}
	for text, want := range map[string]int64{"1": 1, "1B": 1, "3KiB": 3 << 10, "5MiB": 5 << 20, "2GiB": 2 << 30, "1TiB": 1 << 40, "": -1, "1 B": -1, "1kB": -1, "-1": -1} {
		got, ok := units.ParseGoBytes(text)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("ParseGoBytes(%q) = %d, %t", text, got, ok)
		}
	}
}
