// SPDX-License-Identifier: Apache-2.0

package examine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Compare returns what became of the findings of one diagnosis in a later one. Targets belong
// together if each document has only one, or if their names are equal without the process number,
// in order.
func Compare(before, after *finding.Doctor) []finding.ExaminedDiff {
	diffs := []finding.ExaminedDiff{}
	later := slices.Clone(after.Targets)
	for i := range before.Targets {
		b := &before.Targets[i]
		at := slices.IndexFunc(later, func(a finding.Examined) bool { return a.Kind == b.Kind && lasting(a.Target) == lasting(b.Target) })
		if len(before.Targets) == 1 && len(after.Targets) == 1 {
			at = 0
		}
		if at < 0 {
			diffs = append(diffs, compareTarget(b, nil))
			continue
		}
		diffs = append(diffs, compareTarget(b, &later[at]))
		later = slices.Delete(slices.Clone(later), at, at+1)
	}
	for i := range later {
		diffs = append(diffs, compareTarget(nil, &later[i]))
	}
	return diffs
}

// lasting returns the part of a target's name that a new process has too: "(server)" of "pid 7
// (server)".
func lasting(target string) string {
	if rest, ok := strings.CutPrefix(target, "pid "); ok {
		_, rest, _ = strings.Cut(rest, " ")
		return rest
	}
	return target
}

// compareTarget compares a target; nil = a document does not have it.
func compareTarget(before, after *finding.Examined) finding.ExaminedDiff {
	d := finding.ExaminedDiff{Findings: []finding.FindingDiff{}, Figures: []finding.FigureDiff{}, Unknown: []finding.Gap{}}
	var old, now finding.Examined
	if before != nil {
		old, d.Before = *before, &before.Target
	}
	if after != nil {
		now, d.After = *after, &after.Target
		d.Unknown = append(d.Unknown, after.Unknown...)
	}
	for i := range now.Findings {
		f := &now.Findings[i]
		x := finding.FindingDiff{ID: f.ID, Title: f.Title, Change: finding.FindingCame, After: &f.Severity, Fix: f.Fix}
		evidence := f.Evidence
		if at := find(&old, f.ID); at != nil {
			x.Change, x.Before = finding.FindingStayed, &at.Severity
			evidence = append(slices.Clone(evidence), at.Evidence...)
		}
		x.Figures = figures(evidence, &old, &now)
		d.Findings = append(d.Findings, x)
	}
	for i := range old.Findings {
		f := &old.Findings[i]
		if find(&now, f.ID) != nil {
			continue
		}
		x := finding.FindingDiff{ID: f.ID, Title: f.Title, Change: finding.FindingWent, Before: &f.Severity, Figures: figures(f.Evidence, &old, &now)}
		if after == nil || slices.ContainsFunc(x.Figures, func(g finding.FigureDiff) bool { return g.After == nil }) {
			x.Change = finding.FindingLost
		}
		d.Findings = append(d.Findings, x)
	}
	slices.SortStableFunc(d.Findings, func(a, b finding.FindingDiff) int { return cmp.Compare(worse(b), worse(a)) })
	for _, f := range figures(old.Facts, &old, &now) {
		if f.Before != nil && f.After != nil && *f.Before != *f.After {
			d.Figures = append(d.Figures, f)
		}
	}
	return d
}

// worse returns the level of the finding: in the later document, if it is there.
func worse(f finding.FindingDiff) int {
	if f.After != nil {
		return f.After.Level()
	}
	return f.Before.Level() - finding.SeverityError.Level() // below those that are there
}

func find(t *finding.Examined, id string) *finding.Finding {
	if i := slices.IndexFunc(t.Findings, func(f finding.Finding) bool { return f.ID == id }); i >= 0 {
		return &t.Findings[i]
	}
	return nil
}

// figures returns the named figures of two looks at a target, each once.
func figures(names []finding.Evidence, before, after *finding.Examined) []finding.FigureDiff {
	all := []finding.FigureDiff{}
	for _, e := range names {
		if !slices.ContainsFunc(all, func(f finding.FigureDiff) bool { return f.What == e.What }) {
			all = append(all, finding.FigureDiff{What: e.What, Unit: e.Unit, Before: value(before, e), After: value(after, e)})
		}
	}
	return all
}

// value returns a figure of a target: one of its facts, or else of a finding's evidence; nil =
// unknown.
func value(t *finding.Examined, like finding.Evidence) *float64 {
	same := func(e finding.Evidence) bool { return e.What == like.What && e.Unit == like.Unit }
	if i := slices.IndexFunc(t.Facts, same); i >= 0 {
		return &t.Facts[i].Value
	}
	for _, f := range t.Findings {
		if i := slices.IndexFunc(f.Evidence, same); i >= 0 {
			return &f.Evidence[i].Value
		}
	}
	return nil
}
