// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"math"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

func labels(a axis) string {
	var all []string
	for _, t := range a.ticks {
		all = append(all, t.label)
	}
	return strings.Join(all, "|")
}

func TestAxes(t *testing.T) {
	a := linear([]float64{1573, 1630, 1429}, 4, nil).between(0, 100)
	if n := len(a.ticks); a.low >= 1429 || a.high <= 1630 || n < 2 || n > 8 || a.ticks[0].at < a.low || a.ticks[n-1].at > a.high {
		t.Errorf("linear %+v", a)
	}
	if got := a.at(a.low); got != 0 {
		t.Errorf("the minimum is at %v", got)
	}
	if got := a.at(1e9); got != 100 {
		t.Errorf("a value beyond the axis is at %v", got)
	}
	if a := linear([]float64{0, .98}, 4, nil); a.low != 0 {
		t.Errorf("a share begins at %v", a.low)
	}
	a = logarithmic([]float64{.001, .3}, units.Duration)
	if got := labels(a); got != "1 ms|2 ms|5 ms|10 ms|20 ms|50 ms|100 ms|200 ms" {
		t.Errorf("logarithmic %s", got)
	}
	if got := labels(a.between(0, 100)); got != "1 ms|20 ms" {
		t.Errorf("in little room %s", got)
	}
	for _, c := range []struct {
		a    axis
		want string
	}{
		{fromZero(.16, 4, units.Times), "0|50 ms|100 ms|150 ms"}, {fromZero(1, 2, percent), "0|50 %|100 %"}, {fromZero(0, 3, nil), "0"},
		{linear([]float64{9 << 20, 104 << 20}, 5, units.Sizes), "50 MiB|100 MiB"}, {ratios([]float64{.95, 1.04}), "\u22125.0 %|0 %|+5.0 %"},
		{ratios([]float64{8}), "x1|x2|x5"},
	} {
		if got := labels(c.a); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// TestNumberedApart: discs with numbers do not cover each other.
func TestNumberedApart(t *testing.T) {
	var discs [][2]float64
	for range 6 {
		at := apartFrom(discs, [2]float64{50, 50}, [4]float64{0, 0, 100, 100})
		for _, o := range discs {
			if math.Hypot(o[0]-at[0], o[1]-at[1]) < 20 {
				t.Errorf("%v covers %v", at, o)
			}
		}
		discs = append(discs, at)
	}
}

// TestTailEndsWhereSamplesDo: no line extends to a percentile with fewer than ten
// samples above it.
func TestTailEndsWhereSamplesDo(t *testing.T) {
	h := &finding.Histogram{}
	for i := range 1000 {
		h.Seconds, h.Counts = append(h.Seconds, .001*float64(i+1)), append(h.Counts, 1)
	}
	l := tail(nil, "", 0, h)[0]
	end := len(l.x) - 1
	first, last := [2]float64{l.x[0], l.y[0]}, [2]float64{l.x[end], l.y[end]}
	if first[0] != rarity(.5) || math.Abs(first[1]-.5) > .002 {
		t.Errorf("begins at %v", first)
	}
	if math.Abs(last[0]-rarity(.99)) > 1e-9 || math.Abs(last[1]-.99) > .002 {
		t.Errorf("ends at %v, want 99 %% at 0.99 s", last)
	}
	for name, h := range map[string]*finding.Histogram{
		"none": nil, "empty": {}, "few": {Seconds: []float64{1, 2}, Counts: []int64{3, 4}}, "uneven": {Seconds: []float64{1}, Counts: []int64{3, 4}},
	} {
		if p := tail(nil, "", 0, h); p != nil {
			t.Errorf("%s: %v", name, p)
		}
	}
}

// TestStrips: a block for each gap, and the law beside what was measured.
func TestStrips(t *testing.T) {
	cells := []finding.Cell{{Labels: []string{"default"}, Stall: &finding.Stall{Period: .1, Law: .05, Median: new(.048), Span: 1, Gaps: [][2]float64{{.04, .05}, {.14, .05}, {math.NaN(), 1}, {5, 1}}}}, {}}
	f := Strips(cells)
	if f == nil || len(f.Charts) != 2 {
		t.Fatalf("%+v", f)
	}
	for text, times := range map[string]int{"law 50 ms, measured 48 ms<": 1, `<path class="held"`: 1, "M102.3 ": 1, ">800 ms<": 1} {
		if got := strings.Count(string(f.Charts[0]), text); got != times {
			t.Errorf("%d times %s, want %d: %s", got, text, times, f.Charts[0])
		}
	}
	cells[0].Stall.Period = math.NaN()
	if f := Strips(cells); f != nil {
		t.Errorf("without a period: %+v", f)
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

func TestFit(t *testing.T) {
	for width, want := range map[float64]string{1000: "POLICY=snug SNUG_AT_LIMIT=oom", 150: "POLICY=...MIT=oom", 0: "P...m"} {
		if got := fit("POLICY=snug SNUG_AT_LIMIT=oom", width); got != want {
			t.Errorf("in %v: %s, want %s", width, got, want)
		}
	}
}
