// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package cgrun

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// The watchdog removes the groups of a snug that is killed. If both are killed, a later run
// does, where it makes a group of its own: a directory with a name of newName without a
// process and without an owner is left. Its owner holds a lock on it (flock(2)), which the kernel
// drops when the owner ends.

// ownName reports whether newName may have made a name.
func ownName(name string) bool {
	digits, ok := strings.CutPrefix(name, "snug-")
	return ok && len(digits) == 16 && strings.Trim(digits, "0123456789abcdef") == ""
}

func newName() string {
	return fmt.Sprintf("snug-%016x", rand.Uint64())
}

// makeDir makes the directory of a part, and locks it. If another file system covers the tree, it
// returns an error instead of making an ordinary directory there.
func makeDir(p part) (lock *os.File, err error) {
	var at unix.Statfs_t
	if err := unix.Statfs(p.parent, &at); err != nil {
		return nil, &fs.PathError{Op: "statfs", Path: p.parent, Err: err}
	}
	if !isCgroup(at) {
		return nil, fmt.Errorf("%s: %w", p.parent, errCovered)
	}
	for range 100 { // another run may sweep away a directory that is not locked yet
		if err := os.Mkdir(p.dir, 0o755); err != nil {
			return nil, err
		}
		if lock, err = os.Open(p.dir); err == nil {
			if err = unix.Flock(int(lock.Fd()), unix.LOCK_EX); err == nil {
				_, err = os.Stat(p.dir)
			}
			if err == nil {
				return lock, nil
			}
			lock.Close()
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	unix.Rmdir(p.dir)
	return nil, err
}

// sweep removes the groups beside the parts that runs left whose watchdog was killed too. It
// kills nothing.
func sweep(parts []part) {
	for _, p := range parts {
		entries, _ := os.ReadDir(p.parent)
		for _, e := range entries {
			if e.IsDir() && ownName(e.Name()) {
				removeStale(path.Join(p.parent, e.Name()))
			}
		}
	}
}

// removeStale removes a group and the groups below it, unless it has an owner or a process.
func removeStale(dir string) {
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	defer f.Close()
	var at unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &at) != nil || !isCgroup(at) {
		return
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil && len(pidsBelow(dir)) == 0 {
		for _, d := range groupsBelow(dir) {
			unix.Rmdir(d)
		}
	}
}

// isCgroup reports whether a file system is a cgroup tree.
func isCgroup(at unix.Statfs_t) bool {
	return int64(at.Type) == unix.CGROUP_SUPER_MAGIC || int64(at.Type) == unix.CGROUP2_SUPER_MAGIC
}
