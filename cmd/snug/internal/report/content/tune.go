// SPDX-License-Identifier: Apache-2.0

package content

import (
	"cmp"
	"regexp"
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
	best := "lowest "
	if d.Objective == "rps" {
		best = "highest "
	}
	text := "searched for the " + best + Objective(d.Objective)
	text += units.If(len(d.Command) > 0, " of "+Short(message.Clean(strings.Join(d.Command, " ")), 50))
	with := units.If(len(d.Constraints) > 0, "with "+message.Clean(strings.Join(d.Constraints, ", ")))
	return units.Join(", ", text, with, units.If(d.Budget > 0, "within "+Whole(d.Budget)))
}

// Objective returns the objective of a search in words.
func Objective(name string) string {
	keys := map[string]string{"": metric.CPU, "cpu": metric.CPU, "rps": metric.RPS, "p99": metric.P99, "wall": metric.Wall}
	return metric.Called(cmp.Or(keys[name], name))
}

func Space(d *finding.Tune) Grid {
	var rows [][]string
	for _, f := range d.Space {
		values := units.Texts(f.Values, func(v string) string { return metric.ValueText(f.Knob, v) })
		rows = append(rows, []string{f.Knob, strings.Join(values, ", ")})
	}
	return GridOf([]string{"knob", "values tried"}, rows).as("kt")
}

func Stages(d *finding.Tune) Grid {
	var rows [][]string
	for _, s := range d.Stages {
		kept := slices.DeleteFunc(slices.Clone(s.Kept), func(i int) bool { return i < 0 || i >= len(d.Cells) })
		on := units.None
		if len(kept) > 0 {
			on = ArmName(&d.Cells[kept[0]])
		}
		if len(kept) > 1 {
			on = units.Plural(len(kept), "setting") + ", first " + on
		}
		rows = append(rows, []string{StageName(&s), strconv.Itoa(s.Runs), Whole(s.Seconds), on})
	}
	return GridOf([]string{"measured", "runs", "time", "goes on"}, rows).as("knnt")
}

// stageNames describe stages for readers.
var stageNames = map[string]string{
	"baseline": "the default", "plan": "snug's plan", "pace": "the default at length, and every knob changed",
	"screen": "the settings", "confirm": "the leader, on fresh runs",
}

// StageName describes a stage for readers.
func StageName(s *finding.Stage) string {
	name := cmp.Or(stageNames[s.Name], message.Clean(s.Name))
	if number, ok := strings.CutPrefix(name, "halve "); ok {
		name = "the best " + number + " again"
	}
	return name + units.If(s.Short, ", cut short by the budget")
}

