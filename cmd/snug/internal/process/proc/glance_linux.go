// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// ExeOf returns the ID of a process's executable with a single system call. It is for callers
// that go through all processes, most of which run a known program. The error is a bare
// ErrDenied or ErrNone, or the kernel's; ErrNone means a kernel thread, a zombie, or no
// process at all.
func ExeOf(pid int) (FileID, error) {
	var st unix.Stat_t
	_, err := retry(func() (int, error) { return 0, unix.Stat(root+"/"+strconv.Itoa(pid)+"/exe", &st) })
	switch err {
	case nil:
		return fileID(&st), nil
	case unix.EACCES, unix.EPERM:
		return FileID{}, ErrDenied
	case unix.ENOENT, unix.ESRCH:
		return FileID{}, ErrNone
	}
	return FileID{}, err
}

// StatOf returns the Stat of a process by its number, even of a zombie. Started is zero. The
// error is ErrGone if there is no such process.
func StatOf(pid int) (Stat, error) {
	fd, err := retry(func() (int, error) {
		return unix.Open(root+"/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	})
	if err == unix.ENOENT || err == unix.ESRCH {
		return Stat{}, fmt.Errorf("pid %d: %w", pid, ErrGone)
	}
	if err != nil {
		return Stat{}, err
	}
	defer unix.Close(fd)
	var b [maxStat]byte
	n, err := retry(func() (int, error) { return unix.Read(fd, b[:]) })
	if err == unix.ESRCH {
		return Stat{}, fmt.Errorf("pid %d: %w", pid, ErrGone)
	}
	if err != nil {
		return Stat{}, err
	}
	s, ok := parseStat(b[:n], int64(os.Getpagesize()))
	if !ok {
		return Stat{}, fmt.Errorf("%s/%d/stat: malformed stat", root, pid)
	}
	return s, nil
}

// CodeOf returns how many bytes of code a process has mapped beside its executable, from libraries or
// written at run time; 0 = none or unknown. It changes when the process loads a library.
func CodeOf(pid int) int64 {
	var b [4096]byte
	return parseSize(statusOf(pid, b[:]), "VmLib")
}

// statusOf returns what b has room for of /proc/PID/status; nil = unknown. Sizes are in the first kilobyte, unless
// the process has many groups.
func statusOf(pid int, b []byte) []byte {
	fd, err := retry(func() (int, error) {
		return unix.Open(root+"/"+strconv.Itoa(pid)+"/status", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	n, err := retry(func() (int, error) { return unix.Read(fd, b) })
	if err != nil {
		return nil
	}
	return b[:n]
}

// Entries lists the visible processes, in no order. An entry keeps its inode until the process
// ends or the kernel needs the memory. Source: getdents(2); fs/proc/generic.c and base.c.
func Entries() ([]Entry, error) {
	fd, err := retry(func() (int, error) { return unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: root, Err: err}
	}
	defer unix.Close(fd)
	var list []Entry
	buf := make([]byte, 32<<10)
	for {
		n, err := retry(func() (int, error) { return unix.Getdents(fd, buf) })
		if err != nil {
			return list, &os.PathError{Op: "read", Path: root, Err: err}
		}
		if n <= 0 {
			return list, nil
		}
		list = parseEntries(buf[:n], list)
	}
}
