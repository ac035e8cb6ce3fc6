// SPDX-License-Identifier: Apache-2.0

package linter

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/lint"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
	"github.com/snug-go/snug/cmd/snug/internal/source/envfiles"
	"github.com/snug-go/snug/cmd/snug/vet"
)

// maxFound is how many findings are listed: one takes 5 KB of memory, and as little as 25 bytes of a manifest.
const maxFound = 3000

// Check runs the rules, and writes fixes if Mend is set.
func (l *Linter) Check() {
	if l.Options.Mend { // a fix is judged by all findings
		l.batch.Lift()
		l.result = lint.Check(l.Manifests())
		l.fix()
		return
	}
	l.batch.Light = true
	l.result = lint.Worst(l.Manifests(), maxFound)
	l.batch.Release()
	n := l.result.Left
	for i, room := 0, maxFound-len(l.result.Found); i < len(l.Sources); i++ {
		s := &l.Sources[i]
		n += max(0, len(s.settings)-room)
		s.settings = s.settings[:min(room, len(s.settings))]
		room -= len(s.settings)
	}
	if n > 0 {
		why := "at most " + units.Plural(n, "more finding") + ", the least severe"
		l.Unknown = append(l.Unknown, finding.Gap{Field: finding.GapKnobs, File: finding.UTF8(l.Sources[0].Path), Why: why})
	}
}

// Manifests returns the files that may be manifests, in their order.
func (l *Linter) Manifests() []*manifest.File {
	var all []*manifest.File
	for i := range l.Sources {
		if f := l.Sources[i].Manifest; f != nil {
			all = append(all, f)
		}
	}
	return all
}

// Document returns the answer.
func (l *Linter) Document() *finding.Lint {
	d := &finding.Lint{
		Head: finding.NewHead(finding.KindLint), Inputs: l.Inputs, Ignored: l.result.Ignored, Unknown: []finding.Gap{},
		Findings: make([]finding.LintMistake, 0, len(l.fixed)+len(l.result.Found)),
	}
	l.writable = map[string]bool{}
	for i := range l.Sources {
		l.writable[l.Sources[i].Path] = l.Sources[i].writable
	}
	titles := l.Titles
	for _, f := range l.fixed {
		m := l.mistake(&f, titles)
		m.Fixed = true
		d.Findings = append(d.Findings, m)
	}
	for i := range l.result.Found {
		d.Findings = append(d.Findings, l.mistake(&l.result.Found[i], titles))
	}
	for i := range l.Sources {
		s := &l.Sources[i]
		if s.err != nil || s.Manifest == nil && s.kind == envfiles.None {
			continue
		}
		d.Files++
		for _, f := range s.settings {
			d.Findings = append(d.Findings, knobMistake(s.Path, &f, titles))
		}
		if s.Manifest == nil {
			continue
		}
		d.Objects += s.Manifest.Found
		for _, o := range s.Manifest.Objects {
			if o.Form == manifest.Kubernetes {
				d.Pods += len(o.Pods)
			} else {
				d.Services += len(o.Pods)
			}
		}
		if s.Manifest.Found == 0 && len(s.Manifest.Objects) == 0 && len(s.Manifest.Problems) == 0 {
			d.Foreign++
		}
	}
	d.Unknown = append(append(d.Unknown, l.Unknown...), l.Problems()...)
	slices.SortStableFunc(d.Findings, func(a, b finding.LintMistake) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(column(a), column(b)))
	})
	// A manifest of a chart is also in its output, and a template may be rendered several times.
	d.Findings = slices.CompactFunc(d.Findings, func(a, b finding.LintMistake) bool {
		return l.Render && a.File == b.File && a.Line == b.Line && column(a) == column(b) &&
			a.ID == b.ID && a.Message == b.Message && a.Fixed == b.Fixed
	})
	d.Next = lintNext(d)
	return d
}

// column returns the column of a finding; 0 = none.
func column(m finding.LintMistake) int {
	if m.Column == nil {
		return 0
	}
	return *m.Column
}

