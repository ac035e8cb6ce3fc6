// SPDX-License-Identifier: Apache-2.0

//go:build unix

package fit

import (
	"syscall"

	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
	"github.com/snug-go/snug/cmd/snug/internal/prove/inherit"
)

// replace makes this process become the command, with the signals ignored and
// blocked that were when it began. It returns only when that failed.
func replace(file string, args, env []string) error {
	inherit.AtStart().Restore()
	return cgrun.ExecFailed(args[0], file, "", syscall.Exec(file, args, env))
}
