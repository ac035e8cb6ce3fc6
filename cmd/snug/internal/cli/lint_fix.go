// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/finding"
	"github.com/snug-go/snug/cmd/snug/internal/kube/lint"
	"github.com/snug-go/snug/cmd/snug/internal/kube/manifest"
)

// fix writes fixes into files. What is written has been read again: it says what
// it said with these changes, the findings are gone, and there are no new ones.
func (l *linter) fix() error {
	texts := map[string][]byte{}
	// A fix that overlaps with another is made in the next round.
	for range 3 {
		changed, err := l.round(texts)
		if err != nil {
			return err
		}
		if !changed {
			break
		}
	}
	var files []string
	for i := range l.sources {
		if path := l.sources[i].path; texts[path] != nil && !slices.Contains(files, path) {
			files = append(files, path)
		}
	}
	return writeFixed(files, texts)
}

// round makes all fixes that do not overlap, in memory.
func (l *linter) round(texts map[string][]byte) (changed bool, err error) {
	before := l.result
	for i := range l.sources {
		s := &l.sources[i]
		if s.manifest == nil || !s.writable {
			continue
		}
		var edits []manifest.Edit
		var made []lint.Found
		for _, f := range before.Found {
			if f.Object.File() != s.manifest || len(f.Edits) == 0 || overlap(edits, f.Edits) {
				continue
			}
			for _, e := range f.Edits {
				if !slices.ContainsFunc(edits, e.Same) {
					edits = append(edits, e)
				}
			}
			made = append(made, f)
		}
		if len(edits) == 0 {
			continue
		}
		after, err := s.manifest.Apply(edits)
		if err != nil {
			return false, failed("cannot fix, "+err.Error()+", "+s.path, "mend it by hand; nothing is written")
		}
		s.manifest, changed = after, true
		texts[s.path] = after.Text
		l.fixed = append(l.fixed, made...)
	}
	if !changed {
		return false, nil
	}
	l.result = lint.Check(l.manifests(), l.programs)
	return true, l.mended(before)
}

func overlap(edits, more []manifest.Edit) bool {
	return slices.ContainsFunc(more, func(e manifest.Edit) bool {
		return slices.ContainsFunc(edits, func(t manifest.Edit) bool { return !t.Same(e) && t.Overlaps(e) })
	})
}

// mended holds that fixes took findings away, and brought none but lesser ones:
// with the right divisor GOMEMLIMIT may still be all of the limit.
func (l *linter) mended(before lint.Result) error {
	type place struct{ file, object, container string }
	type key struct {
		place
		id, message string
	}
	where := func(f *lint.Found) place {
		return place{f.Object.File().Name, f.Object.Title(), f.Container}
	}
	had, worst := map[key]int{}, map[place]int{}
	for i := range before.Found {
		f := &before.Found[i]
		had[key{where(f), f.ID, f.Message}]++
	}
	for i := range l.fixed {
		f := &l.fixed[i]
		had[key{where(f), f.ID, f.Message}]-- // of rounds before: below 0
		worst[where(f)] = max(worst[where(f)], f.Severity.Level())
	}
	for i := range l.result.Found {
		f := &l.result.Found[i]
		k := key{where(f), f.ID, f.Message}
		if had[k]--; had[k] < 0 && f.Severity.Level() > finding.SeverityInfo.Level() && f.Severity.Level() >= worst[k.place] {
			return failed("cannot fix, "+f.ID+" would be there afterwards, "+k.file, "mend it by hand; nothing is written")
		}
	}
	return nil
}
