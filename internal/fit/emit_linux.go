// SPDX-License-Identifier: Apache-2.0

package fit

import "syscall"

// Emit writes lines to standard error, or drops them where that would make the
// program wait (a pipe that nobody empties) or end (one that nobody reads any more:
// os.Stderr raises SIGPIPE). A pipe that can be written to takes 4096 bytes without
// waiting (pipe(7)).
func Emit(text string) {
	for len(text) > 0 {
		var set syscall.FdSet
		set.Bits[0] = 1 << 2
		n, err := syscall.Select(3, nil, &set, nil, &syscall.Timeval{})
		if n != 1 || err != nil {
			return
		}
		if n, err = syscall.Write(2, []byte(text[:min(len(text), 4096)])); n <= 0 || err != nil {
			return
		}
		text = text[n:]
	}
}
