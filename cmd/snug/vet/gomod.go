// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/version"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// modFile holds the parts of a go.mod or go.work that the analyzers need. Source:
// go.dev/ref/mod.
type modFile struct {
	path     string
	text     []byte
	goLine   int               // line number of the go line, from 1; 0 = none
	version  string            // of the go line, such as "1.24"; "" = none
	godebug  map[string]string // of godebug lines
	requires map[string]bool   // modules that are required directly
	uses     []string          // directories of a go.work
	ignores  []string          // IDs of //snug:ignore with a reason, on the go line or above it
}

const maxModFile = 1 << 20 // bytes

// readModFile reads a go.mod or go.work; nil if it cannot.
func readModFile(path string) *modFile {
	// Stat before opening, which would wait for the writer of a pipe.
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > maxModFile {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxModFile))
	if err != nil {
		return nil
	}
	m := parseModFile(string(text))
	m.path, m.text = path, text
	return m
}

func parseModFile(text string) *modFile {
	m := &modFile{godebug: map[string]string{}, requires: map[string]bool{}}
	block, above := "", ""
	number := 0
	for line := range strings.Lines(text) {
		number++
		code, comment, _ := strings.Cut(line, "//")
		words := strings.Fields(code)
		if len(words) == 0 {
			above = comment
			continue
		}
		verb := block
		switch {
		case words[0] == ")":
			block, verb = "", ""
		case len(words) == 2 && words[1] == "(":
			block, verb = words[0], ""
		case block == "":
			verb, words = words[0], words[1:]
		}
		if verb != "" && len(words) > 0 {
			m.line(verb, strings.Trim(words[0], "\"`"), comment, number)
			if verb == "go" {
				for _, c := range []string{above, comment} {
					if id, reason, ok := Ignore(strings.TrimRight(c, "\r\n")); ok && reason {
						m.ignores = append(m.ignores, id)
					}
				}
			}
		}
		above = ""
	}
	return m
}

func (m *modFile) line(verb, word, comment string, number int) {
	switch verb {
	case "go":
		if m.goLine == 0 && version.IsValid("go"+word) {
			m.goLine, m.version = number, word
		}
	case "godebug":
		if k, v, ok := strings.Cut(word, "="); ok {
			m.godebug[k] = v
		}
	case "require":
		if !strings.HasPrefix(strings.TrimSpace(comment), "indirect") {
			m.requires[word] = true
		}
	case "use":
		m.uses = append(m.uses, word)
	}
}

// module returns the directory of the package, and its go.mod and go.work, as moduleOf
// does. Files that cgo makes are elsewhere, but most of them name their source.
func (s *source) module() (dir string, mod, work *modFile) {
	for _, f := range s.files {
		dir = filepath.Dir(Position(s.pass.Fset, f.Package).Filename)
		if mod, work = moduleOf(dir); mod != nil {
			break
		}
	}
	return dir, mod, work
}

// moduleOf returns the go.mod in or above a directory, and the go.work that overrides it,
// if there is one. Both are nil if there is no go.mod.
func moduleOf(dir string) (mod, work *modFile) {
	root := ""
	for up := range parents(dir) {
		if mod = readModFile(filepath.Join(up, "go.mod")); mod != nil {
			root = up
			break
		}
	}
	if mod == nil {
		return nil, nil
	}
	switch set := os.Getenv("GOWORK"); set {
	case "off":
	case "":
		for up := range parents(root) {
			if w := readModFile(filepath.Join(up, "go.work")); w != nil {
				work = w
				break
			}
		}
	default:
		work = readModFile(set)
	}
	if work == nil || !slices.ContainsFunc(work.uses, func(u string) bool {
		if !filepath.IsAbs(u) {
			u = filepath.Join(filepath.Dir(work.path), u)
		}
		return filepath.Clean(u) == root
	}) {
		return mod, nil
	}
	return mod, work
}

// parents yields a directory and its ancestors.
func parents(dir string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for yield(dir) {
			up := filepath.Dir(dir)
			if up == dir {
				return
			}
			dir = up
		}
	}
}
