// SPDX-License-Identifier: Apache-2.0

//go:build unix

package fit

import (
	"os"
	"syscall"

	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
)

// replace replaces this process by the command: by the first of files that execve(2) can execute,
// as in execvp(3). env is for the file that was read, any other starts unchanged. It returns only if it failed.
func replace(files []string, read string, args, env []string) error {
	failed, why := read, error(syscall.ENOENT)
	for _, file := range files {
		its := env
		if file != read {
			its = os.Environ()
		}
		switch err := syscall.Exec(file, args, its); err {
		case syscall.EACCES:
			if why != err {
				failed, why = file, err
			}
		case syscall.ENOENT, syscall.ENOTDIR, syscall.ESTALE, syscall.ENODEV, syscall.ETIMEDOUT:
			if why != syscall.EACCES {
				why = err
			}
		default:
			return cgrun.ExecFailed(args[0], file, "", err)
		}
	}
	return cgrun.ExecFailed(args[0], failed, "", why)
}
