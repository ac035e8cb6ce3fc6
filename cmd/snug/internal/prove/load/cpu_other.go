// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package load

import "time"

// cpuTime returns ok false: CPU time is not measured here.
func cpuTime() (d time.Duration, ok bool) { return 0, false }
