// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"os"
	"path/filepath"
	"syscall"
)

// mine reports whether a folder, or else the nearest one above it that exists,
// belongs to this user: nobody else then prepares what is read there, and root
// leaves nothing in other people's homes.
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
