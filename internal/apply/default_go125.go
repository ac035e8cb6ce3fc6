// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package apply

import "runtime"

// resetProcs returns GOMAXPROCS to the runtime.
func resetProcs() bool {
	runtime.SetDefaultGOMAXPROCS()
	return true
}
