// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package cpuprof

import "context"

// Capture needs Linux; elsewhere it returns ErrNotSupported.
func Capture(context.Context, int, Options) (*Raw, error) {
	return nil, ErrNotSupported
}
