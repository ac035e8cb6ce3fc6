// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package ui

// columns is how wide text may be; 0 = as wide as it is.
func (u *UI) columns() int { return 0 }
