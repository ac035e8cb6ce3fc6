// SPDX-License-Identifier: Apache-2.0

package earlybelow

import (
	"runtime"

	_ "example.com/m/earlysafe"
)

var size = runtime.GOMAXPROCS(0)
