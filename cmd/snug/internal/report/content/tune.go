// SPDX-License-Identifier: Apache-2.0

package content

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// maxCandidates is the maximum number of candidates of a search to show.
const maxCandidates = 8

// SearchedFor describes a search: its objective, command, constraints and budget.
func SearchedFor(d *finding.Tune) string {
	text := "searched for the lowest " + Objective(d.Objective)
	if d.Objective == "rps" {
		text = "searched for the highest " + Objective(d.Objective)
	}
	if len(d.Command) > 0 {
		text += " of " + Short(message.Clean(strings.Join(d.Command, " ")), 50)
	}
	if len(d.Constraints) > 0 {
		text += ", with " + message.Clean(strings.Join(d.Constraints, ", "))
	}
	if d.Budget > 0 {
		text += ", within " + Whole(d.Budget)
	}
	return text
}

// Objective returns the objective of a search in words.
func Objective(name string) string {
	switch name {
	case "cpu", "":
		return metric.Called(metric.CPU)
	case "rps", "p99", "wall":
		return metric.Called(map[string]string{"rps": metric.RPS, "p99": metric.P99, "wall": metric.Wall}[name])
	}
	return message.Clean(name)
}

func Space(d *finding.Tune) Grid {
	var names, values []string
	for _, f := range d.Space {
		var v []string
		for _, x := range f.Values {
			v = append(v, metric.ValueText(f.Knob, x))
		}
		names, values = append(names, message.Clean(f.Knob)), append(values, strings.Join(v, ", "))
	}
	var g Grid
	g.Key("knob", names)
	g.Text("values tried", values)
	return g
}

func Stages(d *finding.Tune) Grid {
	var names, runs, time, on []string
	for _, s := range d.Stages {
		names, runs, time = append(names, StageName(&s)), append(runs, strconv.Itoa(s.Runs)), append(time, Whole(s.Seconds))
		kept := []string{}
		for _, i := range s.Kept {
			if i >= 0 && i < len(d.Cells) {
				kept = append(kept, ArmName(&d.Cells[i]))
			}
		}
		text := units.None
		switch {
		case len(kept) == 1:
			text = kept[0]
		case len(kept) > 1:
			text = units.Plural(len(kept), "setting") + ", first " + kept[0]
		}
		on = append(on, text)
	}
	var g Grid
	g.Key("measured", names)
	g.Add("runs", runs)
	g.Add("time", time)
	g.Text("goes on", on)
	return g
}

// StageName describes a stage for readers.
func StageName(s *finding.Stage) string {
	name := message.Clean(s.Name)
	switch number, ok := strings.CutPrefix(name, "halve "); {
	case ok:
		name = "the best " + number + " again"
	case name == "baseline":
		name = "the default"
	case name == "plan":
		name = "snug's plan"
	case name == "pace":
		name = "the default at length, and every knob changed"
	case name == "screen":
		name = "the settings"
	case name == "confirm":
		name = "the leader, on fresh runs"
	}
	if s.Short {
		name += ", cut short by the budget"
	}
	return name
}

// KnobTests says which knobs of the leader its confirmation shows to be needed, one
// sentence each; none if the leader is not recommended at all.
func KnobTests(d *finding.Tune) []string {
	if d.Confirm == nil || d.Confirm.Answer == 1 {
		return nil
	}
	var out []string
	if n := differing(d.Confirm.Winner.Arm, d.Confirm.Default.Arm); n > 1 && len(d.Confirm.Knobs) == 0 {
		out = append(out, fmt.Sprintf("which of the %d knobs are needed was not tested: the budget allows no runs without each", n))
	}
	for _, k := range d.Confirm.Knobs {
		name := message.Clean(k.Knob) + "=" + metric.ValueText(k.Knob, k.Value)
		effect := "could not be compared"
		if c := k.Change; c != nil {
			effect = metric.Called(c.Metric) + " " + units.ChangeSaid(c.Ratio, c.Low, c.High) + " without it"
		}
		if k.Broken != nil {
			effect = "without it: " + brokenText(k.Broken)
		}
		switch {
		case k.Needed:
			out = append(out, name+" is needed: "+effect)
		case k.Cell == d.Confirm.Answer:
			out = append(out, name+" is left out: that costs no more than the margin ("+effect+")")
		default:
			out = append(out, name+" stays: these rounds show neither that it is needed nor that it is not ("+effect+")")
		}
	}
	return out
}

