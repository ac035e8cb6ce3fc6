// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package sense

import "math"

// used is not asked for where nothing is set.
func used() float64 { return math.NaN() }

// threads are those of Linux only.
type threads struct{}

func (*threads) init(string)   {}
func (*threads) close()        {}
func (*threads) read() float64 { return math.NaN() }
func (*threads) count() int    { return 0 }
