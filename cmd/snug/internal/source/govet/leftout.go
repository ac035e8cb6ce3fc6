// SPDX-License-Identifier: Apache-2.0

package govet

import (
	"go/build"
	"go/build/constraint"
	"io"
	"path/filepath"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/source/bounded"
)

const bringIn = "bring it in by --tags, or by GOOS and GOARCH in the environment"

// LeftOut returns why the build leaves a Go file out, for a file that is in no package that Run
// loaded with tags, and what brings it in; "" = nothing does.
// It applies the rules of go help buildconstraint, for the system of go/build.
func LeftOut(file, tags string) (why, hint string) {
	dir, name := filepath.Split(file)
	ctxt := build.Default
	ctxt.BuildTags = strings.FieldsFunc(tags, func(r rune) bool { return r == ',' || r == ' ' })
	switch {
	case strings.HasSuffix(name, "_test.go"):
		return "a test file, which only --tests checks", ""
	case strings.HasPrefix(name, "_"), strings.HasPrefix(name, "."):
		return "the go command ignores names that begin with _ or .", ""
	}
	if only := nameOnly(ctxt, name); only != "" {
		return "left out by its name: " + only + " only", bringIn
	}
	if in, err := ctxt.MatchFile(dir, name); err == nil && !in {
		if line := buildLine(file); line != "" {
			return "left out by its build tags: " + line, bringIn
		}
	}
	if usesC(file) && !ctxt.CgoEnabled {
		return `left out because it imports "C" and cgo is off`, ""
	}
	return "in no package that the go command loads", ""
}

// nameOnly returns the system and processor that a file name such as x_linux_arm64.go is for, if
// it is not for those of ctxt; "" = the name does not leave the file out.
func nameOnly(ctxt build.Context, name string) string {
	ctxt.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("package p\n")), nil }
	in := func(goos, goarch string) bool {
		ctxt.GOOS, ctxt.GOARCH = goos, goarch
		ok, err := ctxt.MatchFile("", name)
		return ok || err != nil
	}
	goos, goarch := ctxt.GOOS, ctxt.GOARCH
	if in(goos, goarch) {
		return ""
	}
	parts := strings.Split(strings.TrimSuffix(name, ".go"), "_")
	last := parts[len(parts)-1]
	if in(last, goarch) || in(goos, last) {
		return last
	}
	return strings.Join(parts[max(len(parts)-2, 0):], "/")
}

// buildLine returns the condition of the //go:build line of a file; "" = none.
func buildLine(file string) string {
	text, err := bounded.ReadFile(file, maxSource)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "package ") {
			break
		}
		if x, err := constraint.Parse(line); constraint.IsGoBuild(line) && err == nil {
			return x.String()
		}
	}
	return ""
}
