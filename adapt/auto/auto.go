// SPDX-License-Identifier: Apache-2.0

// Package auto does what github.com/snug-go/snug/auto does, and measures as well:
//
//	import _ "github.com/snug-go/snug/adapt/auto"
//
// It does what adapt.Watch does with the zero Options, from an init function; adapt.Current
// returns its Watcher. The knobs that SNUG_ADAPT names follow measurements; without it the
// limits alone decide. The documentation of snug/auto on variables, test binaries and the
// order of initialisation applies here too. A program may import both packages: this one
// takes over.
package auto

import (
	"os"

	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/follow"
	"github.com/snug-go/snug/internal/measure"
	"github.com/snug-go/snug/internal/plan"
)

func init() {
	var in plan.Input
	p, f, mode := fit.Decide(&in, apply.AtStart)
	few := fit.Few(f)
	f.Close() // the loop has files of its own
	if mode == plan.Disable {
		return
	}
	cfg := follow.Config{Dry: mode == plan.Observe}
	var m follow.Measure
	on, bad := follow.ReadEnv(os.Getenv, &cfg.Poll)
	more := measure.ReadEnv(os.Getenv, &m)
	m.Warn(&more, &in)
	plan.Review(&in, p)
	in.Warnings = append(append(in.Warnings, bad...), more...)
	p.Warnings = append(append(p.Warnings, bad...), more...)
	var again bool
	cfg.Input, cfg.Plan = &in, p
	if cfg.Result, again = apply.Import(p, cfg.Dry, true); again {
		fit.Complain(more) // snug/auto has printed the others
	} else if !fit.Log(&in, p, cfg.Result) {
		fit.Complain(in.Warnings)
	}
	if on == follow.Never || on == follow.Default && fit.InTest() || cfg.Result.None() || few {
		return
	}
	measure.New(&cfg, &m).Start(nil)
}
