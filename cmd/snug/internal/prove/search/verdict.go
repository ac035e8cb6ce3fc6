// SPDX-License-Identifier: Apache-2.0

package search

import (
	"fmt"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// verdict says what to do. After a stop it says nothing but how far the search
// came: the leader of half a search is not a recommendation.
func (s *search) verdict(err error, at map[int]int) {
	v := &s.tune.Verdict
	v.Cannot = []string{}
	base := "the default"
	if s.in.Base.Knobs != (finding.Knobs{}) {
		base = "the current setting"
	}
	// A baseline that is killed for want of memory is nothing to keep.
	dies := s.baselineKilled() || s.tune.Confirm != nil && slices.ContainsFunc(s.tune.Confirm.Default.Rounds, func(r finding.Run) bool { return killed(&r) })
	keep := func(format string, args ...any) {
		v.Keep = !dies
		v.Text = "keep " + base + ": " + fmt.Sprintf(format, args...)
		if dies {
			v.Text = "no setting to recommend: " + base + " is killed for want of memory, and " + fmt.Sprintf(format, args...)
		}
	}
	switch {
	case err != nil:
		v.Text = "undecided: the search was not finished"
		return
	case len(s.judge.candidates) < 2:
		keep("there is nothing else to try")
		return
	case !s.ranking[0].feasible():
		keep("nothing that was tried holds %s", s.bounds())
		return
	case s.ranking[0].cell == 0:
		keep("nothing that was tried does better in %s", s.in.Objective.Words)
		return
	}
	winner := s.ranking[0].cell
	name := spell(s.judge.candidates[winner].Arm)
	gain, measured := s.gain()
	change := s.in.Objective.Words + " could not be compared"
	if measured {
		change = s.in.Objective.Words + " " + changed(gain)
	}
	change += s.price()
	if s.isSnug(winner) {
		name += " (what snug's library sets)"
	}
	broken := s.broken(s.tune.Confirm.Default, false)
	if !s.won() {
		if why := s.broken(s.tune.Confirm.Winner, true); why != "" {
			keep("%s led the search, but on fresh runs: %s", name, breach(why))
			return
		}
		keep("%s led the search, and on fresh runs no gain beyond %s was shown (%s)",
			name, units.Share(margins[s.in.Objective.name]), change)
		return
	}
	i := at[winner]
	v.Best = &i
	v.Text = fmt.Sprintf("set %s: %s", name, change)
	if killed, of := s.kills(); killed > 0 {
		v.Text = fmt.Sprintf("set %s: %s is killed for want of memory in %d of %d runs, and it is not", name, base, killed, of)
		if measured {
			v.Text += "; " + change
		} else {
			v.Text += s.price()
		}
	} else if broken != "" {
		v.Text += fmt.Sprintf(", and it holds where %s does not: %s", base, breach(broken))
	}
	s.tune.Environment = environment(s.judge.candidates[winner].Arm, s.in.Base.Arm)
	for _, c := range s.tune.Confirm.Comparisons {
		if c.Word == finding.Worse {
			s.warn(WarnTrade, "%s is worse with it: %s", metric.Called(c.Metric), changed(c))
		}
	}
}

// price is what the winner is worse in, the objective apart: ", for 139 % more
// memory and 12 % less throughput"; "" when nothing is.
func (s *search) price() string {
	var costs []string
	for _, c := range s.tune.Confirm.Comparisons {
		if c.Word != finding.Worse || c.Metric == s.in.Objective.Key {
			continue
		}
		less := " % more "
		if c.Ratio < 1 {
			less = " % less "
		}
		size := strings.TrimLeft(units.Points(c.Ratio), "+-")
		switch name := metric.Called(c.Metric); c.Metric {
		case "p50_seconds", "p99_seconds":
			costs = append(costs, "a "+size+" % higher "+name)
		default:
			costs = append(costs, size+less+strings.TrimPrefix(name, "peak "))
		}
	}
	if len(costs) == 0 {
		return ""
	}
	return ", for " + units.List(costs)
}

// kills counts the baseline's runs of the confirmation that were killed for want of
// memory, and those that count.
func (s *search) kills() (n, of int) {
	for _, r := range s.tune.Confirm.Default.Rounds {
		if r.Invalid == "" {
			of++
			if killed(&r) {
				n++
			}
		}
	}
	return n, of
}

// breach prints what broken found.
func breach(why string) string {
	if strings.ContainsAny(why, "<>") {
		return why + " is not certain to hold"
	}
	return why
}

// bounds lists the constraints.
func (s *search) bounds() string {
	var all []string
	for _, c := range s.judge.constraints {
		all = append(all, c.String())
	}
	if len(all) == 0 {
		return "without failures"
	}
	return strings.Join(all, ", ")
}

// changed prints a ratio with its interval: -11 % (95 % interval -13 to -9 %).
func changed(c finding.Comparison) string {
	text := units.Points(c.Ratio) + " %"
	if c.Low != nil && c.High != nil {
		text += fmt.Sprintf(" (95 %% interval %s to %s %%)", units.Points(*c.Low), units.Points(*c.High))
	}
	return text
}

// variables are the knobs of an arm that are set, in the order in which people
// write them.
func variables(k finding.Knobs) [][2]string {
	var out [][2]string
	for i, v := range []string{k.GOMAXPROCS, k.GOGC, k.GOMEMLIMIT} {
		if v != "" {
			out = append(out, [2]string{knobNames[i], v})
		}
	}
	return out
}

// spell prints a setting.
func spell(a finding.Arm) string {
	var parts []string
	for _, v := range variables(a.Knobs) {
		parts = append(parts, v[0]+"="+v[1])
	}
	if a.Burst > 0 {
		parts = append(parts, fmt.Sprintf("a burst of %d µs", a.Burst))
	}
	if len(parts) == 0 {
		return "no variable"
	}
	return strings.Join(parts, " ")
}

// environment is a setting to paste. Variables that only the baseline has are
// taken away where that can be written.
func environment(a, base finding.Arm) *finding.Environment {
	e := &finding.Environment{}
	var set, gone []string
	var yaml strings.Builder
	for _, v := range variables(a.Knobs) {
		set = append(set, v[0]+"="+v[1])
		fmt.Fprintf(&yaml, "  - name: %s\n    value: %q\n", v[0], v[1])
	}
	now := map[string]bool{}
	for _, v := range variables(a.Knobs) {
		now[v[0]] = true
	}
	for _, v := range variables(base.Knobs) {
		if !now[v[0]] {
			gone = append(gone, v[0])
		}
	}
	if len(gone) > 0 {
		e.Shell = "unset " + strings.Join(gone, " ") + "\n"
		note := "# without " + strings.Join(gone, ", ") + "\n"
		e.Dockerfile, e.Kubernetes = note, note
	}
	if len(set) > 0 {
		e.Shell += "export " + strings.Join(set, " ") + "\n"
		e.Dockerfile += "ENV " + strings.Join(set, " ") + "\n"
		e.Kubernetes += "env:\n" + yaml.String()
	}
	if a.Burst != base.Burst {
		// cpu.max.burst, cpu.cfs_burst_us: Documentation/scheduler/sched-bwc.rst.
		note := fmt.Sprintf("# and in the cgroup: cpu.max.burst (v1: cpu.cfs_burst_us) = %d\n", a.Burst)
		e.Shell += note
		e.Dockerfile += note
		e.Kubernetes += note
	}
	return e
}
