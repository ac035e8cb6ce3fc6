// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package inherit

import (
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Restore ignores and blocks the signals in this process and thread; execve(2) keeps
// that. It locks the goroutine to its thread for good: call it right before execve. It
// leaves out the signals that Go lets no program ignore, such as SIGSEGV.
func (s Signals) Restore() {
	for n := range 64 {
		if s.Ignored>>n&1 != 0 {
			signal.Ignore(syscall.Signal(n + 1))
		}
	}
	if s.Blocked != 0 {
		runtime.LockOSThread()
		unix.PthreadSigmask(unix.SIG_BLOCK, &unix.Sigset_t{Val: [16]uint64{s.Blocked}}, nil)
	}
}
