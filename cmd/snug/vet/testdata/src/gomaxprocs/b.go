// SPDX-License-Identifier: Apache-2.0

package gomaxprocs

import "runtime"

func only() {
	// A comment that stays.
	runtime.GOMAXPROCS(runtime.NumCPU()) // want `gomaxprocs-numcpu`
}
