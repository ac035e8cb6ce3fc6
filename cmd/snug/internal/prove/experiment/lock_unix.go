// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package experiment

import (
	"os"
	"syscall"
)

// lock prevents a second experiment from writing to the same record (flock(2)). Closing
// the file releases it. File systems without locks have no such protection.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == syscall.EWOULDBLOCK {
		return err
	}
	return nil
}
