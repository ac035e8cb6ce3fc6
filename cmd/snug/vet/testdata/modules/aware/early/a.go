// SPDX-License-Identifier: Apache-2.0

package early

import "runtime"

var size = runtime.GOMAXPROCS(0) // want `go.uber.org/automaxprocs, which the module requires.*\(init-order-unknown\)`

func init() {
	_ = runtime.GOMAXPROCS(0) // want `init-order-unknown`
}

func when() int { return runtime.GOMAXPROCS(0) }
