// SPDX-License-Identifier: Apache-2.0

package linter

import (
	"bytes"
	"errors"
	"math"
	"os"
	"slices"
	"strconv"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/lint"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	untrusted "github.com/snug-go/snug/cmd/snug/internal/source/bounded"
	"github.com/snug-go/snug/cmd/snug/internal/source/outfile"
)

const (
	maxRounds   = 3  // of fixes; a fix that overlaps another waits for the next round
	maxAttempts = 8  // per round, before its remaining fixes are left out
	maxTries    = 64 // to find out which of several fixes fails
	maxNotes    = 20 // about fixes that are left out
)

// lintPlace identifies the subject of a finding.
type lintPlace struct{ file, object, container string }

// lintKey identifies a finding, whose line may move.
type lintKey struct {
	lintPlace
	id, message string
}

func placeOf(f *lint.Found) lintPlace {
	return lintPlace{f.Object.File().Name, f.Object.Title(), f.Container}
}

func lintKeyOf(f *lint.Found) lintKey { return lintKey{placeOf(f), f.ID, f.Message} }

// fix writes fixes into files. It reads the new text again before it writes: nothing but the
// fixes has changed, the fixed findings are gone, and there are no new ones. A fix that fails
// is left out.
func (l *Linter) fix() {
	l.refused, l.tries = map[lintKey]string{}, maxTries
	from := l.files()
	for range maxRounds {
		if !l.round() {
			break
		}
	}
	l.write(from)
	notes := 0
	for i := range l.result.Found {
		f := &l.result.Found[i]
		why := l.refused[lintKeyOf(f)]
		if why == "" && len(f.Edits) > 0 {
			why = l.unwritable(f)
		}
		if why == "" {
			continue
		}
		if notes++; notes <= maxNotes {
			l.Note("warning: %s:%d: not fixed (%s): %s", f.Object.File().Name, f.At.Line, f.ID, why)
		}
	}
	if notes > maxNotes {
		l.Note("warning: %d more are not fixed", notes-maxNotes)
	}
}

// unwritable returns why the file of a finding cannot be fixed; "" = it can.
func (l *Linter) unwritable(f *lint.Found) string {
	for i := range l.Sources {
		if s := &l.Sources[i]; s.Manifest == f.Object.File() {
			switch {
			case l.unrendered.outputs[s.Path]:
				return "it is the output of a tool"
			case s.packed:
				return "the file is compressed with gzip"
			case !s.writable:
				return "not a regular file"
			}
		}
	}
	return ""
}

// files returns the manifests of all sources; nil for a source without one.
func (l *Linter) files() []*manifest.File {
	var all []*manifest.File
	for i := range l.Sources {
		all = append(all, l.Sources[i].Manifest)
	}
	return all
}

// back restores manifests and their findings.
func (l *Linter) back(files []*manifest.File, found lint.Result) {
	for i := range l.Sources {
		l.Sources[i].Manifest = files[i]
	}
	l.result = found
}

// round makes all fixes that do not overlap, in memory. It reports whether there was one to
// make.
func (l *Linter) round() bool {
	before, from := l.result, l.files()
	for attempt := range maxAttempts {
		made := l.mend(before.Found)
		if len(made) == 0 {
			return false
		}
		l.result = lint.Check(l.Manifests())
		worse := l.worse(before, made)
		if len(worse) == 0 {
			l.commit(from, made)
			return true
		}
		l.back(from, before)
		for _, f := range worse {
			l.blame(f, made, attempt == maxAttempts-1)
		}
	}
	return false
}

// mend makes the fixes of found that do not overlap, and returns those that succeeded.
func (l *Linter) mend(found []lint.Found) (made []lint.Found) {
	of := map[*manifest.File][]lint.Found{}
	for _, f := range found {
		if len(f.Edits) > 0 && l.refused[lintKeyOf(&f)] == "" {
			of[f.Object.File()] = append(of[f.Object.File()], f)
		}
	}
	for i := range l.Sources {
		s := &l.Sources[i]
		if s.Manifest == nil || !s.writable || len(of[s.Manifest]) == 0 {
			continue
		}
		var c chosen
		fixes := slices.DeleteFunc(of[s.Manifest], func(f lint.Found) bool { return !c.add(f.Edits) })
		after, done := l.apply(s.Manifest, fixes)
		if after != nil {
			s.Manifest, made = after, append(made, done...)
		}
	}
	return made
}

// apply makes as many fixes of a file as succeed together.
func (l *Linter) apply(file *manifest.File, fixes []lint.Found) (after *manifest.File, done []lint.Found) {
	var try func([]lint.Found)
	try = func(some []lint.Found) {
		all := slices.Concat(done, some)
		f, err := file.Apply(lintEdits(all))
		switch {
		case err == nil:
			after, done = f, all
		case len(some) == 1 || l.tries <= 0:
			for i := range some {
				l.refused[lintKeyOf(&some[i])] = err.Error()
			}
		default:
			l.tries--
			try(some[:len(some)/2])
			try(some[len(some)/2:])
		}
	}
	try(fixes)
	return after, done
}

func lintEdits(fixes []lint.Found) []manifest.Edit {
	var all []manifest.Edit
	seen := map[any]bool{}
	for _, f := range fixes {
		for _, e := range f.Edits {
			if !seen[e.Key()] {
				seen[e.Key()] = true
				all = append(all, e)
			}
		}
	}
	return all
}

// chosen holds edits of a file that do not overlap, in their order.
type chosen []manifest.Edit

