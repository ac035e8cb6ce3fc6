// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cli

import (
	"errors"
	"syscall"

	"github.com/snug-go/snug/cmd/snug/internal/cgrun"
)

// replace makes this process become the command. It returns only when that
// failed.
func replace(file string, args, env []string) error {
	err := syscall.Exec(file, args, env)
	code := cgrun.CodeCannotExec
	if errors.Is(err, syscall.ENOENT) {
		code = cgrun.CodeNotFound // its interpreter is missing, or it went away
	}
	return &cgrun.ExecError{Name: args[0], Code: code, Err: err}
}
