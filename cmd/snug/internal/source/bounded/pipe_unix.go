// SPDX-License-Identifier: Apache-2.0

//go:build unix

package bounded

import (
	"os"
	"syscall"
)

// nonblock makes opening a pipe not wait for a writer.
const nonblock = syscall.O_NONBLOCK

// firstOfPipe checks that a pipe has a writer by a non-blocking read: if the read would block,
// there is a writer. It returns the bytes read.
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
