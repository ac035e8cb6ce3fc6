// SPDX-License-Identifier: Apache-2.0

package examine

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// found returns a target with findings.
func found(name string, ids ...string) finding.Examined {
	t := finding.Examined{Target: name, Kind: "process"}
	for _, id := range ids {
		t.Findings = append(t.Findings, finding.Finding{ID: id, Severity: finding.SeverityWarning})
	}
	return t
}

// TestCompareTargets: which targets of two documents belong together.
func TestCompareTargets(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after []finding.Examined
		want          []string
	}{
		{"the only ones", []finding.Examined{found("pid 1 (a)", "x")}, []finding.Examined{found("pid 2 (b)", "x")}, []string{"pid 1 (a) pid 2 (b) stayed"}},
		{"by name", []finding.Examined{found("pid 1 (a)", "x"), found("pid 2 (b)")}, []finding.Examined{found("pid 8 (b)", "x"), found("pid 9 (a)")},
			[]string{"pid 1 (a) pid 9 (a) went", "pid 2 (b) pid 8 (b) came"}},
		{"in order", []finding.Examined{found("pid 1 (a)", "x"), found("pid 2 (a)")}, []finding.Examined{found("pid 8 (a)", "x"), found("pid 9 (a)", "x")},
			[]string{"pid 1 (a) pid 8 (a) stayed", "pid 2 (a) pid 9 (a) came"}},
		{"ended, and new", []finding.Examined{found("pid 1 (a)", "x"), found("cpu.pprof")}, []finding.Examined{found("cpu.pprof", "x"), found("pid 9 (b)", "x")},
			[]string{"pid 1 (a) - not-judged", "cpu.pprof cpu.pprof came", "- pid 9 (b) came"}},
		{"none", nil, nil, nil},
	} {
		var got []string
		for _, d := range Compare(&finding.Doctor{Targets: c.before}, &finding.Doctor{Targets: c.after}) {
			line := ""
			for _, name := range []*string{d.Before, d.After} {
				if name == nil {
					name = new("-")
				}
				line += *name + " "
			}
			for _, f := range d.Findings {
				line += f.Change
			}
			got = append(got, line)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestCompareFigures: a finding went only if its figures are known again.
func TestCompareFigures(t *testing.T) {
	share := func(v float64) finding.Evidence {
		return finding.Evidence{What: "share", Value: v, Unit: finding.UnitRatio}
	}
	before := found("a", "x")
	before.Findings[0].Evidence, before.Facts = []finding.Evidence{share(.5)}, []finding.Evidence{share(.5), {What: "same", Value: 1}}
	after := found("a")
	after.Facts = []finding.Evidence{{What: "same", Value: 1}}
	d := compareTarget(&before, &after)
	if f := d.Findings[0]; f.Change != finding.FindingLost || *f.Figures[0].Before != .5 || f.Figures[0].After != nil || len(d.Figures) != 0 {
		t.Errorf("%+v", d)
	}
	after.Facts = append(after.Facts, share(.1))
	d = compareTarget(&before, &after)
	if f := d.Findings[0]; f.Change != finding.FindingWent || *f.Figures[0].After != .1 || len(d.Figures) != 1 {
		t.Errorf("%+v", d)
	}
	// The findings that are there come first.
	after.Findings = found("a", "y").Findings
	if d = compareTarget(&before, &after); d.Findings[0].ID != "y" || d.Findings[0].Change != finding.FindingCame {
		t.Errorf("%+v", d.Findings)
	}
}

// TestCompareMany: documents may be edited, and the work for them grows with their size alone.
func TestCompareMany(t *testing.T) {
	const many = 5_000
	d := &finding.Doctor{Targets: make([]finding.Examined, many)}
	for i := range d.Targets {
		d.Targets[i] = found(fmt.Sprintf("pid %d (a)", i), "x")
	}
	one := found("pid 1 (b)")
	for i := range many {
		id := strconv.Itoa(i)
		one.Facts = append(one.Facts, finding.Evidence{What: id, Value: float64(i)})
		one.Findings = append(one.Findings, finding.Finding{ID: id, Severity: finding.SeverityInfo})
	}
	d.Targets = append(d.Targets, one)
	if diffs := Compare(d, d); len(diffs) != many+1 || len(diffs[many].Findings) != many || *diffs[7].After != "pid 7 (a)" {
		t.Errorf("%d targets", len(diffs))
	}
}
