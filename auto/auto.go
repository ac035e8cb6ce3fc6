// SPDX-License-Identifier: Apache-2.0

// Package auto fits the process to its container when it is imported, and
// follows when the container is resized:
//
//	import _ "github.com/snug-go/snug/auto"
//
// It does what snug.Watch does with the zero Options, from an init function: limits
// are followed, and what SNUG_ADAPT names is adapted to measurements.
// SNUG_WATCH=off fits once. In a test binary it fits once too, because tests look
// for goroutines that were left behind; SNUG_WATCH=on follows there as well. A test
// binary is known by its name, *.test; go test -c -o with another needs SNUG_WATCH=off.
// What is measured is told by snug.Current(). SNUG=off does nothing at all; a SNUG_* variable
// that makes no sense, or that nothing reads, is ignored and gives a line on standard
// error.
//
// Packages are initialised in the order of their import paths, dependencies
// first, so pools that other packages size in their own init functions may have
// seen GOMAXPROCS as it was before.
package auto

import (
	"os"
	"strings"

	"github.com/snug-go/snug/internal/adapt"
	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/internal/watch"
)

func init() {
	var in plan.Input
	p, mode := fit.Decide(&in, apply.AtStart)
	if mode == plan.Disable {
		return
	}
	cfg := watch.Config{Dry: mode == plan.Observe, GC: adapt.GCPolicy{Mode: adapt.Headroom}}
	follow, bad := watch.ReadEnv(os.Getenv, &cfg)
	in.Warnings = append(in.Warnings, bad...)
	p.Warnings = append(p.Warnings, bad...)
	cfg.Input, cfg.Plan, cfg.Result = in, p, apply.First(p, cfg.Dry)
	fit.Complain(in.Warnings)
	fit.Log(&in, p, cfg.Result)
	if follow == watch.Never || follow == watch.Default && inTest() || cfg.Result.None() {
		return
	}
	watch.New(cfg).Start(nil)
}

// inTest reports whether this is a test binary, by the name that go test gives
// it. To ask package testing would link it.
func inTest() bool {
	return len(os.Args) > 0 && (strings.HasSuffix(os.Args[0], ".test") || strings.HasSuffix(os.Args[0], ".test.exe"))
}
