// SPDX-License-Identifier: Apache-2.0

// Package auto fits the process to its container when it is imported:
//
//	import _ "github.com/snug-go/snug/auto"
//
// It does what snug.Fit does with the zero Options, from an init function. Packages are
// initialised in the order of their import paths, dependencies first, so pools
// that other packages size in their own init functions may have seen
// GOMAXPROCS as it was before.
package auto

import (
	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/plan"
)

func init() {
	var in plan.Input
	if p, mode := fit.Decide(&in, apply.AtStart); mode != plan.Disable {
		fit.Log(&in, p, apply.First(p, mode == plan.Observe))
	}
}
