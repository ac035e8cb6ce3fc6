// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package cpuprof

import "context"

// Capture returns ErrNotSupported: it needs Linux.
func Capture(context.Context, int, Options) (*Raw, error) {
	return nil, ErrNotSupported
}
