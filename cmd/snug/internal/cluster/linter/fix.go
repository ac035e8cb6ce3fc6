// SPDX-License-Identifier: Apache-2.0

package linter

import (
	"bytes"
	"context"
	"errors"
	"io"
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
	mostRounds   = 3  // of fixes: one that overlaps with another is made in the next
	mostAttempts = 8  // of a round, before all that is left of it is left out
	mostTries    = 64 // to find out which of several fixes cannot be made
	mostNotes    = 20 // of fixes that are left out
)

// lintPlace is what a finding is about.
type lintPlace struct{ file, object, container string }

// lintKey tells findings apart whose lines may move.
type lintKey struct {
	lintPlace
	id, message string
}

func placeOf(f *lint.Found) lintPlace {
	return lintPlace{f.Object.File().Name, f.Object.Title(), f.Container}
}

func lintKeyOf(f *lint.Found) lintKey { return lintKey{placeOf(f), f.ID, f.Message} }

// fix writes fixes into files. What is written has been read again: it says what
// it said with these changes, the findings are gone, and there are no new ones. A
// fix that cannot be made is left out.
func (l *Linter) fix() {
	l.refused, l.tries = map[lintKey]string{}, mostTries
	from := l.files()
	for range mostRounds {
		if !l.round() {
			break
		}
	}
	l.write(from)
	said := 0
	for i := range l.result.Found {
		f := &l.result.Found[i]
		why := l.refused[lintKeyOf(f)]
		if why == "" && len(f.Edits) > 0 {
			why = l.unwritable(f)
		}
		if why == "" {
			continue
		}
		if said++; said <= mostNotes {
			l.Note("warning: not fixed, %s, %s:%d %s", why, f.Object.File().Name, f.At.Line, f.ID)
		}
	}
	if said > mostNotes {
		l.Note("warning: %d more are not fixed", said-mostNotes)
	}
}

// unwritable is why nothing is written to the file of a finding; "" = it may be.
func (l *Linter) unwritable(f *lint.Found) string {
	for i := range l.Sources {
		if s := &l.Sources[i]; s.Manifest == f.Object.File() {
			switch {
			case s.packed:
				return "the file is packed with gzip"
			case !s.writable:
				return "no regular file"
			}
		}
	}
	return ""
}

// files are the manifests of all sources; nil of those that have none.
func (l *Linter) files() []*manifest.File {
	var all []*manifest.File
	for i := range l.Sources {
		all = append(all, l.Sources[i].Manifest)
	}
	return all
}

// back makes the manifests be those that they were, and what was found in them.
func (l *Linter) back(files []*manifest.File, found lint.Result) {
	for i := range l.Sources {
		l.Sources[i].Manifest = files[i]
	}
	l.result = found
}

// round makes all fixes that do not overlap, in memory. It is false when there was
// none to make.
func (l *Linter) round() bool {
	before, from := l.result, l.files()
	for attempt := range mostAttempts {
		made := l.mend(before.Found)
		if len(made) == 0 {
			return false
		}
		l.result = lint.Check(l.Manifests(), l.programs)
		worse := l.worse(before, made)
		if len(worse) == 0 {
			l.commit(from, made)
			return true
		}
		l.back(from, before)
		for place, id := range worse {
			l.blame(place, id, made, attempt == mostAttempts-1)
		}
	}
	return false
}

// mend makes those of fixes that can be made.
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
		after, done := l.most(s.Manifest, fixes)
		if after != nil {
			s.Manifest, made = after, append(made, done...)
		}
	}
	return made
}

