// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// sysFile is a file that is read by system calls alone. To open an [os.File] takes four more.
type sysFile int

// ReadAt reads with one system call, at the end of the file 0 bytes and no error.
func (f sysFile) ReadAt(b []byte, off int64) (int, error) {
	for {
		if n, err := unix.Pread(int(f), b, off); err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

func (f sysFile) Close() error { return unix.Close(int(f)) }

// openProc opens a file of /proc.
func openProc(name string) (sysFile, error) {
	for {
		fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return -1, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		return sysFile(fd), nil
	}
}

// openBelow opens a file below a directory for reading, with one system call in place of one or two
// for each part of the path. It follows no link that leads outside. ok is false if it could not, or the
// file is not a regular one, and [os.Root] may. Source: openat2(2), since Linux 5.6; sandboxes may
// forbid it.
func openBelow(dir *os.File, name string) (f sysFile, err error, ok bool) {
	const flags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK // a pipe must not block
	how := unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := unix.Openat2(int(dir.Fd()), name, &how)
	switch {
	case err == unix.ENOENT:
		return -1, &fs.PathError{Op: "open", Path: name, Err: err}, true
	case err != nil:
		return -1, nil, false
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		return -1, nil, false
	}
	return sysFile(fd), nil, true
}
