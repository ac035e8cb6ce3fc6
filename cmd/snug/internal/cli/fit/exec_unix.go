// SPDX-License-Identifier: Apache-2.0

//go:build unix

package fit

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
)

// replace replaces this process by the command: by the first of files that execve(2) can execute,
// as in execvp(3). env is for the file that was read, any other starts unchanged, and a
// note says so if it is behind that file. It returns only if it failed.
func replace(files []string, read string, args, env []string, note func(string, ...any)) error {
	failed, why, tried := read, error(syscall.ENOENT), false
	for _, file := range files {
		its := env
		if tried = tried || file == read; file != read {
			if its = os.Environ(); tried && unix.Access(file, unix.X_OK) == nil {
				note("note: %s is started unchanged, as %s: %s cannot be executed", args[0], file, read)
			}
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
