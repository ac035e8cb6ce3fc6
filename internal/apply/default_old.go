// SPDX-License-Identifier: Apache-2.0

//go:build !go1.25

package apply

// resetProcs has no runtime to give GOMAXPROCS back to before Go 1.25.
func resetProcs() bool { return false }
