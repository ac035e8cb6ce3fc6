// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cli

import (
	"syscall"

	"github.com/snug-go/snug/cmd/snug/internal/cgrun"
)

// replace makes this process become the command. It returns only when that
// failed.
func replace(file string, args, env []string) error {
	return cgrun.ExecFailed(args[0], file, "", syscall.Exec(file, args, env))
}
