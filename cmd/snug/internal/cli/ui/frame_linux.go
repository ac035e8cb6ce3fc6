// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

func IsTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// columns returns the maximum width of text, from COLUMNS or the terminal; 0 = no maximum.
func (u *UI) columns() int {
	if n, err := strconv.Atoi(u.Getenv("COLUMNS")); err == nil && n >= 20 {
		return n
	}
	if f, ok := u.Out.(*os.File); ok {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil && size.Col >= 20 {
			return int(size.Col)
		}
	}
	return 0
}
