// SPDX-License-Identifier: Apache-2.0

package gcpercent

import "runtime/debug"

func read() int {
	old := debug.SetGCPercent(-1) // want `used to read GOGC.*\(gcpercent-read\)`
	debug.SetGCPercent(old)
	return old
}

func nested() int {
	return debug.SetGCPercent(debug.SetGCPercent(-1)) // want `gcpercent-read`
}

func zero() {
	debug.SetGCPercent(0) // want `gogc-zero`
}

// The code in between runs without the collector on purpose.
func meanwhile(f func()) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	old := debug.SetGCPercent(-1)
	f()
	debug.SetGCPercent(old)
}
