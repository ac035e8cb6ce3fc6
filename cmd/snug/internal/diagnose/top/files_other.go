// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package top

// fileLimit is not asked for where there is no process to look at.
func fileLimit() int { return 0 }
