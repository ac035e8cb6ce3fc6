// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"cmp"
	"io/fs"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// A temp is a new file without a name, where the file system has such files, so that none is left
// when the process is killed. It has a name while it takes the place of the old one. A lock shows
// that its process lives.
type temp struct {
	*os.File
	p    *place
	name string
}

// create makes a file in place of the old one, if there is one.
func (p *place) create(old fs.FileInfo) (f *temp, err error) {
	mode := fs.FileMode(newMode)
	if old != nil {
		mode = 0o600 // until it has the owner of the old one
	}
	f = &temp{p: p}
	f.File, err = p.open(".", unix.O_TMPFILE|os.O_WRONLY, mode)
	if err == nil && unix.Access(f.self(), unix.F_OK) != nil {
		f.Close()
		err = fs.ErrNotExist // without /proc it could not be given a name
	}
	if err != nil {
		return f, f.named(func(name string) (err error) {
			if f.File, err = p.open(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode); err != nil {
				return err
			}
			// Until it is locked, another process takes it for one that was left, and removes it.
			info, err := f.Stat()
			if err != nil || f.lock() == unix.EWOULDBLOCK || !p.has(name, info) {
				f.Close()
				return cmp.Or(err, error(unix.EEXIST))
			}
			return nil
		})
	}
	_ = f.lock()
	return f, nil
}

func (f *temp) lock() error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

func (f *temp) self() string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

func (f *temp) link(name string) error {
	return unix.Linkat(unix.AT_FDCWD, f.self(), f.p.dir, name, unix.AT_SYMLINK_FOLLOW)
}

// named gives the file the first free name, by give. It removes files that killed processes left. The last
// name cannot be guessed: in /tmp another user may hold all others.
func (f *temp) named(give func(name string) error) (err error) {
	const maxNames = 100 // of processes that replace files of one directory at the same moment
	for i := range uint64(maxNames) {
		if i == maxNames-1 {
			i = maxNames + rand.Uint64()>>1
		}
		name := ".snug-" + strconv.FormatUint(i, 36) + ".tmp"
		if err = give(name); err == unix.EEXIST && f.p.remove(name) {
			err = give(name)
		}
		if err == nil {
			f.name = name
		}
		if err != unix.EEXIST {
			break
		}
	}
	return err
}

// remove removes a file that a killed process of this user left; root, of any user.
func (p *place) remove(name string) bool {
	f, err := p.open(name, unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || Links(info) != 1 {
		return false
	}
	uid, own := os.Geteuid(), int(info.Sys().(*syscall.Stat_t).Uid)
	return (uid == 0 || uid == own) && unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil &&
		p.has(name, info) && unix.Unlinkat(p.dir, name, 0) == nil
}

// put gives the new file the name of the place, if the old one still has it. A process that is
// killed between link and rename leaves the new file, complete, with a name of its own; the next that
// replaces a file of the directory removes it.
func (f *temp) put(_ *os.File, old fs.FileInfo) (err error) {
	p := f.p
	if !p.has(p.base, old) {
		return errMeanwhile
	}
	if f.name == "" && old == nil {
		if err = f.link(p.base); err == unix.EEXIST {
			err = errMeanwhile
		}
	} else {
		if f.name == "" {
			err = f.named(f.link)
		}
		if err == nil {
			if err = f.rename(old == nil); err == nil {
				f.name = ""
			}
		}
	}
	// A directory that may not be read is not synced.
	if dir, denied := p.open(".", os.O_RDONLY, 0); err == nil && denied == nil {
		_ = dir.Sync()
		dir.Close()
	}
	return err
}

// rename gives the file the name of the place. If it is new there, nothing may have come meanwhile; file systems
// without RENAME_NOREPLACE cannot tell.
func (f *temp) rename(isNew bool) error {
	if p := f.p; isNew {
		switch err := unix.Renameat2(p.dir, f.name, p.dir, p.base, unix.RENAME_NOREPLACE); err {
		case unix.EEXIST:
			return errMeanwhile
		case unix.EINVAL, unix.ENOSYS:
		default:
			return err
		}
	}
	return unix.Renameat(f.p.dir, f.name, f.p.dir, f.p.base)
}

// discard closes the file, and removes it if it has not taken its place.
func (f *temp) discard() {
	f.Close()
	if f.name != "" {
		_ = unix.Unlinkat(f.p.dir, f.name, 0)
	}
}
