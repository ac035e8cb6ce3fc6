// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"cmp"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A place is a name in a directory that stays open, so that a link in the directory's place, or in
// that of one above it, changes nothing.
type place struct {
	dir    int
	base   string
	direct string // a name of an open file, to write to directly
}

// An errForeign is the kind of a refused file.
type errForeign string

func (e errForeign) Error() string {
	return "a " + string(e) + " of another user in a directory where everybody may write"
}

// find follows the links of a name one by one (path_resolution(7)), to a place that has none. It refuses
// a link, a pipe or a file of another user in a sticky directory where everybody may write, as the kernel does with
// fs.protected_symlinks, protected_fifos and protected_regular=1 (proc_sys_fs(5)), but with 0 too, and in the middle
// of a name.
func find(name string) (*place, error) {
	p := &place{dir: unix.AT_FDCWD}
	if err := p.follow(name); err != nil {
		p.close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return p, nil
}

func (p *place) follow(rest string) error {
	const maxLinks = 40
	for links := 0; !descriptor(rest); {
		if short := strings.TrimLeft(rest, "/"); short != rest {
			if err := p.enter("/"); err != nil {
				return err
			}
			rest = short
		}
		part, after, more := strings.Cut(rest, "/")
		p.base = cmp.Or(part, ".")
		target, err := p.link()
		switch {
		case err != nil:
			return err
		case target != "" && links == maxLinks:
			return unix.ELOOP
		case target != "":
			links++
			if rest = target; more {
				rest += "/" + after
			}
		case !more:
			return nil
		default:
			if err := p.enter(part); err != nil {
				return err
			}
			rest = strings.TrimLeft(after, "/")
		}
	}
	p.direct = rest
	return nil
}

// enter goes to another directory, which need not be readable.
func (p *place) enter(name string) error {
	fd, err := p.openat(name, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err == nil {
		p.close()
		p.dir = fd
	}
	return err
}

// link returns where the link of this name leads, or "" if it is none.
func (p *place) link() (string, error) {
	var link unix.Stat_t
	err := unix.Fstatat(p.dir, p.base, &link, unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.ENOENT {
		return "", nil
	}
	if err = cmp.Or(err, p.own(link.Mode, link.Uid)); err != nil || link.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", err
	}
	var text [unix.PathMax]byte
	n, err := unix.Readlinkat(p.dir, p.base, text[:])
	return string(text[:max(n, 0)]), err
}

// own refuses what another user may have put into the directory.
func (p *place) own(mode, uid uint32) error {
	const shared = unix.S_ISVTX | unix.S_IWOTH
	kind := map[uint32]string{unix.S_IFLNK: "link", unix.S_IFIFO: "pipe", unix.S_IFREG: "file"}[mode&unix.S_IFMT]
	var dir unix.Stat_t
	err := unix.Fstatat(p.dir, ".", &dir, 0)
	if err == nil && kind != "" && dir.Mode&shared == shared && uid != dir.Uid && int(uid) != os.Geteuid() {
		err = errForeign(kind)
	}
	return err
}

// target opens the file of the place, and does not wait for the reader of a pipe.
func (p *place) target(flag int) (*os.File, error) {
	var st unix.Stat_t
	fd, err := p.openat(p.base, flag|unix.O_NONBLOCK, newMode)
	switch {
	case err == unix.ELOOP:
		return nil, errMeanwhile
	case err == unix.ENXIO && unix.Fstatat(p.dir, p.base, &st, 0) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO:
		return nil, errUnread
	case err != nil:
		return nil, err
	}
	if err = unix.Fstat(fd, &st); err == nil {
		err = cmp.Or(p.own(st.Mode, st.Uid), unix.SetNonblock(fd, false))
	}
	f := os.NewFile(uintptr(fd), p.base)
	if err != nil {
		f.Close()
	}
	return f, err
}

// has reports whether a name of the directory is that of a file; nil is none.
func (p *place) has(name string, file fs.FileInfo) bool {
	var st unix.Stat_t
	err := unix.Fstatat(p.dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if file == nil {
		return err == unix.ENOENT
	}
	is := file.Sys().(*syscall.Stat_t)
	return err == nil && st.Dev == is.Dev && st.Ino == is.Ino
}

// open opens a file of the directory, and follows no link.
func (p *place) open(name string, flag int, mode fs.FileMode) (*os.File, error) {
	fd, err := p.openat(name, flag, mode)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (p *place) openat(name string, flag int, mode fs.FileMode) (fd int, err error) {
	for {
		if fd, err = unix.Openat(p.dir, name, flag|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(mode)); err != unix.EINTR {
			return fd, err
		}
	}
}

func (p *place) close() {
	if p.dir >= 0 {
		unix.Close(p.dir)
	}
}
