// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"bytes"
	"io"
	"io/fs"
	"time"
)

// shelf has the open files of a node.
type shelf struct {
	files map[string]*sharedFile // below sys, by name
	scan  int                    // counts the scans
}

// share keeps a file for more users than the one that it returns.
func (s *shelf) share(f *sharedFile) *sharer {
	s.files[f.name] = f
	return f.user()
}

// sharedFile is a file of a node's tree that several groups may have open: the limits of a container
// are also those of the groups above it, which are the same for many. It is open once, and while it
// has more than one user and does not change, a scan reads it once.
type sharedFile struct {
	on   *shelf
	name string
	file interface {
		io.ReaderAt
		io.Closer
	}
	users int
	scan  int    // the last one that read text
	text  []byte // nil = not read
	same  bool   // the scan that last read it before had the same text
}

// user returns one more user of the file.
func (f *sharedFile) user() *sharer {
	f.users++
	return &sharer{of: f}
}

// forget makes the next user open the file anew.
func (f *sharedFile) forget() {
	if f.on.files[f.name] == f {
		delete(f.on.files, f.name)
	}
}

// fresh reports whether text is what the file holds. A text that has changed is used only by the one
// that has read it: a user may read two files that belong together, and once more the first to see that
// they do.
func (f *sharedFile) fresh() bool {
	if f.users < 2 {
		f.text = nil
		return false
	}
	if f.text != nil && f.scan == f.on.scan {
		return f.same
	}
	b := make([]byte, max(64, 2*len(f.text)))
	n, err := f.readAt(b, 0)
	whole := err == nil && n < len(b)
	f.same = whole && f.text != nil && bytes.Equal(b[:n], f.text)
	f.text, f.scan = b[:n], f.on.scan
	return whole
}

// readAt is ReadAt of the file, and returns no error at its end.
func (f *sharedFile) readAt(b []byte, off int64) (int, error) {
	n, err := f.file.ReadAt(b, off)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// sharer is a user of a sharedFile.
type sharer struct {
	of  *sharedFile
	off int64 // of Read
}

// ReadAt returns io.EOF with fewer bytes than asked for, also where the kernel returns the rest
// at the next call.
func (s *sharer) ReadAt(b []byte, off int64) (n int, err error) {
	switch {
	case s.of == nil:
		return 0, fs.ErrClosed
	case s.of.fresh():
		n = copy(b, s.of.text[min(off, int64(len(s.of.text))):])
	default:
		if n, err = s.of.readAt(b, off); err != nil {
			s.of.forget() // its group was removed, and there may be another by that name
		}
	}
	if err == nil && n < len(b) {
		err = io.EOF
	}
	return n, err
}

func (s *sharer) Read(b []byte) (int, error) {
	n, err := s.ReadAt(b, s.off)
	if s.off += int64(n); n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

func (s *sharer) Stat() (fs.FileInfo, error) {
	if s.of == nil {
		return nil, fs.ErrClosed
	}
	return memInfo{s.of.name}, nil
}

// Close closes the file with its last user.
func (s *sharer) Close() error {
	f := s.of
	if f == nil {
		return fs.ErrClosed
	}
	s.of = nil
	if f.users--; f.users > 0 {
		return nil
	}
	f.forget()
	return f.file.Close()
}

type memInfo struct{ name string }

func (i memInfo) Name() string     { return i.name }
func (memInfo) Size() int64        { return 0 }
func (memInfo) Mode() fs.FileMode  { return 0o444 }
func (memInfo) ModTime() time.Time { return time.Time{} }
func (memInfo) IsDir() bool        { return false }
func (memInfo) Sys() any           { return nil }
