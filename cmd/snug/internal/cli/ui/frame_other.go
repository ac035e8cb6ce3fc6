// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package ui

// columns returns the maximum width of text; 0 = no maximum.
func (u *UI) columns() int { return 0 }
