// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package inherit

import (
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Restore ignores and blocks them in this process and thread, which execve(2) then
// keeps. It locks the goroutine to its thread for good: call it right before.
// Signals that Go lets no program ignore (SIGSEGV and its kin) are left out.
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
