// SPDX-License-Identifier: Apache-2.0

//go:build unix

package fit

import (
	"syscall"

	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
	"github.com/snug-go/snug/cmd/snug/internal/prove/inherit"
)

// replace replaces this process by the command. Signals are ignored and blocked as they were
// when this process started. It returns only if it failed.
func replace(file string, args, env []string) error {
	inherit.AtStart().Restore()
	return cgrun.ExecFailed(args[0], file, "", syscall.Exec(file, args, env))
}
