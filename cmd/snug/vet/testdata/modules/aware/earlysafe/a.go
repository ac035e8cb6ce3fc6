// SPDX-License-Identifier: Apache-2.0

package earlysafe

import (
	"runtime"

	_ "go.uber.org/automaxprocs"
)

var size = runtime.GOMAXPROCS(0)
