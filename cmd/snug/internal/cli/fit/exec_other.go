// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package fit

import "github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"

// replace is not supported here.
func replace(files []string, read string, args, env []string) error { return cgrun.ErrNotSupported }
