// SPDX-License-Identifier: Apache-2.0

package content

import (
	"math"
	"slices"
	"strconv"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// rampRows is the number of rows of a ramp's table.
const rampRows = 8

// Course is the course of a ramp under one setting: the median, the least and the most of the valid
// rounds in each slice.
type Course struct {
	Name  string
	Cell  int
	Step  float64 // seconds
	Users []float64
	Lines [CourseFigures]Line
}

// Line is a figure over the slices; NaN is unknown.
type Line struct{ Median, Low, High []float64 }

// The figures of a Course, in the order of its table.
const (
	CourseRPS       = iota // per second
	CourseP50              // seconds
	CourseP95              // seconds
	CourseErrors           // per second
	CourseThrottled        // share of periods, 0 to 1
	CourseCPU              // CPUs
	CourseGCs              // per second
	CourseGCCPU            // CPUs
	CourseResident         // bytes
	CourseFigures
)

type timeline = finding.Timeline

// courseFigures are the figures of a slice; counted = a row has their mean, not their median.
var courseFigures = [CourseFigures]struct {
	head    string
	of      func(t *timeline, i int) *float64
	print   func([]*float64) []string
	counted bool
}{
	{"req/s", func(t *timeline, i int) *float64 { return &t.RPS[i] }, rates, true},
	{"median", func(t *timeline, i int) *float64 { return t.P50[i] }, metric.Durations, false},
	{"P95", func(t *timeline, i int) *float64 { return t.P95[i] }, metric.Durations, false},
	{"errors/s", func(t *timeline, i int) *float64 { return over(metric.Float(&t.Errors[i]), t.Step) }, rates, true},
	{"throttled", func(t *timeline, i int) *float64 { return t.Throttled[i] }, metric.Shares, false},
	{"CPU", func(t *timeline, i int) *float64 { return t.CPU[i] }, rates, false},
	{"GC/s", func(t *timeline, i int) *float64 { return over(metric.Float(t.GCs[i]), t.Step) }, rates, true},
	{"GC CPU", func(t *timeline, i int) *float64 { return over(t.GCCPU[i], t.Step) }, rates, false},
	{"RSS", func(t *timeline, i int) *float64 { return metric.Float(t.Resident[i]) }, metric.Amounts, false},
}

func rates(v []*float64) []string { return units.Each(v, units.Rate) }

// over divides a figure that may be unknown.
func over(v *float64, seconds float64) *float64 {
	if v == nil {
		return nil
	}
	return new(*v / seconds)
}

// CourseOf returns the course of a cell; nil if no valid round has one.
func CourseOf(s *Section, cells []finding.Cell, cell int) *Course {
	c := &cells[cell]
	var rounds []*finding.Timeline
	for i := range c.Rounds {
		if t := c.Rounds[i].Timeline; t != nil && c.Rounds[i].Invalid == "" && whole(t) &&
			(len(rounds) == 0 || len(t.Users) == len(rounds[0].Users) && t.Step == rounds[0].Step) {
			rounds = append(rounds, t)
		}
	}
	if len(rounds) == 0 {
		return nil
	}
	course := &Course{Name: s.Name(c), Cell: cell, Step: rounds[0].Step, Users: rounds[0].Users}
	for k := range course.Lines {
		for i := range course.Users {
			var x []float64
			for _, t := range rounds {
				if v := courseFigures[k].of(t, i); v != nil && !units.Odd(*v) {
					x = append(x, *v)
				}
			}
			course.Lines[k].add(x)
		}
	}
	return course
}

// whole reports whether all lists of a timeline have a figure for each slice.
func whole(t *finding.Timeline) bool {
	n := len(t.Users)
	for _, m := range []int{len(t.RPS), len(t.P50), len(t.P95), len(t.Errors), len(t.Throttled), len(t.CPU), len(t.GCs),
		len(t.GCCPU), len(t.Resident)} {
		if m != n {
			return false
		}
	}
	return n > 0 && t.Step > 0 && !units.Odd(t.Step)
}

func (l *Line) add(x []float64) {
	median, low, high := math.NaN(), math.NaN(), math.NaN()
	if len(x) > 0 {
		slices.Sort(x)
		median, low, high = middle(x), x[0], x[len(x)-1]
	}
	l.Median, l.Low, l.High = append(l.Median, median), append(l.Low, low), append(l.High, high)
}

// middle returns the median of sorted values.
func middle(x []float64) float64 {
	n := len(x)
	return (x[(n-1)/2] + x[n/2]) / 2
}

// Courses returns a table for each setting of a ramp: its course in a few rows.
func (s *Section) Courses(cells []finding.Cell) []Titled {
	var all []Titled
	for _, i := range s.Cells {
		if c := CourseOf(s, cells, i); c != nil {
			all = append(all, Titled{c.Name + ", over time: medians of the rounds and of the slices in each row", c.table()})
		}
	}
	return all
}

func (c *Course) table() Grid {
	n := len(c.Users)
	rows := min(rampRows, n)
	cut := func(row int) int { return row * n / rows }
	var g Grid
	var from, users []string
	for r := range rows {
		first, last := cut(r), cut(r+1)
		from = append(from, seconds(float64(first)*c.Step)+" to "+seconds(float64(last)*c.Step)+" s")
		users = append(users, strconv.Itoa(int(math.Round(mean(c.Users[first:last])))))
	}
	g.Key("time", from)
	g.Add("users", users)
	for k, f := range courseFigures {
		values := make([]*float64, rows)
		some := false
		for r := range rows {
			x := slices.DeleteFunc(slices.Clone(c.Lines[k].Median[cut(r):cut(r+1)]), units.Odd)
			switch {
			case len(x) == 0:
				continue
			case f.counted:
				values[r] = new(mean(x))
			default:
				slices.Sort(x)
				values[r] = new(middle(x))
			}
			some = some || *values[r] > 0
		}
		if column := f.print(values); Measured(column) && (some || k == CourseThrottled) {
			g.Add(f.head, column)
		}
	}
	return g
}

func seconds(s float64) string { return units.Exact(units.RoundTo(s, 4)) }

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// rampText describes the load of a ramp; false for any other load.
func rampText(load string) (string, bool) {
	r, ok := finding.ParseRamp(load)
	if !ok {
		return "", false
	}
	return "closed loop of " + strconv.Itoa(r.From) + " to " + strconv.Itoa(r.To) + " users, in " +
		units.Duration(r.Over.Seconds()), true
}

// Probed returns the cells whose stalls were measured, one of each setting: the probe is
// the same under any load.
func Probed(cells []finding.Cell) []int {
	type probe struct {
		quota float64
		burst int64
		finding.Knobs
	}
	seen := map[probe]bool{}
	var found []int
	for i := range cells {
		c := &cells[i]
		key := probe{c.Quota, c.Burst, c.Knobs}
		if c.Stall != nil && !seen[key] {
			seen[key], found = true, append(found, i)
		}
	}
	return found
}

// StallColumns adds columns for the measured stalls and the law.
func StallColumns(g *Grid, s *Section, cells []finding.Cell) {
	if s.any(cells, func(c *finding.Cell) bool { return c.Stall != nil }) {
		g.Add("worst gap", gaps(s.Cells, cells, worstGap))
		g.Add("law", gaps(s.Cells, cells, lawGap))
	}
}

func worstGap(s *finding.Stall) *float64  { return s.Max }
func medianGap(s *finding.Stall) *float64 { return s.Median }
func lawGap(s *finding.Stall) *float64    { return &s.Law }

// gaps formats gaps, measured or by the law. "none" means that a probe found no gap,
// as opposed to no probe.
func gaps(part []int, cells []finding.Cell, of func(*finding.Stall) *float64) []string {
	values := each(part, cells, func(c *finding.Cell) *float64 {
		if c.Stall == nil {
			return nil
		}
		return of(c.Stall)
	})
	column := metric.Durations(values)
	for k, i := range part {
		if cells[i].Stall != nil && (values[k] == nil || *values[k] == 0) {
			column[k] = "none"
		}
	}
	return column
}

// Stalls returns the table of measured stalls and the law.
func Stalls(cells []finding.Cell) (Grid, bool) {
	part := Probed(cells)
	if len(part) == 0 {
		return Grid{}, false
	}
	s := NewSection(cells, part)
	s.Workload, s.Load, s.Users = false, false, false
	g := s.keys(cells, true)
	g.Add("threads", units.Texts(part, func(i int) string { return strconv.Itoa(cells[i].Stall.Threads) }))
	g.Add("law", gaps(part, cells, lawGap))
	g.Add("median gap", gaps(part, cells, medianGap))
	g.Add("worst gap", gaps(part, cells, worstGap))
	return g, true
}

// StallLaw explains the law and compares it with the measurements.
func StallLaw(cells []finding.Cell) string {
	text := "stall law: in each period T, N threads that run at once use up a quota of q CPUs early and then stall " +
		"for T(1-q/N)"
	longest := (*finding.Stall)(nil)
	for _, i := range Probed(cells) {
		if st := cells[i].Stall; st.Median != nil && (longest == nil || st.Law > longest.Law) {
			longest = st
		}
	}
	if longest == nil || longest.Law == 0 {
		return text
	}
	text += "; with " + units.Plural(longest.Threads, "thread") + " and T = " + units.Duration(longest.Period) +
		" that is " + units.Duration(longest.Law) + ", and the median of the periods' longest gaps measured is " +
		units.Duration(*longest.Median)
	if r := *longest.Median / longest.Law; r < .75 || r > 1.25 {
		text += "; with such a difference, other programs probably used the CPUs"
	}
	return text
}
