// SPDX-License-Identifier: Apache-2.0

package linter

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/source/envfiles"
)

// unrendered holds inputs from which tools make manifests.
type unrendered struct {
	charts         map[string]bool   // directories, none inside another
	kustomizations []string          // directories that change their resources and are not the base of another
	done           map[string]bool   // rendered
	outputs        map[string]bool   // of tools, by path
	failed         map[string]string // why one could not be rendered
}

// patching matches the keys of a kustomization that change or generate objects.
var patching = regexp.MustCompile(`(?m)^["']?(?:patches\w*|components|replacements|transformers|vars|\w+Generator|generators|helmCharts)["']?[ \t]*:`)

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
		if s.Named && s.Manifest != nil && s.Manifest.Found == 0 && len(s.Manifest.Objects) == 0 && jsonPatch.Match(s.again()) {
			all = append(all, finding.Gap{Field: finding.GapTemplates, File: finding.UTF8(s.Path),
				Why: "a patch, not a manifest; to check its result: kustomize build DIR | snug check -"})
		}
	}
	return all
}
