// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package cli

// fileLimit is not asked for where there is no process to look at.
func fileLimit() int { return 0 }

// columns is how wide text may be; 0 = as wide as it is.
func (u *ui) columns() int { return 0 }

// topLive needs Linux.
func (u *ui) topLive(*topOptions) error {
	return failed("snug top needs Linux", "run it where the processes are")
}
