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

// The figures of a Course.
const (
	CourseRPS       = iota // per second
	CourseP50              // seconds
	CourseP95              // seconds
	CourseThrottled        // share of periods, 0 to 1
	CourseGCs              // per second
	CourseGCCPU            // CPUs
	CourseCPU              // CPUs
	CourseResident         // bytes
	CourseErrors           // per second
	CourseFigures
)

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
				if v := courseFigure(t, k, i); !units.Odd(v) {
					x = append(x, v)
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

// courseFigure returns a figure of a slice; NaN is unknown.
func courseFigure(t *finding.Timeline, figure, i int) float64 {
	var v *float64
	switch figure {
	case CourseRPS:
		return t.RPS[i]
	case CourseErrors:
		return float64(t.Errors[i]) / t.Step
	case CourseP50:
		v = t.P50[i]
	case CourseP95:
		v = t.P95[i]
	case CourseThrottled:
		v = t.Throttled[i]
	case CourseCPU:
		v = t.CPU[i]
	case CourseGCs:
		if v = metric.Float(t.GCs[i]); v != nil {
			*v /= t.Step
		}
	case CourseGCCPU:
		if v = t.GCCPU[i]; v != nil {
			v = new(*v / t.Step)
		}
	case CourseResident:
		v = metric.Float(t.Resident[i])
	}
	if v == nil {
		return math.NaN()
	}
	return *v
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

// rampColumns are the columns of the table.
var rampColumns = []struct {
	head   string
	figure int
	print  func([]*float64) []string
}{
	{"req/s", CourseRPS, rates}, {"median", CourseP50, metric.Durations}, {"P95", CourseP95, metric.Durations},
	{"errors/s", CourseErrors, rates}, {"throttled", CourseThrottled, metric.Shares}, {"CPU", CourseCPU, rates},
	{"GC/s", CourseGCs, rates}, {"GC CPU", CourseGCCPU, rates}, {"RSS", CourseResident, metric.Amounts},
}

func rates(v []*float64) []string { return units.Each(v, units.Rate) }

func (c *Course) table() Grid {
	n := len(c.Users)
	rows := min(rampRows, n)
	cut := func(row int) int { return row * n / rows }
	var g Grid
	var from, users []string
	for r := range rows {
		first, last := cut(r), cut(r+1)
		from = append(from, seconds(float64(first)*c.Step)+" to "+seconds(float64(last)*c.Step)+" s")
		sum := 0.0
		for _, u := range c.Users[first:last] {
			sum += u
		}
		users = append(users, strconv.Itoa(int(math.Round(sum/float64(last-first)))))
	}
	g.Key("time", from)
	g.Add("users", users)
	for _, col := range rampColumns {
		values := make([]*float64, rows)
		some := false
		for r := range rows {
			var x []float64
			for _, v := range c.Lines[col.figure].Median[cut(r):cut(r+1)] {
				if !units.Odd(v) {
					x = append(x, v)
				}
			}
			if len(x) == 0 {
				continue
			}
			slices.Sort(x)
			v := middle(x)
			if col.figure == CourseRPS || col.figure == CourseErrors || col.figure == CourseGCs {
				v = mean(x) // of counts
			}
			values[r], some = &v, some || v > 0
		}
		if column := col.print(values); Measured(column) && (some || col.figure == CourseThrottled) {
			g.Add(col.head, column)
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
