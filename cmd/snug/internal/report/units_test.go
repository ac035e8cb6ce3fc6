// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func TestUnits(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{duration(619e-6), "619 µs"},
		{duration(.05), "50 ms"},
		{duration(.0512), "51.2 ms"},
		{duration(.9999), "1 s"},
		{duration(90), "90 s"},
		{duration(240), "4 min"},
		{duration(0), "0"},
		{duration(-.05), "-50 ms"},
		{duration(math.NaN()), "-"},
		{duration(3e-9), "3 ns"},
		{rate(1629.6), "1630"},
		{rate(891234), "891 k"},
		{rate(99951), "100 k"},
		{rate(4.2), "4.20"},
		{rate(math.Inf(1)), "-"},
		{share(.976), "97.6 %"},
		{share(0), "0 %"},
		{share(.0001), "<0.1 %"},
		{share(1), "100 %"},
		{change(.965), "-3.5 %"},
		{change(1.139), "+14 %"},
		{change(1), "0 %"},
		{change(.9999), "0 %"},
		{change(12.1), "x12"},
		{change(math.NaN()), "-"},
		{changeBetween(.965, .959, .971), "-3.5 % [-4.1, -2.9]"},
		{changeBetween(12.1, 9.8, 15), "x12 [9.8, 15]"},
		{changeBetween(1.2, math.NaN(), 2), "+20 %"},
		{whole(58.4), "58 s"},
		{whole(872), "15 min"},
		{whole(8 * 3600), "8.0 h"},
		{whole(math.Inf(1)), "-"},
		{typeset("-3.5 % [-4.1, -2.9] worse"), "−3.5\u00a0% [−4.1, −2.9] worse"},
		{typeset("use --full after 2 CPUs and 50 ms, 3 rounds"), "use --full after 2\u00a0CPUs and 50\u00a0ms, 3 rounds"},
		{sentence("http; quota"), "http; quota"},
		{sentence("keep the default"), "Keep the default"},
		{sentence("./orders"), "./orders"},
		{sentence(""), ""},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestColumn(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []*float64
		want   string
	}{
		{"each its own unit", []*float64{ptr(610e-6), ptr(.0131), ptr(.0088)}, "610 µs|13.1 ms|8.80 ms"},
		{"not measured", []*float64{nil, ptr(.5)}, "-|500 ms"},
		{"nothing", []*float64{nil, nil}, "-|-"},
		{"zero", []*float64{ptr(0.), ptr(.05)}, "0|50.0 ms"},
		{"too far apart", []*float64{ptr(2e-6), ptr(.05), ptr(.06), ptr(.07), ptr(3600.)}, "2.00 µs|50.0 ms|60.0 ms|70.0 ms|60.0 min"},
		{"just below another", []*float64{ptr(.0104), ptr(1.52)}, "10.4 ms|1.52 s"},
		{"not a number", []*float64{ptr(math.NaN()), ptr(.05)}, "-|50.0 ms"},
	} {
		if got := strings.Join(durations(c.values), "|"); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestGridBreaksAtTheWidth(t *testing.T) {
	g := grid{}
	g.key("setting", []string{"default", "a very long name of a setting that goes on and on"})
	for range 12 {
		g.add("a heading", []string{"12.345 ms", "-"})
	}
	var p page
	p.grid(g)
	names := 0
	for line := range strings.Lines(p.String()) {
		if len(line) > width+1 {
			t.Errorf("%d columns: %s", len(line), line)
		}
		if strings.HasPrefix(line, "default ") {
			names++
		}
	}
	if got := strings.Count(p.String(), "12.345 ms"); got != 12 || names < 2 {
		t.Errorf("%d values in %d blocks:\n%s", got, names, p.String())
	}
}

func TestScales(t *testing.T) {
	s, ticks := linear([]float64{1573, 1630, 1429}, 4, 0, 100)
	if s.low >= 1429 || s.high <= 1630 || len(ticks) < 2 || len(ticks) > 8 || ticks[0] < s.low || ticks[len(ticks)-1] > s.high {
		t.Errorf("linear %+v %v", s, ticks)
	}
	if got := s.at(s.low); got != 0 {
		t.Errorf("the least is at %v", got)
	}
	if got := s.at(1e9); got != 100 {
		t.Errorf("what lies beyond is at %v", got)
	}
	if s, _ := linear([]float64{0, .98}, 4, 0, 1); s.low != 0 {
		t.Errorf("a share begins at %v", s.low)
	}
	s, ticks = logarithmic([]float64{.001, .3}, 100, 0)
	if !slices.Contains(ticks, .01) || !slices.Contains(ticks, .2) || s.at(.001) < s.at(.3) {
		t.Errorf("logarithmic %+v %v", s, ticks)
	}
	if got := strings.Join(tickText([]float64{.05, .1, .15}, times), "|"); got != "50 ms|100 ms|150 ms" {
		t.Errorf("ticks %s", got)
	}
	if got := spread([]float64{10, 11, 50}, 16, 0, 100); got[1]-got[0] < 16 || got[2] != 50 {
		t.Errorf("spread %v", got)
	}
	if got := spread([]float64{95, 96, 97}, 16, 0, 100); got[2] > 100 || got[1]-got[0] < 16 {
		t.Errorf("spread at the edge %v", got)
	}
}

// TestTailEndsWhereSamplesDo: no line is drawn to a percentile that fewer than
// ten samples lie above.
func TestTailEndsWhereSamplesDo(t *testing.T) {
	h := &finding.Histogram{}
	for i := range 1000 {
		h.Seconds, h.Counts = append(h.Seconds, .001*float64(i+1)), append(h.Counts, 1)
	}
	points := tail(h)
	first, last := points[0], points[len(points)-1]
	if first[0] != rarity(.5) || math.Abs(first[1]-.5) > .002 {
		t.Errorf("begins at %v", first)
	}
	if math.Abs(last[0]-rarity(.99)) > 1e-9 || math.Abs(last[1]-.99) > .002 {
		t.Errorf("ends at %v, want 99 %% at 0.99 s", last)
	}
	for name, h := range map[string]*finding.Histogram{
		"none": nil, "empty": {}, "few": {Seconds: []float64{1, 2}, Counts: []int64{3, 4}}, "uneven": {Seconds: []float64{1}, Counts: []int64{3, 4}},
	} {
		if p := tail(h); len(p) > 1 {
			t.Errorf("%s: %v", name, p)
		}
	}
}

func TestPhase(t *testing.T) {
	st := &finding.Stall{Period: .1, Law: .05, Max: ptr(.05), Gaps: [][2]float64{{.04, .05}, {.141, .05}, {.239, .05}, {.3, .004}}}
	if got := phase(st); math.Abs(got-.09) > .001 {
		t.Errorf("phase %v, want 0.09: where long gaps end", got)
	}
	if got := phase(&finding.Stall{Period: .1}); got != 0 {
		t.Errorf("phase %v without gaps", got)
	}
}
