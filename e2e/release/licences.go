// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/mod/module"
)

// licence is the licence of a linked module.
type licence struct {
	module  *debug.Module // Path is "std" for the standard library
	id      string        // SPDX licence expression
	notices []notice
}

type notice struct{ name, text string }

// noticeName matches the files that licences require to be passed on.
var noticeName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|authors)([-._].*)?$`)

// std is the path of the standard library in the list of modules.
const std = "std"

// collectLicences reads the licences of all code linked into the binaries: the modules in their
// build information, found in the module cache they were built from, and the standard library.
func collectLicences(ctx context.Context, cache string, binaries []binary) ([]licence, error) {
	modules := map[string]*debug.Module{}
	for _, b := range binaries {
		modules[std] = &debug.Module{Path: std, Version: b.info.GoVersion}
		for _, m := range b.info.Deps {
			if m.Replace != nil {
				return nil, fmt.Errorf("%s replaces %s", b.name(), m.Path)
			}
			if m.Path != library {
				modules[m.Path] = m
			}
		}
	}
	goroot, err := command(ctx, "", nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	var all []licence
	for path, m := range modules {
		dir := strings.TrimSpace(goroot)
		if path != std {
			escaped, err := module.EscapePath(path)
			if err != nil {
				return nil, err
			}
			version, err := module.EscapeVersion(m.Version)
			if err != nil {
				return nil, err
			}
			dir = filepath.Join(cache, filepath.FromSlash(escaped)+"@"+version)
		}
		l, err := readLicence(m, dir)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b licence) int { return strings.Compare(a.module.Path, b.module.Path) })
	return all, nil
}

// readLicence reads a module's notices. An unidentified licence is an error, for a person to
// resolve.
func readLicence(m *debug.Module, dir string) (licence, error) {
	l := licence{module: m}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return l, err
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() || !noticeName.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return l, err
		}
		l.notices = append(l.notices, notice{e.Name(), string(text)})
		if id := identify(string(text)); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return l, fmt.Errorf("no known licence in %s of %s %s", dir, m.Path, m.Version)
	}
	slices.Sort(ids)
	l.id = strings.Join(ids, " AND ")
	return l, nil
}

// marks maps SPDX identifiers to sentences that only that licence has. The three clauses of
// BSD-3-Clause include the two of BSD-2-Clause, so they come first.
var marks = []struct {
	id   string
	text []string
}{
	{"Apache-2.0", []string{"apache license version 2.0", "grant of patent license"}},
	{"MPL-2.0", []string{"mozilla public license version 2.0"}},
	{"BSD-3-Clause", []string{"redistributions in binary form must reproduce", "neither the name"}},
	{"BSD-2-Clause", []string{"redistributions in binary form must reproduce", "redistributions of source code must retain"}},
	{"MIT", []string{"permission is hereby granted, free of charge", "the software is provided \"as is\""}},
	{"ISC", []string{"permission to use, copy, modify, and", "with or without fee is hereby granted"}},
}

// identify returns the SPDX identifier of a licence text, "" for another.
func identify(text string) string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	text = strings.ReplaceAll(text, "license, version", "license version")
next:
	for _, m := range marks {
		for _, mark := range m.text {
			if !strings.Contains(text, mark) {
				continue next
			}
		}
		return m.id
	}
	return ""
}

// licenceText returns the content of THIRD_PARTY_LICENSES.
func licenceText(all []licence) []byte {
	var b bytes.Buffer
	b.WriteString("The snug binaries contain the following third-party software.\n")
	for _, l := range all {
		name := l.module.Path
		if name == std {
			name = "the Go standard library"
		}
		for _, n := range l.notices {
			line := strings.Repeat("=", 78)
			fmt.Fprintf(&b, "\n%s\n%s %s (%s): %s\n%s\n\n%s\n", line, name, l.module.Version, l.id, n.name, line, strings.TrimSpace(n.text))
		}
	}
	return b.Bytes()
}
