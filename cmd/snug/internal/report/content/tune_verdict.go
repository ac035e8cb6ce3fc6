// SPDX-License-Identifier: Apache-2.0

package content

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// SayTune sets the text of a search's verdict, and what to paste. Without data the text stays
// unchanged.
func SayTune(d *finding.Tune) {
	v := &d.Verdict
	switch {
	case v.Code == finding.CodeUnfinished:
		v.Text = "undecided: the search was not finished"
	case v.Code == finding.CodeBudget:
		v.Text = fmt.Sprintf("undecided: the budget of %s ended before a setting was confirmed", Whole(d.Budget))
		v.Text += units.If(d.Needed > d.Budget, "; give it --budget "+strconv.Itoa(int(d.Needed/60))+"m")
	case len(v.Judged) == 1:
		v.Text = searchWords{d, &v.Judged[0]}.verdict()
	}
	if v.Best != nil {
		d.Environment = Paste(&d.Cells[*v.Best], &d.Baseline, d.Command)
	}
}

// searchWords makes the sentence for the decision of a search.
type searchWords struct {
	*finding.Tune
	j *finding.Judged
}

func (w searchWords) verdict() string {
	what := metric.Called(w.Verdict.Metric)
	why := ""
	switch w.j.Code {
	case finding.Won, finding.Spared:
		return w.set()
	case finding.NothingElse:
		why = "there is nothing else to try"
	case finding.NoneHolds:
		why = "nothing that was tried holds " + cmp.Or(strings.Join(w.j.Bounds, ", "), "without failures")
	case finding.NoneBetter:
		why = "nothing that was tried does better in " + what
	case finding.LeaderBroke:
		why = w.leader() + " led the search, but on fresh runs: " + brokenText(w.j.Broken)
	default:
		why = fmt.Sprintf("%s led the search, and on fresh runs no gain beyond %s was shown (%s)",
			w.leader(), units.Share(w.j.Margin), w.change())
	}
	if w.j.Open > 0 {
		why += fmt.Sprintf("; runs of two settings differ by %s, so a gain up to %s is not ruled out",
			units.About(w.j.Noise), units.About(w.j.Open))
		why += units.If(w.Needed > 0, ": give it --budget "+strconv.Itoa(int(math.Ceil(w.Needed/60)))+"m")
	}
	if w.j.Fails != nil { // the baseline cannot be kept
		return "no setting to recommend: " + w.failed() + ", and " + why
	}
	return "keep " + w.base() + ": " + why
}

// failed says how the baseline fails.
func (w searchWords) failed() string {
	f := w.j.Fails
	how := "is OOM-killed"
	if f.Code == finding.FailsResult {
		how = "finishes nothing"
	}
	return fmt.Sprintf("%s %s in %d of %d runs", w.base(), how, f.Rounds, f.Of)
}

// set says what to set, and why: what was compared with what, and on how many rounds.
func (w searchWords) set() string {
	set := "set " + w.leader() + ": "
	if w.j.Code == finding.Spared {
		text := set + w.failed() + ", this setting in none"
		switch {
		case w.j.Leader != nil:
			return text + "; " + w.unbeaten()
		case w.j.Gain != nil:
			return text + "; " + w.change()
		}
		return text + w.price()
	}
	if w.j.Broken != nil {
		return set + w.change() + ", and it holds where " + w.base() + " does not: " + brokenText(w.j.Broken)
	}
	return set + w.change()
}

// unbeaten says that the leader of the search does not beat what is recommended.
func (w searchWords) unbeaten() string {
	lead := searchedSetting(w.Cells[*w.j.Leader].Arm)
	if w.j.Broken != nil {
		return lead + " led the search, but on fresh runs: " + brokenText(w.j.Broken)
	}
	text := lead + " led the search, and on fresh runs no gain beyond " + units.Share(w.j.Margin) + " over it was shown"
	if l := w.j.Led; l != nil {
		text += fmt.Sprintf(" (%s %s, %s)", metric.Called(w.Verdict.Metric), units.ChangeSaid(l.Ratio, l.Low, l.High),
			units.Plural(l.Pairs, "paired round"))
	}
	return text
}

// comparedWith names the other side of the comparison: ", against the default in 10
// paired rounds".
func (w searchWords) comparedWith() string {
	if w.j.Gain == nil || w.j.Gain.Pairs == 0 {
		return ""
	}
	other := w.base()
	if w.j.Against != nil {
		c := &w.Cells[*w.j.Against]
		if other = searchedSetting(c.Arm); slices.Contains(c.Labels, labelSnug) {
			other = "snug's plan (" + other + ")"
		}
	}
	return " against " + other + " in " + units.Plural(w.j.Gain.Pairs, "paired round")
}

func (w searchWords) base() string {
	if w.Baseline.Knobs != (finding.Knobs{}) {
		return "the current setting"
	}
	return "the default"
}

// leader returns the setting that led the search.
func (w searchWords) leader() string {
	c := &w.Cells[*w.j.Setting]
	name := searchedSetting(c.Arm)
	name += units.If(slices.Contains(c.Labels, labelSnug), " (what snug run sets)")
	return name
}

// searchedSetting returns a setting as you write it.
func searchedSetting(a finding.Arm) string {
	burst := a.Burst
	a.Burst, a.Replicas, a.Vars = 0, 0, ""
	var parts []string
	if text := metric.SettingText(a); text != metric.GoDefault {
		parts = append(parts, text)
	}
	if burst > 0 {
		parts = append(parts, fmt.Sprintf("a burst of %d µs", burst))
	}
	if len(parts) == 0 {
		return "no variable"
	}
	return strings.Join(parts, " ")
}

// change describes the leader's effect on the objective, and its price.
func (w searchWords) change() string {
	what := metric.Called(w.Verdict.Metric)
	if w.j.Gain == nil {
		return what + " could not be compared" + w.price()
	}
	return what + " " + units.ChangeSaid(w.j.Gain.Ratio, w.j.Gain.Low, w.j.Gain.High) + w.comparedWith() + w.price()
}

// price lists where the leader is worse, except the objective: ", for 139 % more
// memory and 12 % less throughput"; "" if nowhere.
func (w searchWords) price() string {
	var costs []string
	for _, c := range w.j.Costs {
		if c.Metric == w.Verdict.Metric {
			continue
		}
		less := " % more "
		if c.Ratio < 1 {
			less = " % less "
		}
		size := strings.TrimLeft(units.Points(c.Ratio), "+-")
		switch name := metric.Called(c.Metric); c.Metric {
		case metric.P50, metric.P99:
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

// brokenText describes the requirement that is not met.
func brokenText(b *finding.Broken) string {
	switch b.Code {
	case finding.BrokeBound:
		return message.Clean(b.Bound) + " is not certain to hold"
	case finding.BrokeWorse:
		return metric.Called(b.Bound) + " is worse"
	}
	return cmp.Or(map[string]string{
		finding.BrokeMemory:  "OOM-killed",
		finding.BrokeRuns:    "no run that counts",
		finding.BrokeErrors:  "more errors than the baseline",
		finding.BrokeLoad:    "did not serve the offered load",
		finding.BrokeNothing: "it finished nothing in a run",
	}[b.Code], b.Code)
}
