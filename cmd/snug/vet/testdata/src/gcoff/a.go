// SPDX-License-Identifier: Apache-2.0

package gcoff

import "runtime/debug"

func off() {
	debug.SetGCPercent(-1) // want `turns the collector off.*\(gc-off-unbounded\)`
	debug.SetMemoryLimit(-1)
}
