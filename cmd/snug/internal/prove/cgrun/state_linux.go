// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package cgrun

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A record lists the groups that a running snug has made, so that a later snug can
// remove them if this one is killed. It is a file
//
//	{"boot_id":"...","groups":["/sys/fs/cgroup/cpu/snug-0123456789abcdef"]}
//
// on which the owner holds a lock (flock(2)) as long as it lives. The kernel drops the
// lock when the process ends. The record contains no pid, because pids are reused.
type record struct {
	file *os.File
}

type recordText struct {
	BootID string   `json:"boot_id"`
	Groups []string `json:"groups"`
}

// ownName reports whether newName may have made a name.
func ownName(name string) bool {
	digits, ok := strings.CutPrefix(name, "snug-")
	return ok && len(digits) == 16 && strings.Trim(digits, "0123456789abcdef") == ""
}

func newName() string {
	return fmt.Sprintf("snug-%016x", rand.Uint64())
}

// stateDirs returns the directories that may contain this user's records, best first.
// The last is in a directory for temporary files.
func stateDirs() []string {
	var list []string
	if os.Geteuid() == 0 {
		list = append(list, "/run/snug")
	} else if dir := os.Getenv("XDG_RUNTIME_DIR"); path.IsAbs(dir) {
		list = append(list, path.Join(dir, "snug"))
	}
	return append(list, path.Join(os.TempDir(), fmt.Sprintf("snug-%d", os.Geteuid())))
}

// ownDir makes a directory, or accepts one that only this user can write to.
func ownDir(dir string, uid int) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return err
	}
	return isOwn(dir, uid)
}

// isOwn returns nil for a directory that only this user can write to. In a sticky
// directory, another user may have made it first, or a link.
func isOwn(dir string, uid int) error {
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return &os.PathError{Op: "lstat", Path: dir, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != uid || st.Mode&0o022 != 0 {
		return fmt.Errorf("not a directory that only this user can write to, %s", dir)
	}
	return nil
}

func bootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
}

// newRecord records groups before they are made, in the first of the directories that
// only this user can write to; it makes one if necessary. Without a record, a run
// still cleans up after itself, but its groups stay if it is killed. A nil record is
// usable.
func newRecord(dirs, groups []string, name string) (r *record, err error) {
	for _, dir := range dirs {
		// At any time, another run may sweep away a record without a lock, or an empty
		// directory.
		for range 100 {
			if err = ownDir(dir, os.Geteuid()); err == nil {
				r, err = recordIn(dir, groups, name)
			}
			if err == nil {
				return r, nil
			}
			if !errors.Is(err, fs.ErrNotExist) {
				break
			}
		}
		tidy(dir)
	}
	return nil, err
}

// tidy removes an empty directory of records, if it is among temporary files.
func tidy(dir string) {
	if path.Base(dir) != "snug" {
		unix.Rmdir(dir)
	}
}

// recordIn makes a record in a directory. The error is fs.ErrNotExist if the sweep of
// another run was quicker.
func recordIn(dir string, groups []string, name string) (*record, error) {
	file := path.Join(dir, name+".json")
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		os.Remove(file)
		f.Close()
		return nil, &os.PathError{Op: "flock", Path: file, Err: err}
	}
	if removed(f) { // by a sweep, before it was locked
		f.Close()
		return nil, &os.PathError{Op: "flock", Path: file, Err: fs.ErrNotExist}
	}
	r := &record{file: f}
	text, err := json.Marshal(recordText{bootID(), groups})
	if err == nil {
		_, err = f.Write(text)
	}
	if err != nil {
		r.drop()
		return nil, err
	}
	return r, nil
}

// removed reports whether an open file has been removed.
func removed(f *os.File) bool {
	var st unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &st)
	return err != nil || st.Nlink == 0
}

// drop removes the record of removed groups.
func (r *record) drop() {
	if r != nil && r.file != nil {
		os.Remove(r.file.Name())
		tidy(path.Dir(r.file.Name()))
	}
	r.release()
}

// release gives up the lock and leaves the record to a later sweep.
func (r *record) release() {
	if r != nil && r.file != nil {
		r.file.Close()
		r.file = nil
	}
}

// sweep removes the groups of runs that were killed, if no process is left in them. It
// kills nothing, and touches only groups with a record. The records may be in any of
// the directories.
func sweep(dirs ...string) {
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil || isOwn(dir, os.Geteuid()) != nil {
			continue
		}
		for _, e := range entries {
			name, ok := strings.CutSuffix(e.Name(), ".json")
			if ok && ownName(name) {
				sweepOne(filepath.Join(dir, e.Name()), name)
			}
		}
		tidy(dir)
	}
}

func sweepOne(file, name string) {
	fd, err := unix.Open(file, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	f := os.NewFile(uintptr(fd), file)
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != os.Geteuid() {
		return
	}
	if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil {
		return // its owner is alive
	}
	if removed(f) {
		return // the name may already belong to another run's record
	}
	text, err := io.ReadAll(io.LimitReader(f, 1<<16))
	if err != nil {
		return
	}
	var t recordText
	if json.Unmarshal(text, &t) != nil || t.BootID != bootID() {
		os.Remove(file) // never written, or its groups ended with the last boot
		return
	}
	gone := true
	for _, group := range t.Groups {
		gone = removeStale(group, name) && gone
	}
	if gone {
		os.Remove(file)
	}
}

// isCgroup reports whether a file system is a cgroup tree.
func isCgroup(at unix.Statfs_t) bool {
	return int64(at.Type) == unix.CGROUP_SUPER_MAGIC || int64(at.Type) == unix.CGROUP2_SUPER_MAGIC
}

// removeStale removes a group of a record and the groups below it, unless one of them
// has a process. It reports whether the group is gone.
func removeStale(dir, name string) bool {
	if path.Base(dir) != name || !path.IsAbs(dir) {
		return true // not a group that snug made
	}
	var at unix.Statfs_t
	switch err := unix.Statfs(dir, &at); {
	case err == syscall.ENOENT:
		// The group is gone, or cgroupfs is not mounted there now: then the groups
		// above are missing too, and the first directory found is not a cgroup.
		up := path.Dir(dir)
		for ; err == syscall.ENOENT && up != "/"; up = path.Dir(up) {
			err = unix.Statfs(up, &at)
		}
		return err == nil && isCgroup(at)
	case err != nil || !isCgroup(at):
		return false
	}
	if len(pidsBelow(dir)) > 0 {
		return false // the command is alive; its groups are in use
	}
	gone := true
	for _, d := range groupsBelow(dir) {
		if err := unix.Rmdir(d); err != nil && err != syscall.ENOENT {
			gone = false
		}
	}
	return gone
}
