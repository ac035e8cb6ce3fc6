// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package experiment

import (
	"os"
	"syscall"
)

// lock keeps a second experiment from writing to the same record (flock(2)); it
// ends with the file. File systems without locks do without.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == syscall.EWOULDBLOCK {
		return err
	}
	return nil
}
