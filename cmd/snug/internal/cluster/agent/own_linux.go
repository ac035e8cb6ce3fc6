// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the CPU time of this process.
func cpuTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// readAt reads a file with one system call, at whose end it returns 0 bytes and no error.
func readAt(f *os.File, b []byte, off int64) (int, error) {
	for {
		if n, err := unix.Pread(int(f.Fd()), b, off); err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

// openBelow opens a file below a directory for reading, with one system call in place of one or two
// for each part of the path. It follows no link that leads outside. ok is false if it could not, and
// [os.Root] may. Source: openat2(2), since Linux 5.6; sandboxes may forbid it.
func openBelow(dir *os.File, name string) (f *os.File, err error, ok bool) {
	const flags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK
	fd, err := unix.Openat2(int(dir.Fd()), name, &unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS})
	switch {
	case err == unix.ENOENT:
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}, true
	case err != nil:
		return nil, nil, false
	}
	// Otherwise the file would be given to the poller. It is opened so that a pipe does not block.
	_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFL, unix.O_RDONLY)
	return os.NewFile(uintptr(fd), name), nil, true
}

// spareFiles is the number of files left for everything else than processes and groups.
const spareFiles = 128

// maxFiles returns how many files may stay open for processes and groups.
func maxFiles() int {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return max(0, int(min(l.Cur, 1<<20))-spareFiles)
}
