// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package fit

import "github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"

// replace is not supported here.
func replace(_ []string, _ string, _, _ []string, _ func(string, ...any)) error {
	return cgrun.ErrNotSupported
}
