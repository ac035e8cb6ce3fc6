// SPDX-License-Identifier: Apache-2.0

package look

import (
	"io"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/profile/cpuprof"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/page"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// compared prints the differences of two profiles and writes the page, if it is named.
func compared(u *ui.UI, both []*taken, byShare bool, html string) error {
	a, b := both[0], both[1]
	c, err := cpuprof.Compare(a.profile, b.profile, byShare)
	if err != nil {
		return err
	}
	d := &finding.ProfileDiff{
		Head: finding.NewHead(finding.KindProfileDiff), A: side(a), B: side(b), Unit: finding.UnitRatio,
		Confidence: cpuprof.Confidence,
		Total:      page.Change(c.Total), OverSize: page.Change(c.OverSize), GC: page.Change(c.GC),
		Classes: []finding.ClassDiff{}, Functions: []finding.FuncDiff{}, Caveats: caveats(c, byShare),
	}
	if c.PerSecond {
		d.Unit = finding.UnitCores
	}
	for _, x := range c.Classes {
		d.Classes = append(d.Classes,
			finding.ClassDiff{ID: string(x.Class), Words: x.Class.Words(), Change: page.Change(x.Change)})
	}
	for _, x := range c.Functions[:min(len(c.Functions), topFunctions)] {
		d.Functions = append(d.Functions,
			finding.FuncDiff{Function: finding.UTF8(x.Name), Change: page.Change(x.Change), Own: page.Change(x.Self)})
	}
	d.Next = afterComparison(d)
	wrong := written(html, &d.Page, func(w io.Writer) error { return page.FlameDiff(w, c, d) })
	if err := u.Answer(d); err != nil {
		return err
	}
	return wrong
}

func side(t *taken) finding.Profiled {
	return finding.Profiled{Target: t.target, Source: string(t.Source), Seconds: t.seconds(), CPU: t.CPUSeconds,
		Samples: t.Samples}
}

// fewSamples is the number of samples of a profile below which only large differences can be shown.
const fewSamples = 100

// caveats returns what a comparison does not show.
func caveats(c *cpuprof.Comparison, byShare bool) []string {
	all := []string{}
	say := func(that bool, words string) {
		if that {
			all = append(all, words)
		}
	}
	a, b := c.A, c.B
	say(!byShare && !c.PerSecond, "Shares of the CPU time are compared, because a profile does not have its duration.")
	say(a.CPUSeconds <= 0 || b.CPUSeconds <= 0, "A profile has no CPU time: the process was idle.")
	unknown := a.Samples == 0 && a.CPUSeconds > 0 || b.Samples == 0 && b.CPUSeconds > 0
	say(unknown, "A profile does not have its number of samples, so no difference can be told from chance.")
	least := min(a.Samples, b.Samples)
	say(!unknown && least < fewSamples,
		"A profile has "+units.Plural(least, "sample")+", so only large differences can be shown: sample longer.")
	say(a.Source != b.Source, "The samplers differ: "+string(a.Source)+" and "+string(b.Source)+".")
	one := (a.Source == cpuprof.RuntimePprof) != (b.Source == cpuprof.RuntimePprof)
	say(one, "runtime/pprof never sees the thread of sysmon, and misses a part of sched and sched.netpoll.")
	say(a.UserOnly != b.UserOnly,
		"Only one profile has time in the kernel, so system calls and page faults differ for that reason.")
	if unknown || least == 0 {
		return all
	}
	return append(all, "The intervals are of chance in sampling. Load, data and the machine may differ too: snug bench "+
		"compares settings with the same load in shuffled rounds.")
}

// afterComparison returns the next command to try: to explain what grew, or what else changed.
func afterComparison(d *finding.ProfileDiff) string {
	switch {
	case d.OverSize.Shown && d.OverSize.Difference > 0:
		return "snug explain over-size"
	case d.GC.Shown && d.GC.Difference > 0:
		return "snug explain gc-cpu"
	}
	for _, c := range d.Classes {
		if c.Shown && c.ID != string(cpuprof.User) {
			return "snug explain " + c.ID
		}
	}
	return "snug bench --help"
}
