// SPDX-License-Identifier: Apache-2.0

//go:build unix

package goproc

import (
	"io"
	"io/fs"
	"syscall"
)

// descriptor is an open file. An os.File would start the runtime's poller, which needs
// descriptors of its own and crashes the program if none are left; `snug run` must continue.
type descriptor int

// open opens a regular file. It does not block if a pipe has taken its place.
func open(path string) (descriptor, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return -1, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		return descriptor(fd), nil
	}
}

func (d descriptor) Close() error { return syscall.Close(int(d)) }

func (d descriptor) ReadAt(p []byte, off int64) (int, error) {
	read := 0
	for read < len(p) {
		n, err := syscall.Pread(int(d), p[read:], off+int64(read))
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return read, err
		case n == 0:
			return read, io.EOF
		default:
			read += n
		}
	}
	return read, nil
}
