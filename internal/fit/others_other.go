// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package fit

import "github.com/snug-go/snug/limits"

// Others returns 0: no group's memory is limited on this system.
func Others(*limits.Limits) int { return 0 }

// Sharers returns nil: they are unknown.
func Sharers(*limits.Limits) []string { return nil }
