// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package apply

// resident does not matter where nothing is set.
func resident() int64 { return 0 }
