// SPDX-License-Identifier: Apache-2.0

//go:build unix

package outfile

import (
	"io/fs"
	"os"
	"syscall"
)

// Links returns how many names a file has.
func Links(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}

// keepOwner gives a file the owner and the group of another file, as far as the system allows: only
// root may change the owner.
func keepOwner(f *os.File, of fs.FileInfo) {
	if s, ok := of.Sys().(*syscall.Stat_t); ok {
		if err := f.Chown(int(s.Uid), int(s.Gid)); err != nil {
			_ = f.Chown(-1, int(s.Gid))
		}
	}
}
