// SPDX-License-Identifier: Apache-2.0

package linter

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
	"github.com/snug-go/snug/cmd/snug/internal/source/envfiles"
)

// units merges units and their drop-ins.
func (l *Linter) units() {
	type unit struct {
		base    *lintSource
		dropIns []*lintSource
	}
	byPath, byRoot, byName := map[string]*unit{}, map[string]*unit{}, map[string][]*unit{}
	var all []*unit
	for i := range l.Sources {
		if s := &l.Sources[i]; s.text != nil && manifest.DropIn(s.Path) == "" {
			u := &unit{base: s}
			name := filepath.Base(s.Path)
			byPath[filepath.Clean(s.Path)], byName[name] = u, append(byName[name], u)
			if root, ok := manifest.SystemRoot(s.Path); ok {
				byRoot[filepath.Join(root, name)] = u
			}
			all = append(all, u)
		}
	}
	alone := map[string]*unit{}
	for i := range l.Sources {
		s := &l.Sources[i]
		name := manifest.DropIn(s.Path)
		if s.text == nil || name == "" {
			continue
		}
		// The unit is beside the drop-in's directory; or in the same file system tree, such as
		// a unit in usr/lib/systemd/system with a drop-in in etc/systemd/system; or the only
		// unit of that name.
		path := filepath.Join(filepath.Dir(filepath.Dir(s.Path)), name)
		u := byPath[path]
		if root, ok := manifest.SystemRoot(s.Path); u == nil && ok {
			u = byRoot[filepath.Join(root, name)]
		}
		if u == nil && len(byName[name]) == 1 {
			u = byName[name][0]
		}
		if u == nil {
			if u = alone[path]; u == nil {
				u = &unit{}
				alone[path], all = u, append(all, u)
			}
		}
		u.dropIns = append(u.dropIns, s)
	}
	for _, u := range all {
		slices.SortStableFunc(u.dropIns, func(a, b *lintSource) int { return cmp.Compare(filepath.Base(a.Path), filepath.Base(b.Path)) })
		parts := u.dropIns
		if u.base != nil {
			parts = append([]*lintSource{u.base}, parts...)
		}
		var texts []manifest.Text
		for _, s := range parts {
			texts = append(texts, manifest.Text{Name: s.Path, Text: s.text})
		}
		parts[0].Manifest = manifest.ParseUnit(texts...)
	}
}

// envFiles reads the env files of services. The variables of a file that cannot be read are
// unknown.
func (l *Linter) envFiles() {
	at, tried := map[string]int{}, map[string]bool{}
	for i := range l.Sources {
		at[filepath.Clean(l.Sources[i].Path)] = i
	}
	for i := 0; i < len(l.Sources); i++ {
		f := l.Sources[i].Manifest
		if f == nil {
			continue
		}
		for _, path := range f.EnvFiles() {
			n, known := at[path]
			if tried[path] || len(tried) >= maxManifests || known && !l.Sources[n].mayBeVariables() {
				continue
			}
			tried[path] = true
			root := l.Sources[i].root
			if system, ok := manifest.SystemRoot(l.Sources[i].Path); ok {
				root = system
			}
			if envfiles.Out(root, path) {
				l.isOut(path)
				continue
			}
			text, err := envfiles.Read(context.Background(), path)
			if err != nil {
				continue
			}
			file := manifest.ParseEnvFile(manifest.Text{Name: path, Text: []byte(text)})
			if known {
				l.Sources[n].settings, l.Sources[n].Manifest, l.Sources[n].writable = nil, file, false
				continue
			}
			l.Sources = append(l.Sources, lintSource{Path: path, kind: envfiles.Dotenv, Manifest: file})
		}
	}
}

// mayBeVariables reports whether a file that has been read may be an env file: it was not
// recognized as anything else.
func (s *lintSource) mayBeVariables() bool {
	switch s.kind {
	case envfiles.Dotenv:
		return true
	case envfiles.None:
		return s.Manifest == nil || s.Manifest.Found == 0 && len(s.Manifest.Objects) == 0
	}
	return false
}