// Problems returns the documents that could not be read, the lines that were not judged, and the sources that have to
// be rendered first; template sources of one chart or directory are one gap.
func (l *Linter) Problems() []finding.Gap {
	all := append(l.unrendered.gaps(), l.patches()...)
	templates := map[string]int{}
	var dirs []string
	for i := range l.Sources {
		s := &l.Sources[i]
		if s.Manifest == nil {
			continue
		}
		template := within(filepath.Dir(s.Path), l.unrendered.charts)
		note := func(field string, p manifest.Problem) {
			at := finding.UTF8(s.Path) + ":" + strconv.Itoa(p.Line)
			all = append(all, finding.Gap{Field: field, File: at, Why: finding.UTF8(p.Why)})
		}
		for _, p := range s.Manifest.Unjudged {
			if !template { // of a chart nothing was judged
				note(finding.GapKnobs, p)
			}
		}
		for _, p := range s.Manifest.Problems {
			if !p.Template {
				note(finding.GapFindings, p)
			} else if !template {
				template = true
				dir := filepath.Dir(s.Path)
				if templates[dir] == 0 {
					dirs = append(dirs, dir)
				}
				templates[dir]++
			}
		}
	}
	for _, dir := range dirs {
		what := "the source of a template; to check its output"
		if n := templates[dir]; n > 1 {
			what = strconv.Itoa(n) + " sources of templates; to check their output"
		}
		all = append(all, finding.Gap{
			Field: finding.GapTemplates, File: finding.UTF8(dir), Why: what + ": helm template CHART | snug check -",
		})
	}
	return all
}

// mistake converts a finding to the form of the document.
func (l *Linter) mistake(f *lint.Found, titles map[string]string) finding.LintMistake {
	file, line := f.Object.File().Where(f.At.Line)
	file = finding.UTF8(file)
	at := f.At.Column
	if l.Runes {
		at = f.Object.File().Runes(f.At)
	}
	if source, place, ok := l.origin(f); ok {
		file, line, at = finding.UTF8(source), place.Line, place.Column
	}
	m := finding.LintMistake{Mistake: finding.Mistake{
		Finding: finding.Finding{
			ID: f.ID, Severity: f.Severity, Title: titles[f.ID],
			Target: file + ":" + strconv.Itoa(line), Evidence: f.Evidence, Fix: f.Fix,
		},
		Message: f.Message, File: file, Line: line, Column: &at, Fixable: l.fixable(f),
	}}
	if m.Evidence == nil {
		m.Evidence = []finding.Evidence{}
	}
	name := f.Object.Title()
	m.Object = &name
	if f.Container != "" {
		role := f.Role.String()
		m.Container, m.Role = &f.Container, &role
	}
	if f.Object.Source != "" {
		m.Template = &f.Object.Source
	}
	return m
}

// fixable reports whether --fix can fix a finding.
func (l *Linter) fixable(f *lint.Found) bool {
	return len(f.Edits) > 0 && l.writable[f.Object.File().Name] && l.refused[lintKeyOf(f)] == ""
}

// knobMistake returns the finding of a Dockerfile or a file of variables.
func knobMistake(path string, f *envfiles.Found, titles map[string]string) finding.LintMistake {
	path = finding.UTF8(path)
	return finding.LintMistake{Mistake: finding.Mistake{
		Finding: finding.Finding{
			ID: f.ID, Severity: finding.Severity(vet.Severity(f.ID)), Title: titles[f.ID],
			Target: path + ":" + strconv.Itoa(f.Line), Evidence: []finding.Evidence{}, Fix: f.Fix,
		},
		Message: f.Text, File: path, Line: f.Line,
	}}
}

// lintNext returns the command to try next.
func lintNext(d *finding.Lint) string {
	var worst *finding.LintMistake
	for i := range d.Findings {
		if m := &d.Findings[i]; !m.Fixed && (worst == nil || m.Severity.Level() > worst.Severity.Level()) {
			worst = m
		}
	}
	if worst != nil {
		return "snug explain " + worst.ID
	}
	return ""
}

// unrendered holds inputs from which tools make manifests.
type unrendered struct {
	charts         map[string]bool   // directories, none inside another
	kustomizations []string          // directories that change their resources and are not the base of another
	done           map[string]bool   // rendered
	outputs        map[string]bool   // of tools, by path
	failed         map[string]string // why one could not be rendered
}

// patching matches the keys of a kustomization that change or generate objects.
var patching = regexp.MustCompile(`(?m)^["']?(?:patches\w*|components|replacements|transformers|vars|` +
	`\w+Generator|generators|helmCharts)["']?[ \t]*:`)

