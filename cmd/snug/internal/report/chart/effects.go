// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"html/template"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// MainEffects draws the effect of each value of a knob on the objective, with one small
// drawing per knob, all on the same vertical scale.
func MainEffects(d *finding.Tune) *Figure {
	var knobs []string
	levels := map[string][]finding.Effect{}
	ratios := []float64{1}
	for _, e := range d.Effects {
		if units.Odd(e.Ratio) || e.Ratio <= 0 {
			continue
		}
		if levels[e.Knob] == nil {
			knobs = append(knobs, e.Knob)
		}
		levels[e.Knob] = append(levels[e.Knob], e)
		ratios = append(ratios, e.Ratio)
	}
	if len(knobs) == 0 {
		return nil
	}
	better := "less is better"
	if d.Objective == "rps" {
		better = "more is better"
	}
	f := &Figure{Title: "What each knob does", Caption: "Effect of each value on " + content.Objective(d.Objective) +
		", averaged over the other knobs, against the knob's mean; " + better +
		". They are " + content.Estimates + "; the number of runs is below each value."}
	for _, k := range knobs {
		f.Charts = append(f.Charts, effectChart(d, message.Clean(k), levels[k], ratios))
	}
	return f
}

func effectChart(t *finding.Tune, knob string, levels []finding.Effect, all []float64) template.HTML {
	const h, top, left, bottom, right = 206, 30, 58, 46, narrow - 12
	desc := ""
	for _, e := range levels {
		desc += metric.ValueText(e.Knob, e.Value) + ": " + units.Change(e.Ratio) + ". "
	}
	d := Drawing("effect", narrow, h, "Effect of "+knob, desc)
	d.text("name", "start", 4, 16, knob)
	y, ticks := linear(all, 4, h-bottom, top, nil)
	for _, t := range ticks {
		d.Line("grid", left, y.at(t), right, y.at(t))
		d.text("tick", "end", left-6, y.at(t)+4, strings.ReplaceAll(units.Change(units.RoundTo(t, 6)), "-", "\u2212"))
	}
	d.Line("base", left, y.at(1), right, y.at(1))
	points := make([][2]float64, len(levels))
	step := float64(right-left) / float64(len(levels))
	for i, e := range levels {
		points[i] = [2]float64{left + step*(float64(i)+.5), y.at(e.Ratio)}
	}
	for i, e := range levels {
		// A stem, not a line to the next value, which would suggest that values in between were measured.
		d.Line("whisker s0", points[i][0], y.at(1), points[i][0], points[i][1])
		d.mark(0, points[i][0], points[i][1], 4.5)
		d.text("tick", "middle", points[i][0], h-bottom+18, content.Short(metric.ValueText(e.Knob, e.Value), max(int(step/7), 4)))
		if n := content.RunsOf(t, &e); n > 0 {
			d.text("tick", "middle", points[i][0], h-bottom+34, "n="+strconv.Itoa(n))
		}
	}
	return d.Done()
}
