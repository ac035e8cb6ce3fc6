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
// in order. Its work is proportional to the documents, which people may edit.
func Compare(before, after *finding.Doctor) []finding.ExaminedDiff {
	diffs := []finding.ExaminedDiff{}
	if len(before.Targets) == 1 && len(after.Targets) == 1 {
		return append(diffs, compareTarget(&before.Targets[0], &after.Targets[0]))
	}
	name := func(t *finding.Examined) [2]string { return [2]string{t.Kind, lasting(t.Target)} }
	later := map[[2]string][]*finding.Examined{}
	for i := range after.Targets {
		a := &after.Targets[i]
		later[name(a)] = append(later[name(a)], a)
	}
	met := map[*finding.Examined]bool{}
	for i := range before.Targets {
		b := &before.Targets[i]
		var a *finding.Examined
		if list := later[name(b)]; len(list) > 0 {
			a, later[name(b)] = list[0], list[1:]
		}
		met[a] = true
		diffs = append(diffs, compareTarget(b, a))
	}
	for i := range after.Targets {
		if a := &after.Targets[i]; !met[a] {
			diffs = append(diffs, compareTarget(nil, a))
		}
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
	old, now := lookAt(before), lookAt(after)
	if before != nil {
		d.Before = &before.Target
	}
	if after != nil {
		d.After = &after.Target
		d.Unknown = append(d.Unknown, after.Unknown...)
	}
	for i := range now.Findings {
		f := &now.Findings[i]
		x := finding.FindingDiff{ID: f.ID, Title: f.Title, Change: finding.FindingCame, After: &f.Severity, Fix: f.Fix}
		evidence := f.Evidence
		if at := old.found[f.ID]; at != nil {
			x.Change, x.Before = finding.FindingStayed, &at.Severity
			evidence = append(slices.Clone(evidence), at.Evidence...)
		}
		x.Figures = figures(evidence, old, now)
		d.Findings = append(d.Findings, x)
	}
	for i := range old.Findings {
		f := &old.Findings[i]
		if now.found[f.ID] != nil {
			continue
		}
		x := finding.FindingDiff{ID: f.ID, Title: f.Title, Change: finding.FindingWent, Before: &f.Severity,
			Figures: figures(f.Evidence, old, now)}
		if after == nil || slices.ContainsFunc(x.Figures, func(g finding.FigureDiff) bool { return g.After == nil }) {
			x.Change = finding.FindingLost
		}
		d.Findings = append(d.Findings, x)
	}
	slices.SortStableFunc(d.Findings, func(a, b finding.FindingDiff) int { return cmp.Compare(worse(b), worse(a)) })
	for _, f := range figures(old.Facts, old, now) {
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

// look is a target, with its findings and figures by name.
type look struct {
	finding.Examined
	found map[string]*finding.Finding
	value map[quantity]*float64
}

type quantity struct {
	what string
	unit finding.Unit
}

// lookAt returns a look at a target; nil = at one without any figure. The first of equal names
// counts, and a fact before the evidence of a finding.
func lookAt(t *finding.Examined) *look {
	l := &look{found: map[string]*finding.Finding{}, value: map[quantity]*float64{}}
	if t == nil {
		return l
	}
	l.Examined = *t
	l.add(t.Facts)
	for i := range t.Findings {
		f := &t.Findings[i]
		l.add(f.Evidence)
		if l.found[f.ID] == nil {
			l.found[f.ID] = f
		}
	}
	return l
}

func (l *look) add(list []finding.Evidence) {
	for i := range list {
		e := &list[i]
		if q := (quantity{e.What, e.Unit}); l.value[q] == nil {
			l.value[q] = &e.Value
		}
	}
}

// figures returns the named figures of two looks at a target, each once; nil = unknown.
func figures(names []finding.Evidence, before, after *look) []finding.FigureDiff {
	all := []finding.FigureDiff{}
	once := map[string]bool{}
	for _, e := range names {
		if q := (quantity{e.What, e.Unit}); !once[e.What] {
			once[e.What] = true
			all = append(all, finding.FigureDiff{What: e.What, Unit: e.Unit, Before: before.value[q], After: after.value[q]})
		}
	}
	return all
}