// kustomizationFiles are the names of a kustomization's file. Source: sigs.k8s.io/kustomize/api/konfig.
var kustomizationFiles = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

func isKustomization(path string) bool {
	return slices.Contains(kustomizationFiles, filepath.Base(path))
}

// tools finds charts and kustomizations. It marks resources of a kustomization as patched: a
// patch may add what they lack.
func (l *Linter) tools() {
	changes, found := map[string]bool{}, map[string][]byte{}
	charts := map[string]bool{}
	for i := range l.Sources {
		s := &l.Sources[i]
		dir := filepath.Dir(s.Path)
		switch {
		case s.Manifest == nil:
		case filepath.Base(s.Path) == "Chart.yaml":
			charts[dir] = true
		case isKustomization(s.Path):
			found[dir] = s.again()
			changes[dir] = patching.Match(found[dir])
		case s.Named && (len(s.Manifest.Problems) > 0 || s.Manifest.Found == 0):
			if dir = chartOf(s.Path); dir != "" {
				charts[dir] = true
			}
		}
	}
	l.unrendered.charts = map[string]bool{}
	for dir := range charts {
		if !within(filepath.Dir(dir), charts) || filepath.Dir(dir) == dir {
			l.unrendered.charts[dir] = true
		}
	}

	// A kustomization that another one names is its base.
	base := map[string]bool{}
	any := false
	for dir, text := range found {
		any = any || changes[dir]
		between := func(r rune) bool { return strings.ContainsRune(" \t\r\n[]{},\"'", r) }
		for _, word := range bytes.FieldsFunc(text, between) {
			of := filepath.Join(dir, string(word))
			if _, ok := found[of]; ok && of != dir {
				base[of] = true
			}
		}
	}
	kustomized := map[string]bool{}
	for dir := range found {
		kustomized[dir] = true
		if changes[dir] && !base[dir] {
			l.unrendered.kustomizations = append(l.unrendered.kustomizations, dir)
		}
	}
	slices.Sort(l.unrendered.kustomizations)
	for i := range l.Sources {
		if s := &l.Sources[i]; any && s.Manifest != nil {
			s.Manifest.Patched = within(filepath.Dir(s.Path), kustomized)
		}
	}
}

// again returns the text of a file, which is not kept if the file has no pod. It is empty if
// the file can no longer be read.
func (s *lintSource) again() []byte {
	if len(s.Manifest.Text) > 0 || s.Path == "-" {
		return s.Manifest.Text
	}
	text, _ := envfiles.Read(context.Background(), s.Path)
	return []byte(text)
}

// within reports whether a directory is one of dirs, or below one.
func within(dir string, dirs map[string]bool) bool {
	for len(dirs) > 0 {
		if dirs[dir] {
			return true
		}
		up := filepath.Dir(dir)
		if up == dir || filepath.Base(dir) == ".." {
			break
		}
		dir = up
	}
	return false
}

// chartOf returns the chart that contains a file: the nearest directory with a Chart.yaml, at
// most three above the file's own. "" = none.
func chartOf(path string) string {
	dir := filepath.Dir(path)
	for range 4 {
		if _, err := os.Stat(filepath.Join(dir, "Chart.yaml")); err == nil {
			return dir
		}
		if dir == "." || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

// jsonPatch matches patches of RFC 6902, in JSON or YAML.
var jsonPatch = regexp.MustCompile(`^\s*(?:\[\s*\{[^{}]*"op"\s*:\s*"[a-z]+"|(?:-\s+|- )(?:op|path|from)\s*:)`)

// patches returns a gap for each named file that holds a patch.
func (l *Linter) patches() []finding.Gap {
	var all []finding.Gap
	for i := range l.Sources {
		s := &l.Sources[i]
		foreign := s.Named && s.Manifest != nil && s.Manifest.Found == 0 && len(s.Manifest.Objects) == 0
		if foreign && jsonPatch.Match(s.again()) {
			all = append(all, finding.Gap{Field: finding.GapTemplates, File: finding.UTF8(s.Path),
				Why: "a patch, not a manifest; to check its result: kustomize build DIR | snug check -"})
		}
	}
	return all
}
