// SPDX-License-Identifier: Apache-2.0

package load

import (
	"math/rand/v2"
	"time"
)

// Independent streams of random numbers of one seed.
const (
	streamWarm = iota
	streamWindow
	streamChoice // and the following: one for each user of a closed loop
)

// arrivals is a Poisson process. The gaps are unit exponentials, divided by the rate at
// the very end: with one seed, the n-th arrival at twice the rate comes at exactly half
// the time. This makes settings comparable under different loads (common random numbers).
type arrivals struct {
	unit *rand.Rand
	sum  float64 // of unit exponentials
	rate float64 // per second
}

func newArrivals(seed, stream uint64, rate float64) *arrivals {
	return &arrivals{unit: rand.New(rand.NewPCG(seed, stream)), rate: rate}
}

// next returns when the next request is due, as a time since the start.
func (a *arrivals) next() time.Duration {
	a.sum += a.unit.ExpFloat64()
	return time.Duration(a.sum / a.rate * float64(time.Second))
}