// differing returns the number of knobs in which two arms differ.
func differing(a, b finding.Arm) int {
	n := 0
	for _, differ := range []bool{a.GOMAXPROCS != b.GOMAXPROCS, a.GOGC != b.GOGC, a.GOMEMLIMIT != b.GOMEMLIMIT, a.Burst != b.Burst} {
		if differ {
			n++
		}
	}
	return n
}

// Candidates returns the settings that got furthest, best first, and the default.
func Candidates(d *finding.Tune) (Section, bool) {
	var part []int
	take := func(i int) {
		if i >= 0 && i < len(d.Cells) && !slices.Contains(part, i) && len(d.Cells[i].Rounds) > 0 {
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
	if len(part) > maxCandidates {
		part = part[:maxCandidates]
	}
	for i := range d.Cells {
		if slices.Contains(d.Cells[i].Labels, "default") {
			take(i)
		}
	}
	if len(part) == 0 {
		return Section{}, false
	}
	return NewSection(d.Cells, part), true
}

func Effects(d *finding.Tune) Grid {
	var names, values, ratios, runs []string
	last := ""
	for _, e := range d.Effects {
		name := message.Clean(e.Knob)
		if name == last {
			name = ""
		} else {
			last = name
		}
		names, values, ratios = append(names, name), append(values, metric.ValueText(e.Knob, e.Value)), append(ratios, units.Change(e.Ratio))
		runs = append(runs, OrNone(strconv.Itoa(RunsOf(d, &e)), RunsOf(d, &e) == 0))
	}
	var g Grid
	g.Key("knob", names)
	g.Key("value", values)
	g.Add("effect", ratios)
	g.Add("runs", runs)
	return g
}

// Estimates explains effects.
const Estimates = "estimates from few runs, without intervals"

// RunsOf returns the number of valid runs with one value of a knob; 0 for an unknown knob.
func RunsOf(d *finding.Tune, e *finding.Effect) int {
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
			n += Counted(c)
		}
	}
	return n
}

// Counted returns the number of valid runs of a cell.
func Counted(c *finding.Cell) int {
	n := 0
	for k := range c.Rounds {
		if c.Rounds[k].Invalid == "" {
			n++
		}
	}
	return n
}

// Costs says which metrics the winner makes worse in the confirmation; "" if none is
// shown to be worse, or nothing won.
func Costs(d *finding.Tune) string {
	if d.Confirm == nil || d.Verdict.Keep || d.Verdict.Best == nil {
		return ""
	}
	var all []string
	for _, c := range d.Confirm.Comparisons {
		if c.Word == finding.Worse && c.Cell == d.Confirm.Answer {
			all = append(all, metric.Called(c.Metric)+" "+strings.TrimSuffix(Outcome(&c), " "+finding.Worse))
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

// tradeWarning is the id of the warning that Costs replaces.
const tradeWarning = "tune-trade"

// OtherWarnings returns the warnings that Costs does not cover.
func OtherWarnings(d *finding.Tune) []finding.Warning {
	if Costs(d) == "" {
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

// ConfirmSection returns the settings of a confirmation: the leader, its baseline, and the
// leader without each of its knobs.
func ConfirmSection(c *finding.Confirm) Section {
	cells := Confirmed(c)
	part := make([]int, len(cells))
	for i := range part {
		part[i] = i
	}
	return NewSection(cells, part)
}

func TuneNotes(d *finding.Tune) []string {
	notes := Early(&d.Setup)
	if d.Confirm == nil && len(d.Cells) > 0 && d.Verdict.Best == nil {
		notes = append(notes, "nothing was confirmed on fresh rounds: the candidates above are from the search alone, not a result")
	}
	cells := WithConfirmation(d)
	if d.Confirm != nil {
		s := ConfirmSection(d.Confirm)
		notes = append(notes, s.notShown(Confirmed(d.Confirm), d.Confirm.Comparisons, false)...)
	}
	notes = append(notes, runNotes(cells)...)
	notes = append(notes, askedNote(cells)...)
	return append(notes, common(&d.Setup, cells, d.Verdict.Cannot)...)
}

type Form struct{ Name, Text string }

func Forms(e *finding.Environment) []Form {
	all := []Form{{"shell", e.Shell}, {"Dockerfile", e.Dockerfile}, {"Kubernetes", e.Kubernetes}}
	if e.Go != "" {
		all = append(all, Form{"Go, in package main", e.Go})
	}
	return all
}
