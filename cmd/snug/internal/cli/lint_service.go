// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
	"github.com/snug-go/snug/cmd/snug/internal/source/envfiles"
)

// units puts units and their drop-ins together.
func (l *linter) units() {
	type unit struct {
		base    *lintSource
		dropIns []*lintSource
	}
	byPath, byRoot, byName := map[string]*unit{}, map[string]*unit{}, map[string][]*unit{}
	var all []*unit
	for i := range l.sources {
		if s := &l.sources[i]; s.text != nil && manifest.DropIn(s.path) == "" {
			u := &unit{base: s}
			name := filepath.Base(s.path)
			byPath[filepath.Clean(s.path)], byName[name] = u, append(byName[name], u)
			if root, ok := manifest.SystemRoot(s.path); ok {
				byRoot[filepath.Join(root, name)] = u
			}
			all = append(all, u)
		}
	}
	alone := map[string]*unit{}
	for i := range l.sources {
		s := &l.sources[i]
		name := manifest.DropIn(s.path)
		if s.text == nil || name == "" {
			continue
		}
		// Beside its directory; of the same system, as with a unit in
		// usr/lib/systemd/system and its drop-in in etc/systemd/system; or the only
		// one of that name.
		path := filepath.Join(filepath.Dir(filepath.Dir(s.path)), name)
		u := byPath[path]
		if root, ok := manifest.SystemRoot(s.path); u == nil && ok {
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
		slices.SortStableFunc(u.dropIns, func(a, b *lintSource) int { return cmp.Compare(filepath.Base(a.path), filepath.Base(b.path)) })
		parts := u.dropIns
		if u.base != nil {
			parts = append([]*lintSource{u.base}, parts...)
		}
		var texts []manifest.Text
		for _, s := range parts {
			texts = append(texts, manifest.Text{Name: s.path, Text: s.text})
		}
		parts[0].manifest = manifest.ParseUnit(texts...)
	}
}

// envFiles reads the files of variables that services take. One that cannot be
// read is not known, and no rule goes by what it may say.
func (l *linter) envFiles() {
	at, tried := map[string]int{}, map[string]bool{}
	for i := range l.sources {
		at[filepath.Clean(l.sources[i].path)] = i
	}
	for i := 0; i < len(l.sources); i++ {
		f := l.sources[i].manifest
		if f == nil {
			continue
		}
		for _, path := range f.EnvFiles() {
			n, known := at[path]
			if tried[path] || len(tried) >= mostManifests || known && !l.sources[n].mayBeVariables() {
				continue
			}
			tried[path] = true
			text, err := envfiles.Read(context.Background(), path)
			if err != nil {
				continue
			}
			file := manifest.ParseEnvFile(manifest.Text{Name: path, Text: []byte(text)})
			if known {
				l.sources[n].settings, l.sources[n].manifest, l.sources[n].writable = nil, file, false
				continue
			}
			l.sources = append(l.sources, lintSource{path: path, kind: envfiles.Dotenv, manifest: file})
		}
	}
}

// mayBeVariables tells whether a file that has been read as something else holds
// variables: it was not known for anything.
func (s *lintSource) mayBeVariables() bool {
	switch s.kind {
	case envfiles.Dotenv:
		return true
	case envfiles.None:
		return s.manifest == nil || s.manifest.Found == 0 && len(s.manifest.Objects) == 0
	}
	return false
}
