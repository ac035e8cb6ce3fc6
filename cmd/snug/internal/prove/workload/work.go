// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"crypto/sha256"
	"sync/atomic"
	"time"
)

// fib is the recursive version: about 0.3 µs of CPU for n = 10, and no allocation.
func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

// turnsPerMilli is how many turns of mix take 1 ms on the 2.3 GHz Xeon (Sapphire Rapids)
// where this was written. It is a constant, so that all runs of an experiment do the same
// work: a measurement under a quota would depend on the quota.
const turnsPerMilli = 550_000

// turns returns the number of turns of mix for about d of CPU time.
func turns(d time.Duration) int { return int(d * turnsPerMilli / time.Millisecond) }

// mix uses only CPU: a chain in which each step needs the previous one (Marsaglia's
// xorshift64, Journal of Statistical Software 8(14), 2003).
func mix(x uint64, n int) uint64 {
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

var used atomic.Uint64

// use marks x as used. Otherwise the compiler could remove the computation of an unread
// value.
func use(x uint64) { used.Add(x) }

// hash chains n SHA-256 sums, each over data and the previous sum.
func hash(data []byte, n int) [sha256.Size]byte {
	sum := sha256.Sum256(data)
	for range n {
		h := sha256.New()
		h.Write(sum[:])
		h.Write(data)
		h.Sum(sum[:0])
	}
	return sum
}
