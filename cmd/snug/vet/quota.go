// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/version"
	"maps"
	"path/filepath"
)

// unaware is a setting by which programs do not read the CPU quota.
type unaware struct {
	because string // "go 1.24 in go.mod"
	cure    string // "write go 1.25"
}

// ignoresQuota returns why programs of the package's module do not read the CPU quota, with every
// version of Go; nil if they do, or if that is not known. The go.mod of a library does not decide
// for programs of other modules. A go.mod without a go line has the defaults of an old one.
// Source: go.dev/doc/godebug, "Default GODEBUG Values".
func (s *source) ignoresQuota() *unaware {
	_, mod, work := s.module()
	says := mod
	if work != nil {
		says = work
	}
	if says == nil {
		return nil
	}
	name := filepath.Base(says.path)
	set := maps.Clone(says.godebug)
	if s.pass.Pkg.Name() == "main" {
		for _, f := range s.files {
			maps.Copy(set, directives(f))
		}
	}
	if v, decided := set["containermaxprocs"]; decided && v == "0" {
		return &unaware{"godebug containermaxprocs=0", "remove that setting"}
	}
	line, off := says.builds(set)
	switch {
	case len(off) == 0:
		return nil
	case set["default"] == line && version.IsValid(line):
		return &unaware{"godebug default=" + line, "write godebug default=" + quotaAware}
	}
	if says.goLine == 0 {
		return &unaware{"no go line in " + name, "write go 1.25"}
	}
	return &unaware{"go " + says.version + " in " + name, "write go 1.25"}
}

// says returns the words that end a message on runtime.NumCPU: the runtime ignores the quota
// too.
func (u *unaware) says(s *source) string {
	if s.pass.Pkg.Name() == "main" {
		return "with " + u.because + " the runtime ignores it too: " + u.cure
	}
	return "so does the runtime of programs with " + u.because + ", as here: " + u.cure + " for the program"
}

// setsProcs reports whether the go.mod of the package requires a module that sets GOMAXPROCS by the
// quota.
func (s *source) setsProcs(paths ...string) bool {
	_, mod, _ := s.module()
	if mod == nil {
		return false
	}
	for _, p := range paths {
		if mod.requires[p] || s.imports(p) {
			return true
		}
	}
	return false
}
