// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"os"
	"path/filepath"
	"syscall"
)

// mine reports whether a directory, or the nearest existing one above it, belongs to this user.
// Then no other user can plant files in it, and root writes nothing into other users' homes.
func mine(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err == nil {
			st, ok := info.Sys().(*syscall.Stat_t)
			return ok && info.IsDir() && int(st.Uid) == os.Geteuid()
		}
		up := filepath.Dir(dir)
		if !os.IsNotExist(err) || up == dir {
			return false
		}
		dir = up
	}
}
