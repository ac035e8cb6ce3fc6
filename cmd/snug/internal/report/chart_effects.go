// SPDX-License-Identifier: Apache-2.0

package report

import (
	"html/template"

	"github.com/snug-go/snug/cmd/snug/internal/finding"
)

// mainEffects draws what each value of a knob does to the objective, one small
// drawing for each knob, all with the same vertical scale.
func mainEffects(d *finding.Tune) *figure {
	var knobs []string
	levels := map[string][]finding.Effect{}
	ratios := []float64{1}
	for _, e := range d.Effects {
		if odd(e.Ratio) || e.Ratio <= 0 {
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
	f := &figure{Title: "What each knob does", Caption: "Effect of each value on " + objective(d.Objective) +
		", averaged over the other knobs, against the knob's mean; " + better + "."}
	for _, k := range knobs {
		f.Charts = append(f.Charts, effectChart(Clean(k), levels[k], ratios))
	}
	return f
}

func effectChart(knob string, levels []finding.Effect, all []float64) template.HTML {
	const h, top, left, bottom, right = 190, 30, 58, 30, narrow - 12
	desc := ""
	for _, e := range levels {
		desc += unset(e.Value) + ": " + change(e.Ratio) + ". "
	}
	d := drawing("effect", narrow, h, "Effect of "+knob, desc)
	d.text("name", "start", 4, 16, knob)
	y, ticks := linear(all, 4, h-bottom, top)
	for _, t := range ticks {
		d.line("grid", left, y.at(t), right, y.at(t))
		d.text("tick", "end", left-6, y.at(t)+4, change(roundTo(t, 6)))
	}
	d.line("base", left, y.at(1), right, y.at(1))
	points := make([][2]float64, len(levels))
	step := float64(right-left) / float64(len(levels))
	for i, e := range levels {
		points[i] = [2]float64{left + step*(float64(i)+.5), y.at(e.Ratio)}
	}
	d.path("effects", points)
	for i, e := range levels {
		d.mark(0, points[i][0], points[i][1], 4.5)
		d.text("tick", "middle", points[i][0], h-bottom+18, short(unset(e.Value), max(int(step/7), 4)))
	}
	return d.done()
}
