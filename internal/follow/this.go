// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"runtime"
	"runtime/debug"

	"github.com/snug-go/snug/limits"
)

// openThis opens the files this process can read about itself.
func openThis() (m machine) {
	if f, err := limits.Follow(); err == nil {
		m = machine{f.Read, knobs, cpuTime}
	}
	return m
}

func knobs() (procs, memory int64) {
	return int64(runtime.GOMAXPROCS(0)), debug.SetMemoryLimit(-1)
}
