// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// best is how many candidates of a search are worth a line.
const best = 8

func (p *page) tune(d *finding.Tune) {
	d = namedTune(d)
	p.stamps(&d.Setup)
	p.wrap(answer(&d.Verdict))
	if text := costs(d); text != "" {
		p.wrap(text)
	}
	p.line("")
	if len(d.Cells) == 0 {
		p.line("nothing was measured")
		p.line("")
	}
	p.wrap(searchedFor(d))
	if g := space(d); len(d.Space) > 0 {
		p.grid(g)
	}
	for _, x := range leftOut(d.Pruned) {
		p.wrap("left out: " + x.What + ": " + x.Why)
	}
	if len(d.Stages) > 0 {
		p.line("")
		p.grid(stages(d))
	}
	if s, ok := candidates(d); ok {
		p.line("")
		p.wrap(fmt.Sprintf("the best %d of %s, by the stage they reached; their numbers chose them, so they flatter; %s",
			len(s.cells), plural(len(d.Cells), "setting"), s.title))
		p.grid(s.figures(d.Cells, nil))
	}
	if len(d.Effects) > 0 {
		p.line("")
		p.wrap("what each value does to " + objective(d.Objective) + ", averaged over the others: " + estimates)
		p.grid(effects(d))
	}
	if d.Confirm != nil {
		cells := confirmed(d.Confirm)
		s := newSection(cells, []int{0, 1})
		p.line("")
		p.wrap("confirmed on fresh rounds")
		p.grid(s.figures(cells, nil))
		if g, ok := s.differences(cells, d.Confirm.Comparisons); ok {
			p.line("")
			p.wrap(against(cells, &s, d.Confirm.Comparisons))
			p.grid(g)
		}
	}
	p.environment(d.Environment)
	p.line("")
	for _, n := range tuneNotes(d) {
		p.wrap(n)
	}
	if text := howLong(&d.Setup, d.Cells, false); text != "" {
		p.wrap(text)
	}
	p.notes(otherWarnings(d), d.Unknown)
	p.next(d.Next)
}

// searchedFor says what was looked for, where and for how long.
func searchedFor(d *finding.Tune) string {
	text := "searched for the least " + objective(d.Objective)
	if d.Objective == "rps" {
		text = "searched for the most " + objective(d.Objective)
	}
	if len(d.Command) > 0 {
		text += " of " + short(Clean(strings.Join(d.Command, " ")), 50)
	}
	if len(d.Constraints) > 0 {
		text += ", with " + Clean(strings.Join(d.Constraints, ", "))
	}
	if d.Budget > 0 {
		text += ", within " + whole(d.Budget)
	}
	return text
}

// objective is what a search minimises, in words.
func objective(name string) string {
	switch name {
	case "cpu", "":
		return "CPU per operation"
	case "rps":
		return "requests per second"
	case "p99":
		return "P99"
	case "wall":
		return "wall time"
	}
	return Clean(name)
}

func space(d *finding.Tune) grid {
	var names, values []string
	for _, f := range d.Space {
		var v []string
		for _, x := range f.Values {
			v = append(v, valueText(f.Knob, x))
		}
		names, values = append(names, Clean(f.Knob)), append(values, strings.Join(v, ", "))
	}
	var g grid
	g.key("knob", names)
	g.text("values tried", values)
	return g
}

func stages(d *finding.Tune) grid {
	var names, runs, time, on []string
	for _, s := range d.Stages {
		names, runs, time = append(names, Clean(s.Name)), append(runs, strconv.Itoa(s.Runs)), append(time, whole(s.Seconds))
		kept := []string{}
		for _, i := range s.Kept {
			if i >= 0 && i < len(d.Cells) {
				kept = append(kept, armName(&d.Cells[i]))
			}
		}
		text := none
		switch {
		case len(kept) == 1:
			text = kept[0]
		case len(kept) > 1:
			text = plural(len(kept), "setting") + ", first " + kept[0]
		}
		on = append(on, text)
	}
	var g grid
	g.key("stage", names)
	g.add("runs", runs)
	g.add("time", time)
	g.text("goes on", on)
	return g
}

// candidates are the settings that came furthest, best first, and the default.
func candidates(d *finding.Tune) (section, bool) {
	var part []int
	take := func(i int) {
		if i >= 0 && i < len(d.Cells) && !slices.Contains(part, i) {
			part = append(part, i)
		}
	}
	for _, s := range slices.Backward(d.Stages) {
		for _, i := range s.Kept {
			take(i)
		}
	}
	for _, i := range d.Front {
		take(i)
	}
	for i := range d.Cells {
		take(i)
	}
	if len(part) > best {
		part = part[:best]
	}
	for i := range d.Cells {
		if slices.Contains(d.Cells[i].Labels, "default") {
			take(i)
		}
	}
	if len(part) == 0 {
		return section{}, false
	}
	return newSection(d.Cells, part), true
}

