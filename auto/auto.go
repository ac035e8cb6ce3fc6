// SPDX-License-Identifier: Apache-2.0

// Package auto fits the process to its container when it is imported:
//
//	import _ "github.com/snug-go/snug/auto"
//
// It calls snug.Fit with the zero Options from an init function. Packages are
// initialised in the order of their import paths, dependencies first, so pools
// that other packages size in their own init functions may have seen
// GOMAXPROCS as it was before.
package auto

import "github.com/snug-go/snug"

func init() { snug.Fit(snug.Options{}) }
