// SPDX-License-Identifier: Apache-2.0

// Package auto fits the process to its container when it is imported, and follows limits
// that change:
//
//	import _ "github.com/snug-go/snug/auto"
//
// It does what snug.Watch does with the zero WatchOptions, from an init function; snug.Current
// returns its Watcher. Variables named SNUG_* change what it does, as in snug.Options.
// SNUG=off does nothing at all, SNUG_WATCH=off fits once. A SNUG_* variable that makes no
// sense, or that nothing reads, is ignored and gives one line on standard error. So does
// SNUG_ADAPT, which wants the import of github.com/snug-go/snug/adapt/auto instead.
//
// In a test binary auto fits once and follows nothing, because tests look for goroutines that
// were left behind; SNUG_WATCH=on follows there too. A test binary is known by its name,
// *.test: one that go test -c -o has named otherwise needs SNUG_WATCH=off.
//
// Go initialises packages in the order of their import paths, dependencies first. Pools that
// other packages size in their own init functions may have seen GOMAXPROCS as it was before.
package auto

import (
	"os"

	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/follow"
	"github.com/snug-go/snug/internal/plan"
)

func init() {
	var in plan.Input
	p, mode := fit.Decide(&in, apply.AtStart)
	if mode == plan.Disable {
		return
	}
	cfg := follow.Config{Dry: mode == plan.Observe}
	on, bad := follow.ReadEnv(os.Getenv, &cfg.Poll)
	in.Warnings = append(in.Warnings, bad...)
	p.Warnings = append(p.Warnings, bad...)
	cfg.Input, cfg.Plan = &in, p
	cfg.Result, _ = apply.Import(p, cfg.Dry, false)
	if !fit.Log(&in, p, cfg.Result) {
		fit.Complain(in.Warnings)
	}
	if on == follow.Never || on == follow.Default && fit.InTest() || cfg.Result.None() {
		return
	}
	follow.New(&cfg).Start(nil)
}
