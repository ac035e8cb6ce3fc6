// SPDX-License-Identifier: Apache-2.0

package fit

import "syscall"

// Emit writes lines to standard error, or drops them where that would make the
// program wait (a pipe or a terminal that is not read from) or end (one that nothing reads
// any more: os.Stderr raises SIGPIPE).
func Emit(text string) {
	fd := 2
	var st syscall.Stat_t
	if syscall.Fstat(fd, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFCHR {
		// A terminal may take some of a line and then no more. Opened anew, and only so,
		// it can be told not to wait without telling others that have it open.
		if own, err := syscall.Open("/proc/self/fd/2", syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0); err == nil {
			defer syscall.Close(own)
			fd = own
		}
	}
	for len(text) > 0 {
		// A pipe that can be written to takes 4096 bytes without waiting (pipe(7)).
		var set syscall.FdSet
		set.Bits[0] = 1 << 2
		n, err := syscall.Select(3, nil, &set, nil, &syscall.Timeval{})
		if n != 1 || err != nil {
			return
		}
		if n, err = syscall.Write(fd, []byte(text[:min(len(text), 4096)])); n <= 0 || err != nil {
			return
		}
		text = text[n:]
	}
}
