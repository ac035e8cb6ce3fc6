// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/snug-go/snug/limits"
)

// writing: a goroutine of Emit writes.
var writing atomic.Bool

// Emit writes lines to standard error. It drops them rather than make the program wait (for a
// pipe or terminal that is not read) or end (a pipe without a reader: os.Stderr raises SIGPIPE).
func Emit(text string) {
	if limits.Sealed() { // anything but a write may end the program
		if writing.CompareAndSwap(false, true) {
			go func() { // it may wait
				syscall.Write(2, []byte(text))
				writing.Store(false)
			}()
		}
		return
	}
	fd := 2
	var st syscall.Stat_t
	if !limits.Uncounted() && syscall.Fstat(fd, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFCHR {
		// A terminal may accept part of a line and then block. Only a newly opened descriptor can be
		// made non-blocking without affecting others that have the terminal open.
		if own, err := syscall.Open("/proc/self/fd/2", syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY|syscall.O_CLOEXEC,
			0); err == nil {
			defer syscall.Close(own)
			fd = own
		}
	}
	for len(text) > 0 {
		// A writable pipe accepts 4096 bytes without waiting (pipe(7)).
		var set syscall.FdSet
		set.Bits[0] = 1 << 2
		n, err := syscall.Select(3, nil, &set, nil, &syscall.Timeval{})
		if n != 1 || err != nil {
			return
		}
		part := text[:min(len(text), 4096)]
		if end := strings.LastIndexByte(part, '\n'); end > 0 { // no half line, if the pipe is full after it
			part = part[:end+1]
		}
		if n, err = syscall.Write(fd, []byte(part)); n <= 0 || err != nil {
			return
		}
		text = text[n:]
	}
}
