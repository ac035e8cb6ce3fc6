// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package fit

import "github.com/snug-go/snug/limits"

// Others is 0: no group's memory is limited here.
func Others(*limits.Limits) int { return 0 }

// Sharers are not known.
func Sharers(*limits.Limits) []string { return nil }
