// SPDX-License-Identifier: Apache-2.0

package content

import (
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

// Labels of cells with a name in sentences.
const labelDefault, labelCurrent, labelSnug = "default", "current", "snug"

// Say sets the sentences of an experiment's verdict on cells. Without data they stay
// unchanged: an older version of snug made them.
func Say(v *finding.BenchVerdict, cells []finding.Cell) {
	w := words{v, cells}
	if v.Code == "" && len(v.Judged) == 0 {
		return
	}
	v.Text = w.verdict()
	v.Cannot = units.Texts(v.Unshown, w.unshown)
}

// words makes the sentences of a verdict.
type words struct {
	*finding.BenchVerdict
	cells []finding.Cell
}

// verdict returns the answer in one line.
func (w words) verdict() string {
	switch w.Code {
	case finding.CodeUncounted:
		return "no verdict: " + w.uncounted()
	case finding.CodeLaw:
		return lawText(w.Law)
	case finding.CodeAlone:
		return "no verdict: one setting alone, nothing to compare it with"
	case finding.CodeNotAsked:
		return "measured without a verdict, as --objective none asks"
	case finding.CodeNotCompared:
		text := "no verdict: nothing was measured side by side"
		if w.Metric != "" {
			text = "no verdict: " + metric.Called(w.Metric) + " was not measured side by side"
		}
		return strings.TrimSuffix(text+"; "+w.uncounted(), "; ")
	}
	if len(w.Judged) == 1 {
		return w.one(&w.Judged[0])
	}
	return w.several()
}

// one returns the verdict on a single container.
func (w words) one(j *finding.Judged) string {
	text := ""
	switch j.Code {
	case finding.Won, finding.Spared:
		text = w.claim(j, true) + w.notExcluded()
	case finding.NoneSpared:
		text = "no verdict: " + w.noneSpared(j)
	case finding.TooFew:
		text = "no verdict: " + tooFew(j)
	default:
		text = "keep " + w.base(j.Baseline) + ": " + w.why(j)
	}
	return text + w.sameValue(j)
}

// several returns the verdict on several containers: the winners, the open ones, and where
// to keep the baseline.
func (w words) several() string {
	var won, open, few, kept []string
	trades, keeps := 0, 0 // keeps is a container where the baseline is kept
	for i := range w.Judged {
		j := &w.Judged[i]
		where := w.where(j)
		switch j.Code {
		case finding.Won, finding.Spared:
			won = append(won, where+" "+w.claim(j, false))
		case finding.NoneSpared:
			open = append(open, "no verdict "+where+": "+w.noneSpared(j))
		case finding.TooFew:
			few = append(few, "no verdict "+where+": "+tooFew(j))
		case finding.Traded:
			trades++
			kept, keeps = append(kept, where), i
		default:
			kept, keeps = append(kept, where), i
		}
	}
	if len(few) > 0 && len(few) == len(w.Judged) {
		return "no verdict: " + tooFew(&w.Judged[0])
	}
	if len(won) > 0 {
		won[len(won)-1] += w.notExcluded()
	}
	says := slices.Concat(won, open, few)
	if len(kept) > 0 {
		text := "keep the " + baseName(&w.cells[w.Judged[keeps].Baseline]) + " " + units.List(kept)
		switch {
		case trades > 0:
			text += ": nothing measured beats it without a cost"
		case len(won) == 0:
			text += ": nothing measured beats it beyond noise"
		}
		says = append(says, text)
	}
	return strings.Join(says, "; ")
}

// noneSpared says why there is no verdict although the baseline fails.
func (w words) noneSpared(j *finding.Judged) string {
	return "the " + baseName(&w.cells[j.Fails.Cell]) + " " + w.failure(j, j.Fails) + ", and no other setting is shown " +
		"to be spared"
}

// tooFew says that there are too few rounds for a verdict.
func tooFew(j *finding.Judged) string {
	return fmt.Sprintf("%s cannot show a difference, however large; it takes at least %d", units.Plural(j.Rounds, "round"),
		j.Least)
}

// why returns the reason to keep the baseline.
func (w words) why(j *finding.Judged) string {
	if j.Code == finding.Traded {
		text := w.setting(j, *j.Setting) + " " + w.phrase(j, j.Gain, true) + " but "
		if j.Failing != nil {
			return text + w.failure(j, j.Failing) + ": a trade, not a win"
		}
		return text + w.phrase(j, &j.Costs[0], false) + ": a trade, not a win"
	}
	text := "nothing measured beats it beyond noise" + compared(j.Settings, j.Rounds)
	if f := j.Failing; f != nil {
		text = w.setting(j, f.Cell) + " " + w.failure(j, f) + ", and " + text
	}
	switch {
	case j.Need > maxRounds:
		text += fmt.Sprintf("; to see %s takes over %d rounds, which is not practical", units.About(j.Margin), maxRounds)
	case j.Need > 0:
		text += fmt.Sprintf("; to see %s takes about %d rounds", units.About(j.Margin), j.Need)
	}
	return text
}

// base returns a baseline with its values: "the default (GOMAXPROCS=2)".
func (w words) base(cell int) string {
	base := &w.cells[cell]
	text := "the " + baseName(base)
	if base.Procs != nil && base.GOMAXPROCS == "" {
		return text + " (GOMAXPROCS=" + strconv.Itoa(*base.Procs) + ")"
	}
	if s := metric.SettingText(base.Arm); s != metric.GoDefault {
		text += " (" + s + ")"
	}
	return text
}

// sameValue says that Go's default and snug's value are one row, if they are.
func (w words) sameValue(j *finding.Judged) string {
	base := &w.cells[j.Baseline]
	if !slices.Contains(base.Labels, labelDefault) || !slices.Contains(base.Labels, labelSnug) {
		return ""
	}
	text := "; Go's default and snug's value are the same here"
	if base.Procs != nil {
		text += fmt.Sprintf(" (%d)", *base.Procs)
	}
	return text
}

// notExcluded says where winners may still be worse, because "not shown" is not "not
// worse"; "" if nowhere.
func (w words) notExcluded() string {
	texts := []string{units.If(w.FewRounds, "too few rounds to show what it costs")}
	for i := range w.Risks {
		r := &w.Risks[i]
		j, c := &w.Judged[r.Judged], &r.Comparison
		bad, how := c.High, "higher"
		if m := metric.MetricOf(c.Metric); m != nil && m.More {
			bad, how = c.Low, "lower"
		}
		texts = append(texts, metric.CalledOf(c.Metric, &w.cells[c.Cell])+ofWhich(&r.Comparison)+" could be up to "+
			units.About(math.Abs(*bad-1))+" "+how+w.under(j, c.Cell)+units.If(len(w.Judged) > 1, " "+w.where(j)))
	}
	texts = append(texts, units.If(w.NoTails, "tails were not measured"))
	return strings.TrimSuffix("; "+units.Join(", ", texts...), "; ")
}

// baseName returns the name of a baseline.
func baseName(c *finding.Cell) string {
	switch {
	case slices.Contains(c.Labels, labelDefault):
		return "default"
	case slices.Contains(c.Labels, labelCurrent):
		return "current setting"
	}
	return "baseline"
}

// setting names a cell's setting beside its baseline.
func (w words) setting(j *finding.Judged, cell int) string {
	c := &w.cells[cell]
	name := metric.SettingText(c.Arm)
	if c.Workload != w.cells[j.Baseline].Workload {
		name = c.Workload + " with " + name
	}
	if slices.Contains(c.Labels, labelSnug) && name != metric.GoDefault {
		name = "snug's " + name
	}
	return name
}

// where says how a container differs from the others: "at 0.5 CPUs".
func (w words) where(j *finding.Judged) string {
	c := &w.cells[j.Baseline]
	var workload, quota, memory bool
	for i := range w.Judged {
		o := &w.cells[w.Judged[i].Baseline]
		workload = workload || o.Workload != c.Workload
		quota = quota || o.Quota != c.Quota
		memory = memory || o.Memory != c.Memory
	}
	limit := "without a memory limit"
	if c.Memory > 0 {
		limit = "with " + units.Bytes(c.Memory)
	}
	return units.Join(" ", units.If(workload, "for "+c.Workload), units.If(quota, "at "+units.CPUs(c.Quota)),
		units.If(memory, limit))
}

// failure says how a cell fails, and under which load if there are several: "is OOM-killed
// in 3 of 7 rounds".
func (w words) failure(j *finding.Judged, f *finding.Failure) string {
	text, in := "", fmt.Sprintf(" in %d of %s", f.Rounds, units.Plural(f.Of, "round"))
	switch {
	case f.Code == finding.FailsMemory:
		text = "is OOM-killed" + in
	case f.Code == finding.FailsResult && f.Rounds < f.Of:
		text = "has no result" + in
	case f.Code == finding.FailsResult:
		text = "has no result"
	default:
		text = "fails " + units.About(f.Ratio) + " of its " + metric.Operation(&w.cells[f.Cell]) + "s"
	}
	return text + w.under(j, f.Cell)
}

// phrase puts a comparison in words: "costs 12 % (8 to 14 %) less CPU per request", with
// the load if there are several.
func (w words) phrase(j *finding.Judged, p *finding.Comparison, interval bool) string {
	size := units.About(math.Abs(p.Ratio - 1))
	if interval && p.Low != nil && p.High != nil {
		a, b := math.Abs(*p.Low-1), math.Abs(*p.High-1)
		size += " (" + strings.TrimSuffix(units.About(min(a, b)), " %") + " to " + units.About(max(a, b)) + ")"
	}
	less, lower := " more", " higher"
	if p.Ratio < 1 {
		less, lower = " less", " lower"
	}
	verb, what := "has", metric.Called(p.Metric)+w.inBenchmark(p)
	switch p.Metric {
	case metric.CPU:
		verb, what = "costs", metric.CalledOf(p.Metric, &w.cells[p.Cell])
	case metric.RPS:
		verb, what = "serves", ""
	case metric.Wall:
		verb, what = "takes", "time"
	case metric.BenchTime:
		verb = "takes"
	case metric.Peak:
		verb, what = "needs", "memory"
	case metric.P50, metric.P99:
		verb, less, what = "has a", lower, metric.Called(p.Metric)
	}
	return units.Join(" ", verb, size+less, what) + w.under(j, p.Cell)
}

// inBenchmark says which benchmark a comparison is of, if there are several.
func (w words) inBenchmark(p *finding.Comparison) string {
	n := 0
	for _, f := range w.cells[p.Cell].Benchmarks {
		if metric.Benchmark+f.Unit == p.Metric {
			n++
		}
	}
	switch {
	case p.Benchmark != "":
		return ofWhich(p)
	case n > 1:
		return " in the geometric mean of " + units.Plural(n, "benchmark")
	}
	return ""
}

// ofWhich names the benchmark of a comparison.
func ofWhich(p *finding.Comparison) string {
	if p.Benchmark == "" {
		return ""
	}
	return " of " + message.Clean(p.Benchmark)
}

// under puts the load of a cell in words, if there are several.
func (w words) under(j *finding.Judged, cell int) string {
	load := w.cells[cell].Load
	ramp, isRamp := rampText(load)
	switch {
	case j.Loads < 2:
		return ""
	case isRamp:
		return " in a " + ramp
	case strings.HasSuffix(load, "users"):
		return " with " + load
	case strings.HasSuffix(load, "%"):
		return " at " + load + " load"
	case strings.HasSuffix(load, "/s"):
		return " at " + load
	}
	return " when " + load
}
