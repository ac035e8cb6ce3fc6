// SPDX-License-Identifier: Apache-2.0

//go:build auto || before || after

package main

import "github.com/snug-go/snug"

func init() {
	plan = func() any {
		p, _ := snug.Fit(snug.Options{DryRun: true})
		return p
	}
}