// add adds edits, all or none. It reports whether they fit.
func (c *chosen) add(more []manifest.Edit) bool {
	var fresh []manifest.Edit
	for _, e := range more {
		n, _ := slices.BinarySearchFunc(*c, e, manifest.Edit.Compare)
		near := (*c)[max(0, n-1):min(len(*c), n+1)]
		switch {
		case slices.ContainsFunc(near, e.Same):
		case slices.ContainsFunc(near, e.Overlaps):
			return false
		default:
			fresh = append(fresh, e)
		}
	}
	for _, e := range fresh {
		n, _ := slices.BinarySearchFunc(*c, e, manifest.Edit.Compare)
		*c = slices.Insert(*c, n, e)
	}
	return true
}

// worse returns the places where fixes cause new findings, each with one of them. Findings
// less severe than the fixed one do not count: with the right divisor, GOMEMLIMIT may still
// equal the limit.
func (l *Linter) worse(before lint.Result, made []lint.Found) map[lintPlace]*lint.Found {
	had, worst := map[lintKey]int{}, map[lintPlace]int{}
	for i := range before.Found {
		had[lintKeyOf(&before.Found[i])]++
	}
	for _, f := range slices.Concat(l.fixed, made) {
		had[lintKeyOf(&f)]-- // below 0 for earlier rounds
		worst[placeOf(&f)] = max(worst[placeOf(&f)], f.Severity.Level())
	}
	all := map[lintPlace]*lint.Found{}
	for i := range l.result.Found {
		f := &l.result.Found[i]
		k := lintKeyOf(f)
		had[k]--
		level := f.Severity.Level()
		if had[k] < 0 && level > finding.SeverityInfo.Level() && level >= worst[k.lintPlace] {
			all[k.lintPlace] = f
		}
	}
	return all
}

// blame leaves out the fix that likely causes a finding: the nearest of its place, else of its object, its file, or
// any; all = every fix that was made.
func (l *Linter) blame(f *lint.Found, made []lint.Found, all bool) {
	place, line := placeOf(f), f.At.Line
	var guilty lintKey
	least := math.MaxInt
	for i := range made {
		key := lintKeyOf(&made[i])
		far := max(line-made[i].At.Line, made[i].At.Line-line)
		switch {
		case l.refused[key] != "":
			continue
		case key.file != place.file:
			far += 3 << 28
		case key.object != place.object:
			far += 2 << 28
		case key.lintPlace != place:
			far += 1 << 28
		}
		if far < least {
			guilty, least = key, far
		}
		if all {
			l.refused[key] = "the fix would cause " + f.ID
		}
	}
	if least < math.MaxInt {
		l.refused[guilty] = "the fix would cause " + f.ID
	}
}

// commit records the fixes made, at their new positions.
func (l *Linter) commit(from []*manifest.File, made []lint.Found) {
	moved := map[string]func(manifest.Pos) manifest.Pos{}
	for i, f := range from {
		if after := l.Sources[i].Manifest; f != after {
			edits := lintEdits(slices.DeleteFunc(slices.Clone(made), func(m lint.Found) bool { return m.Object.File() != f }))
			moved[f.Name] = f.Moved(edits, after)
		}
	}
	l.fixed = append(l.fixed, made...)
	for i := range l.fixed {
		f := &l.fixed[i]
		if move := moved[f.Object.File().Name]; move != nil {
			f.At = move(f.At)
		}
	}
}

// write writes the changed files. A file that cannot be written keeps its text and its
// findings.
func (l *Linter) write(from []*manifest.File) {
	var failed []string
	for i := range l.Sources {
		s := &l.Sources[i]
		if s.Manifest == from[i] {
			continue
		}
		if err := l.writeOne(s, from[i].Text); err != nil {
			s.Manifest = from[i]
			failed = append(failed, s.Path)
			l.unfixed = append(l.unfixed, s.Path+": "+message.Reason(err))
			l.Note("warning: %s: not fixed: %s", s.Path, message.Reason(err))
		}
	}
	if len(failed) > 0 {
		l.fixed = slices.DeleteFunc(l.fixed, func(f lint.Found) bool {
			return slices.Contains(failed, f.Object.File().Name)
		})
		l.result = lint.Check(l.Manifests())
	}
}

var (
	errMeanwhile = errors.New("it has changed since it was read")
	errLinked    = errors.New("it has several hard links, and the others would keep the old text")
)

// writeOne replaces a file if it is still as it was read. It refuses a file with several
// hard links, because the others would keep the old text.
func (l *Linter) writeOne(s *lintSource, text []byte) error {
	return outfile.ReplaceChecked(s.Path, s.Manifest.Text, func(old *os.File) error {
		info, err := old.Stat()
		if err != nil {
			return err
		}
		if outfile.Links(info) > 1 {
			return errLinked
		}
		now, err := untrusted.ReadAll(old, manifest.MaxBytes)
		if err == nil && !bytes.Equal(now, text) {
			err = errMeanwhile
		}
		return err
	})
}

// Left returns the error for files that could not be written.
func (l *Linter) Left() error {
	if len(l.unfixed) == 0 {
		return nil
	}
	hint := "make the files and their directories writable, let nothing else change them, and run it again"
	if n := len(l.unfixed) - 1; n > 0 {
		hint = strconv.Itoa(n) + " more are not fixed, see above; " + hint
	}
	return message.Failed("cannot fix: "+l.unfixed[0], hint)
}
