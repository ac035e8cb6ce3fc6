// SPDX-License-Identifier: Apache-2.0

//go:build unix

package bounded

import (
	"os"
	"syscall"
)

// nonblock keeps the opening of a pipe from waiting for a writer.
const nonblock = syscall.O_NONBLOCK

// firstOfPipe tells whether a pipe has a writer, by a read that does not wait:
// one that would have to wait has one. It returns what there was to read.
func firstOfPipe(f *os.File) ([]byte, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	var (
		b       [512]byte
		n       int
		readErr error
	)
	err = conn.Read(func(fd uintptr) bool {
		for {
			n, readErr = syscall.Read(int(fd), b[:])
			if readErr != syscall.EINTR {
				return true
			}
		}
	})
	switch {
	case err != nil:
		return nil, err
	case readErr == syscall.EAGAIN:
		return nil, nil
	case readErr != nil:
		return nil, readErr
	case n == 0:
		return nil, errNoWriter
	}
	return b[:n], nil
}
