// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package apply

// resident returns 0: nothing is set on this system.
func resident() int64 { return 0 }