func effects(d *finding.Tune) grid {
	var names, values, ratios, runs []string
	last := ""
	for _, e := range d.Effects {
		name := Clean(e.Knob)
		if name == last {
			name = ""
		} else {
			last = name
		}
		names, values, ratios = append(names, name), append(values, valueText(e.Knob, e.Value)), append(ratios, change(e.Ratio))
		runs = append(runs, orNone(strconv.Itoa(runsOf(d, &e)), runsOf(d, &e) == 0))
	}
	var g grid
	g.key("knob", names)
	g.key("value", values)
	g.add("effect", ratios)
	g.add("runs", runs)
	return g
}

// estimates says what effects are.
const estimates = "estimates of an additive model from few runs, without intervals"

// runsOf is how many valid runs with one value of a knob are behind its effect;
// 0 when the cells do not tell.
func runsOf(d *finding.Tune, e *finding.Effect) int {
	n := 0
	for i := range d.Cells {
		c := &d.Cells[i]
		value := ""
		switch e.Knob {
		case "GOMAXPROCS":
			value = c.GOMAXPROCS
		case "GOGC":
			value = c.GOGC
		case "GOMEMLIMIT":
			value = c.GOMEMLIMIT
		case "burst": // 0 is unset
			if value = strconv.FormatInt(c.Burst, 10); c.Burst == 0 && e.Value == "" {
				value = ""
			}
		default:
			return 0
		}
		if value == e.Value {
			n += counted(c)
		}
	}
	return n
}

// counted is how many of a cell's runs count.
func counted(c *finding.Cell) int {
	n := 0
	for k := range c.Rounds {
		if c.Rounds[k].Invalid == "" {
			n++
		}
	}
	return n
}

// costs says what the winner makes worse, by the confirmation; "" when nothing
// was shown to be, or nothing won.
func costs(d *finding.Tune) string {
	if d.Confirm == nil || d.Verdict.Keep || d.Verdict.Best == nil {
		return ""
	}
	var all []string
	for _, c := range d.Confirm.Comparisons {
		if c.Word == finding.Worse && c.Cell == 0 {
			all = append(all, called(c.Metric)+" "+strings.TrimSuffix(difference(&c), " "+finding.Worse))
		}
	}
	if len(all) == 0 {
		return ""
	}
	text := "worse with it: " + strings.Join(all, "; ")
	for _, w := range d.Warnings {
		if w.Code == tradeWarning {
			return text + " [" + tradeWarning + "]"
		}
	}
	return text
}

// tradeWarning is the id of what costs says.
const tradeWarning = "tune-trade"

// otherWarnings are those that costs has not said.
func otherWarnings(d *finding.Tune) []finding.Warning {
	if costs(d) == "" {
		return d.Warnings
	}
	var rest []finding.Warning
	for _, w := range d.Warnings {
		if w.Code != tradeWarning {
			rest = append(rest, w)
		}
	}
	return rest
}

// confirmed are the cells that the comparisons of a confirmation speak of.
func confirmed(c *finding.Confirm) []finding.Cell { return []finding.Cell{c.Winner, c.Default} }

func tuneNotes(d *finding.Tune) []string {
	notes := early(&d.Setup)
	if d.Confirm == nil && len(d.Cells) > 0 {
		notes = append(notes, "nothing was confirmed on fresh rounds: the candidates above are what the search saw, no result")
	}
	cells := withConfirmation(d)
	if d.Confirm != nil {
		s := newSection(confirmed(d.Confirm), []int{0, 1})
		notes = append(notes, s.notShown(confirmed(d.Confirm), d.Confirm.Comparisons, false)...)
	}
	notes = append(notes, runNotes(cells)...)
	notes = append(notes, asksOnly(cells)...)
	return append(notes, common(&d.Setup, cells, d.Verdict.Cannot)...)
}

// environment writes the winner three times, to paste. Its lines are not broken
// and not cleaned of what a shell needs, only of what a terminal must not see.
func (p *page) environment(e *finding.Environment) {
	if e == nil {
		return
	}
	for _, form := range forms(e) {
		p.line("")
		p.line("# %s", form.Name)
		for line := range strings.Lines(form.Text) {
			p.line("%s", Clean(strings.TrimRight(line, "\n")))
		}
	}
}

type form struct{ Name, Text string }

func forms(e *finding.Environment) []form {
	return []form{{"shell", e.Shell}, {"Dockerfile", e.Dockerfile}, {"Kubernetes", e.Kubernetes}}
}
