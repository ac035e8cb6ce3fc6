// SPDX-License-Identifier: Apache-2.0

//go:build auto || before || after

package main

import "github.com/snug-go/snug"

func init() {
	plan = func() any {
		p, err := snug.Fit(snug.Options{DryRun: true})
		if err != nil {
			return err.Error()
		}
		return p
	}
}
