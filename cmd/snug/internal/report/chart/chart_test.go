// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

func TestScales(t *testing.T) {
	s, ticks := linear([]float64{1573, 1630, 1429}, 4, 0, 100, nil)
	if s.low >= 1429 || s.high <= 1630 || len(ticks) < 2 || len(ticks) > 8 || ticks[0] < s.low || ticks[len(ticks)-1] > s.high {
		t.Errorf("linear %+v %v", s, ticks)
	}
	if got := s.at(s.low); got != 0 {
		t.Errorf("the minimum is at %v", got)
	}
	if got := s.at(1e9); got != 100 {
		t.Errorf("a value beyond the scale is at %v", got)
	}
	if s, _ := linear([]float64{0, .98}, 4, 0, 1, nil); s.low != 0 {
		t.Errorf("a share begins at %v", s.low)
	}
	s, ticks = logarithmic([]float64{.001, .3}, 100, 0)
	if !slices.Contains(ticks, .01) || !slices.Contains(ticks, .2) || s.at(.001) < s.at(.3) {
		t.Errorf("logarithmic %+v %v", s, ticks)
	}
	if got := strings.Join(tickText([]float64{.05, .1, .15}, unitOf(.15, units.Times)), "|"); got != "50 ms|100 ms|150 ms" {
		t.Errorf("ticks %s", got)
	}
	if got := spread([]float64{10, 11, 50}, 16, 0, 100); got[1]-got[0] < 16 || got[2] != 50 {
		t.Errorf("spread %v", got)
	}
	if got := spread([]float64{95, 96, 97}, 16, 0, 100); got[2] > 100 || got[1]-got[0] < 16 {
		t.Errorf("spread at the edge %v", got)
	}
}

// TestTailEndsWhereSamplesDo: no line extends to a percentile with fewer than ten
// samples above it.
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
	st := &finding.Stall{Period: .1, Law: .05, Max: new(.05), Gaps: [][2]float64{{.04, .05}, {.141, .05}, {.239, .05}, {.3, .004}}}
	if got := phase(st); math.Abs(got-.09) > .001 {
		t.Errorf("phase %v, want 0.09: where long gaps end", got)
	}
	if got := phase(&finding.Stall{Period: .1}); got != 0 {
		t.Errorf("phase %v without gaps", got)
	}
}

// TestDifferences: a line at no difference, a band as wide as the margin, the interval of a
// difference that is not shown, and every round that both settings have.
func TestDifferences(t *testing.T) {
	run := func(round int, rps float64, kills uint64) finding.Run {
		return finding.Run{Round: round, RPS: &rps, OOMKills: &kills}
	}
	cells := []finding.Cell{
		{Labels: []string{"default"}, Arm: finding.Arm{Load: "saturated"}, Rounds: []finding.Run{run(0, 100, 0), run(1, 100, 0), run(2, 100, 1), run(3, 100, 0)}},
		{Arm: finding.Arm{Load: "saturated", Knobs: finding.Knobs{GOMAXPROCS: "4"}}, Rounds: []finding.Run{run(0, 90, 0), run(1, 110, 0), run(2, 90, 0)}},
		{Arm: finding.Arm{Load: "saturated", Knobs: finding.Knobs{GOMAXPROCS: "8"}}, Rounds: []finding.Run{run(0, 80, 0)}},
	}
	all := []finding.Comparison{
		{Cell: 1, Metric: "rps", Ratio: .98, Low: new(.9), High: new(1.05), Word: finding.NotShown, Margin: .03},
		{Cell: 2, Metric: "rps", Ratio: .8, Low: new(.75), High: new(.85), Word: finding.Worse, Margin: .03},
		{Cell: 2, Metric: "cpu_seconds_per_op", Ratio: 8, Low: new(7.), High: new(9.), Word: finding.Worse, Margin: .02},
	}
	s := content.NewSection(cells, []int{0, 1, 2})
	f := Differences(&s, cells, all)
	if f == nil || len(f.Charts) != 2 {
		t.Fatalf("%+v", f)
	}
	rps, cpu := string(f.Charts[0]), string(f.Charts[1])
	for text, times := range map[string]int{
		"~ [\u221210 to +5.0 %]": 2, "\u221220 % [\u221225, \u221215] worse": 2, "more is better; margin 3 %": 1, `class="round"`: 3,
		`class="zero"`: 2, `class="band"`: 2, `class="point open"`: 1, `class="point worse"`: 1, ">0 %<": 1, ">\u221220 %<": 1,
	} {
		if got := strings.Count(rps, text); got != times {
			t.Errorf("%d times %s, want %d: %s", got, text, times, rps)
		}
	}
	if !strings.Contains(cpu, ">x1<") || !strings.Contains(cpu, ">x5<") {
		t.Errorf("no logarithmic scale for 8 times as much: %s", cpu)
	}
	if !strings.Contains(f.Caption, "against default,") {
		t.Error(f.Caption)
	}
	if f := Differences(&s, cells, nil); f != nil {
		t.Errorf("without comparisons: %+v", f)
	}
}

// TestTicksInRoundUnits: sizes have ticks at round numbers of their own unit.
func TestTicksInRoundUnits(t *testing.T) {
	s, ticks := linear([]float64{9 << 20, 104 << 20}, 5, 0, 100, units.Sizes)
	if got := strings.Join(tickText(ticks, s.unit), "|"); got != "50 MiB|100 MiB" {
		t.Error(got)
	}
}

func TestFit(t *testing.T) {
	for width, want := range map[float64]string{1000: "POLICY=snug SNUG_AT_LIMIT=oom", 150: "POLICY=...MIT=oom", 0: "P...m"} {
		if got := fit("POLICY=snug SNUG_AT_LIMIT=oom", width); got != want {
			t.Errorf("in %v: %s, want %s", width, got, want)
		}
	}
}
