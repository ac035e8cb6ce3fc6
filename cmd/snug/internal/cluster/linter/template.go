// SPDX-License-Identifier: Apache-2.0

package linter

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/source/envfiles"
)

// unrendered is what tools make manifests of, as far as it is among the input.
type unrendered struct {
	charts         map[string]bool // directories; none is in another
	kustomizations []string        // directories of those that others do not build on, and that change what they take
}

// patching are the keys of a kustomization that change or make objects.
var patching = regexp.MustCompile(`(?m)^["']?(?:patches\w*|components|replacements|transformers|vars|\w+Generator|generators|helmCharts)["']?[ \t]*:`)

func isKustomization(path string) bool {
	return slices.Contains([]string{"kustomization.yaml", "kustomization.yml", "Kustomization"}, filepath.Base(path))
}

// tools finds charts and kustomizations. What a kustomization takes is marked:
// it may be patched, so what is not in it may still be there.
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

	// Those that others name are what those build on.
	base := map[string]bool{}
	any := false
	for dir, text := range found {
		any = any || changes[dir]
		for _, word := range bytes.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n[]{},\"'", r) }) {
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

// again is the text of a file, which is not kept where it says nothing of a pod;
// empty when it cannot be read once more.
func (s *lintSource) again() []byte {
	if len(s.Manifest.Text) > 0 || s.Path == "-" {
		return s.Manifest.Text
	}
	text, _ := envfiles.Read(context.Background(), s.Path)
	return []byte(text)
}

// within tells whether a directory is one of dirs, or in one.
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

// chartOf is the chart that a file is of: its directory, or one above it, has a
// Chart.yaml. "" = none has.
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

// gaps are what is said of them.
func (u *unrendered) gaps() []finding.Gap {
	var all []finding.Gap
	for _, dir := range slices.Sorted(maps.Keys(u.charts)) {
		all = append(all, finding.Gap{Field: finding.GapTemplates, File: finding.UTF8(dir),
			Why: "a chart: its templates and values are no manifests; what they make can be looked at: snug lint --helm " + message.Quote(finding.UTF8(dir))})
	}
	for _, dir := range u.kustomizations {
		all = append(all, finding.Gap{Field: finding.GapTemplates, File: finding.UTF8(dir),
			Why: "a kustomization: what it patches and generates is not seen in its files; what they make can be looked at: snug lint --kustomize " + message.Quote(finding.UTF8(dir))})
	}
	return all
}

// jsonPatch is the text of patches in the form of RFC 6902.
var jsonPatch = regexp.MustCompile(`^\s*(?:\[\s*\{[^{}]*"op"\s*:\s*"[a-z]+"|(?:-\s+|- )(?:op|path|from)\s*:)`)

// patches are the files that were named and hold patches.
func (l *Linter) patches() []finding.Gap {
	var all []finding.Gap
	for i := range l.Sources {
		s := &l.Sources[i]
		if s.Named && s.Manifest != nil && s.Manifest.Found == 0 && len(s.Manifest.Objects) == 0 && jsonPatch.Match(s.again()) {
			all = append(all, finding.Gap{Field: finding.GapTemplates, File: finding.UTF8(s.Path),
				Why: "a patch, which is no manifest; what it makes can be looked at: kustomize build DIR | snug lint -"})
		}
	}
	return all
}
