// SPDX-License-Identifier: Apache-2.0

package gcpercentbounded

import "runtime/debug"

func off() {
	debug.SetMemoryLimit(1 << 30)
	debug.SetGCPercent(-1)
	debug.SetGCPercent(200)
}
