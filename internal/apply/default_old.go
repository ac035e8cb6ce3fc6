// SPDX-License-Identifier: Apache-2.0

//go:build !go1.25

package apply

// resetProcs reports that the runtime cannot take GOMAXPROCS back before Go 1.25.
func resetProcs() bool { return false }