// most makes as many fixes of a file as can be made together.
func (l *Linter) most(file *manifest.File, fixes []lint.Found) (after *manifest.File, done []lint.Found) {
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

// chosen are edits of a file that do not overlap, in their order.
type chosen []manifest.Edit

// near is where an edit belongs, and those that it may overlap with.
func (c chosen) near(e manifest.Edit) (n int, near []manifest.Edit) {
	n, _ = slices.BinarySearchFunc(c, e, func(a, b manifest.Edit) int {
		if a.Before(b) {
			return -1
		}
		return 1
	})
	return n, c[max(0, n-1):min(len(c), n+1)]
}

// add takes edits, all or none of them.
func (c *chosen) add(more []manifest.Edit) bool {
	for _, e := range more {
		if _, near := c.near(e); slices.ContainsFunc(near, e.Overlaps) && !slices.ContainsFunc(near, e.Same) {
			return false
		}
	}
	for _, e := range more {
		if n, near := c.near(e); !slices.ContainsFunc(near, e.Same) {
			*c = slices.Insert(*c, n, e)
		}
	}
	return true
}

// worse are places where fixes bring findings that were not there, but lesser ones:
// with the right divisor GOMEMLIMIT may still be all of the limit. The id is that of
// one of them.
func (l *Linter) worse(before lint.Result, made []lint.Found) map[lintPlace]string {
	had, worst := map[lintKey]int{}, map[lintPlace]int{}
	for i := range before.Found {
		had[lintKeyOf(&before.Found[i])]++
	}
	for _, f := range slices.Concat(l.fixed, made) {
		had[lintKeyOf(&f)]-- // of rounds before: below 0
		worst[placeOf(&f)] = max(worst[placeOf(&f)], f.Severity.Level())
	}
	all := map[lintPlace]string{}
	for i := range l.result.Found {
		f := &l.result.Found[i]
		k := lintKeyOf(f)
		if had[k]--; had[k] < 0 && f.Severity.Level() > finding.SeverityInfo.Level() && f.Severity.Level() >= worst[k.lintPlace] {
			all[k.lintPlace] = f.ID
		}
	}
	return all
}

// blame leaves out the fix that brings a finding to a place: one there, else in its
// object, its file, or anywhere.
func (l *Linter) blame(place lintPlace, id string, made []lint.Found, all bool) {
	why := id + " would be there afterwards"
	for _, near := range []func(lintPlace) bool{
		func(p lintPlace) bool { return p == place && !all },
		func(p lintPlace) bool { return p.file == place.file && p.object == place.object && !all },
		func(p lintPlace) bool { return p.file == place.file && !all },
		func(lintPlace) bool { return true },
	} {
		some := slices.DeleteFunc(slices.Clone(made), func(f lint.Found) bool { return !near(placeOf(&f)) || l.refused[lintKeyOf(&f)] != "" })
		if len(some) == 0 {
			continue
		}
		guilty := some
		if len(some) > 1 {
			guilty = slices.DeleteFunc(slices.Clone(some), func(f lint.Found) bool { return l.harmless(f) })
		}
		if len(guilty) == 0 {
			guilty = some
		}
		for i := range guilty {
			l.refused[lintKeyOf(&guilty[i])] = why
		}
		return
	}
}

// harmless tells whether a fix alone brings nothing.
func (l *Linter) harmless(f lint.Found) bool {
	if l.tries <= 0 {
		return false
	}
	l.tries--
	before, from := l.result, l.files()
	defer l.back(from, before)
	made := l.mend([]lint.Found{f})
	l.result = lint.Check(l.Manifests(), l.programs)
	return len(made) > 0 && len(l.worse(before, made)) == 0
}

// commit notes what was made, and where it is now.
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

// write replaces files by what they have become. One that cannot be written stays
// as it is, with its findings.
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
			l.unfixed = append(l.unfixed, message.Reason(err)+", "+s.Path)
			l.Note("warning: not fixed, %s, %s", message.Reason(err), s.Path)
		}
	}
	if len(failed) > 0 {
		l.fixed = slices.DeleteFunc(l.fixed, func(f lint.Found) bool { return slices.Contains(failed, f.Object.File().Name) })
		l.result = lint.Check(l.Manifests(), l.programs)
	}
}

var (
	errMeanwhile = errors.New("it has changed meanwhile")
	errLinked    = errors.New("it has more than one name, hard links, and would lose the others")
)

// writeOne replaces a file, if it is still what was read. Its other names would
// keep the old text, so one with several is left alone.
func (l *Linter) writeOne(s *lintSource, old []byte) error {
	info, err := os.Stat(s.Path)
	if err != nil {
		return err
	}
	if outfile.Links(info) > 1 {
		return errLinked
	}
	return outfile.ReplaceChecked(s.Path, s.Manifest.Text, func() error {
		r, err := untrusted.Open(context.Background(), s.Path, untrusted.Limits{Bytes: manifest.MaxBytes})
		if err != nil {
			return err
		}
		defer r.Close()
		now, err := io.ReadAll(r)
		if err == nil && (r.Packed || !bytes.Equal(now, old)) {
			err = errMeanwhile
		}
		return err
	})
}

// Left is the error of files that could not be written.
func (l *Linter) Left() error {
	if len(l.unfixed) == 0 {
		return nil
	}
	hint := "the files and their directories have to be writable, and nothing else may change them; run it again"
	if n := len(l.unfixed) - 1; n > 0 {
		hint = strconv.Itoa(n) + " more are not fixed, see above; " + hint
	}
	return message.Failed("cannot fix, "+l.unfixed[0], hint)
}
