// SPDX-License-Identifier: Apache-2.0

// Package gotest finds Go benchmarks in a command line, and builds those of go test, so
// that an experiment runs the test program and never the compiler.
package gotest

import (
	"path/filepath"
	"regexp"
	"strings"
)

// Kind is what a command line says about benchmarks.
type Kind int

const (
	None    Kind = iota // no benchmarks
	GoTest              // go test -bench
	Program             // a test program with -test.bench
)

// goCommand matches the names of the go command and of its other versions.
var goCommand = regexp.MustCompile(`^go(1\.[0-9][0-9a-z.]*|tip)?$`)

// KindOf returns the kind of a command line.
func KindOf(args []string) Kind {
	switch {
	case len(args) > 2 && goCommand.MatchString(filepath.Base(args[0])) && args[1] == "test":
		if Has(args, "bench") {
			return GoTest
		}
	case len(args) > 1 && Has(args, "bench"):
		return Program
	}
	return None
}

// Has reports whether a command line sets a flag of package testing, by its name without
// "test.". Only go test takes it without the prefix, and what follows -args is not its own.
func Has(args []string, name string) bool {
	short := len(args) > 1 && args[1] == "test" && goCommand.MatchString(filepath.Base(args[0]))
	for _, a := range args[1:] {
		if a == "--" || short && strings.TrimLeft(a, "-") == "args" {
			return false
		}
		flag, _, _ := strings.Cut(a, "=")
		flag, dash := strings.CutPrefix(flag, "-")
		flag = strings.TrimPrefix(flag, "-")
		if dash && (flag == "test."+name || short && flag == name) {
			return true
		}
	}
	return false
}

// WithoutTests returns the arguments of a test program, with one that leaves out its tests
// if they do not choose some: package testing runs all of them before the benchmarks.
func WithoutTests(args []string) (with []string, added bool) {
	if Has(args, "run") {
		return args, false
	}
	// Flags end at the first argument that is none.
	return append([]string{args[0], "-test.run=^$"}, args[1:]...), true
}
