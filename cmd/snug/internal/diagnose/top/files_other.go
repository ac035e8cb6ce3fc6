// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package top

// fileLimit is not used on systems without /proc.
func fileLimit() int { return 0 }
