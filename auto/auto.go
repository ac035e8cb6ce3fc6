// SPDX-License-Identifier: Apache-2.0

// Package auto fits the process to its container when you import it, and follows limits that
// change:
//
//	import _ "github.com/snug-go/snug/auto"
//
// It does what snug.Watch does with the zero WatchOptions, from an init function; snug.Current
// returns its Watcher. Variables named SNUG_* change what it does, as described at
// snug.Options. SNUG=off does nothing at all, SNUG_WATCH=off fits once. A SNUG_* variable
// that is invalid or unknown is ignored and prints one line to standard error. So does
// SNUG_ADAPT, which needs the import of github.com/snug-go/snug/adapt/auto instead.
// Warnings about a GOMAXPROCS or GOMEMLIMIT that is not snug's and does not fit are in the Plan that
// snug.Current shows; auto prints none of them, to stay small.
//
// In a test binary auto fits once and does not follow, because tests look for leaked
// goroutines; SNUG_WATCH=on makes it follow. auto recognises a test binary by its name,
// *.test: if go test -c -o gives yours another name, set SNUG_WATCH=off.
//
// Go initialises packages in the order of their import paths, dependencies first. A pool that
// another package sizes in its own init function may have used the earlier GOMAXPROCS.
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
	p, f, mode := fit.Decide(&in, apply.AtStart)
	if mode == plan.Disable {
		return
	}
	cfg := follow.Config{Dry: mode == plan.Observe}
	on, bad := follow.ReadEnv(os.Getenv, &cfg.Poll)
	in.Warnings = append(in.Warnings, bad...)
	p.Warnings = append(p.Warnings, bad...)
	cfg.Input, cfg.Plan, cfg.Limits = &in, p, f
	cfg.Result, _ = apply.Import(p, cfg.Dry, false)
	if !fit.Log(&in, p, cfg.Result) {
		fit.Complain(in.Warnings)
	}
	if on == follow.Never || on == follow.Default && fit.InTest() || cfg.Result.None() {
		f.Close()
		return
	}
	if fit.Few(f) {
		return
	}
	follow.New(&cfg).Start(nil)
}
