// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"

	"go.uber.org/automaxprocs/maxprocs"
)

var size = runtime.GOMAXPROCS(0) // want `before runtime.GOMAXPROCS in set sets it.*\(init-order\)`

func main() { maxprocs.Set() }