// KnobTests says which knobs of the leader its confirmation shows to be needed, one
// sentence each; none if the leader is not recommended at all.
func KnobTests(d *finding.Tune) []string {
	if d.Confirm == nil || d.Confirm.Answer == 1 {
		return nil
	}
	var out []string
	if n := differing(d.Confirm.Winner.Arm, d.Confirm.Default.Arm); n > 1 && len(d.Confirm.Knobs) == 0 {
		out = append(out, "which of the "+strconv.Itoa(n)+" knobs are needed was not tested: the budget allows no runs "+
			"without each")
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
	for _, differ := range []bool{
		a.GOMAXPROCS != b.GOMAXPROCS, a.GOGC != b.GOGC, a.GOMEMLIMIT != b.GOMEMLIMIT, a.Burst != b.Burst,
	} {
		if differ {
			n++
		}
	}
	return n
}

// Candidates returns the settings that got furthest, best first, and the default.
func Candidates(d *finding.Tune) (Section, bool) {
	var order, part []int
	for _, s := range slices.Backward(d.Stages) {
		order = append(order, s.Kept...)
	}
	order = append(order, d.Front...)
	for i := range d.Cells {
		order = append(order, i)
	}
	for _, i := range order {
		if i >= 0 && i < len(d.Cells) && !slices.Contains(part, i) && len(d.Cells[i].Rounds) > 0 {
			part = append(part, i)
		}
	}
	n := min(len(part), maxCandidates)
	rest := slices.DeleteFunc(part[n:], func(i int) bool { return !slices.Contains(d.Cells[i].Labels, labelDefault) })
	part = append(part[:n:n], rest...)
	if len(part) == 0 {
		return Section{}, false
	}
	return NewSection(d.Cells, part), true
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
	text += units.If(slices.ContainsFunc(d.Warnings, isTrade), " ["+tradeWarning+"]")
	return text
}

// tradeWarning is the id of the warning that Costs replaces.
const tradeWarning = "tune-trade"

func isTrade(w finding.Warning) bool { return w.Code == tradeWarning }

// OtherWarnings returns the warnings that Costs does not cover.
func OtherWarnings(d *finding.Tune) []finding.Warning {
	if Costs(d) == "" {
		return d.Warnings
	}
	return slices.DeleteFunc(slices.Clone(d.Warnings), isTrade)
}

func TuneNotes(d *finding.Tune) []string {
	notes := Early(&d.Setup)
	if d.Confirm == nil && len(d.Cells) > 0 && d.Verdict.Best == nil {
		notes = append(notes, "nothing was confirmed on fresh rounds: the candidates above are from the search alone, not a "+
			"result")
	}
	cells := WithConfirmation(d)
	if d.Confirm != nil {
		confirmed := Confirmed(d.Confirm)
		s := SectionOf(confirmed)
		notes = append(notes, s.notShown(confirmed, d.Confirm.Comparisons, false)...)
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

// lastKnob matches the last knob of a pruned setting and its value, sizeWithin a size in a reason.
var (
	lastKnob   = regexp.MustCompile(`([A-Za-z]+)=([^= ,]+)$`)
	sizeWithin = regexp.MustCompile(` of [0-9.]+ ?([KMGT]i?)?B\b`)
)

// lastValue returns the last knob of a pruned setting, and its value; "" if it does not end in one.
func lastValue(what string) (knob, value string) {
	if m := lastKnob.FindStringSubmatch(what); m != nil {
		return m[1], m[2]
	}
	return "", ""
}

// PrunedGroups returns the settings that a search did not try. Settings whose reasons differ
// only in numbers are grouped.
func PrunedGroups(all []finding.Pruned) []finding.Pruned {
	var groups [][]finding.Pruned
	places := map[string]int{}
	for i, x := range all {
		knob, _ := lastValue(x.What)
		key := knob + ": " + withoutFigures(x.Why)
		if knob == "" {
			key = strconv.Itoa(i)
		}
		at, old := places[key]
		if !old {
			at = len(groups)
			places[key], groups = at, append(groups, nil)
		}
		groups[at] = append(groups[at], x)
	}
	var out []finding.Pruned
	for _, g := range groups {
		what, why, settings := g[0].What, g[0].Why, 0
		var values []string
		for _, x := range g {
			if x.Why != g[0].Why {
				why = sizeWithin.ReplaceAllString(g[0].Why, "") // it differs for each setting
			}
			settings += 1 + strings.Count(x.What, ", ") // GOGC=50, 100 with GOMEMLIMIT=179MiB
			_, v := lastValue(x.What)
			values = append(values, v)
		}
		if len(g) > 1 {
			knob, _ := lastValue(what)
			bySize := func(a, b string) int { return cmp.Compare(magnitude(a), magnitude(b)) }
			low, high := slices.MinFunc(values, bySize), slices.MaxFunc(values, bySize)
			what = units.Plural(settings, "setting") + " with " + knob + " " + metric.ValueText(knob, low) +
				units.If(high != low, " to "+metric.ValueText(knob, high))
		}
		out = append(out, finding.Pruned{What: metric.Readable(what), Why: metric.Readable(why)})
	}
	return out
}

// magnitude returns the value of a knob as a number for sorting; 0 for a word.
func magnitude(v string) float64 {
	if n, ok := units.ParseGoBytes(v); ok {
		return float64(n)
	}
	x, err := strconv.ParseFloat(v, 64)
	if err != nil {
		return 0
	}
	return x
}
