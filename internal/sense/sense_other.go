// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package sense

import "math"

// used returns NaN: nothing is set on this system.
func used() float64 { return math.NaN() }

// threads needs Linux.
type threads struct{}

func (*threads) init(string)   {}
func (*threads) close()        {}
func (*threads) read() float64 { return math.NaN() }
func (*threads) count() int    { return 0 }
