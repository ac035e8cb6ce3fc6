// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"encoding/binary"
	"math/bits"
	"time"
)

// Durations is a histogram of durations that the runtime counts, or the difference of two. Its
// buckets are those of Go 1.20 and later (runtime/histogram.go): four linear ones below 256 ns,
// and four for each power of two above, up to 2^47 ns, about 39 hours. Go 1.18 and 1.19 have
// sixteen instead of four, which are added up.
//
// A process counts while snug reads. Each count only grows, so every count read is one that the
// process had during the read: the runtime's own reader gives no more (runtime/metrics).
type Durations struct {
	first  int      // the index of counts[0]
	counts []uint64 // up to the last one that is not 0
	below  uint64   // negative durations, which clocks can produce
	above  uint64   // 2^47 ns and longer
	total  uint64
}

const (
	subBits, firstBits = 2, 6
	buckets            = 160
	// maxCount bounds a plausible count: one every nanosecond for three days.
	maxCount = 1 << 48
)

// lower returns the lower bound of a bucket. All durations in it are shorter than the next one's.
func lower(bucket int) time.Duration {
	power, sub := bucket>>subBits, int64(bucket&(1<<subBits-1))
	if power == 0 {
		return time.Duration(sub << firstBits)
	}
	return time.Duration((1<<subBits | sub) << (firstBits + power - 1))
}

// bucketOf returns the bucket of a duration, or buckets if that is 2^47 ns or longer.
func bucketOf(d time.Duration) int {
	ns := uint64(d)
	power := max(0, bits.Len64(ns)-firstBits-subBits)
	return min(buckets, power<<subBits+int(ns>>(firstBits+max(0, power-1))&(1<<subBits-1)))
}

// Sizes of the runtime's timeHistogram, by layout.
const (
	sizeFine   = 8 * (45*16 + 1)   // Go 1.18 and 1.19: counts, underflow
	sizeCoarse = 8 * (buckets + 2) // since Go 1.20: counts, underflow, overflow
)

// parseDurations reads a timeHistogram. ok is false if it is none.
func parseDurations(b block) (_ Durations, ok bool) {
	var all [buckets + 1]uint64
	var d Durations
	switch len(b) {
	case sizeCoarse:
		for i := range buckets {
			all[i] = b.uint64(8 * int64(i))
		}
		d.below, all[buckets] = b.uint64(8*buckets), b.uint64(8*(buckets+1))
	case sizeFine:
		for i := range 45 * 16 {
			super, sub := i>>4, uint64(i&15)
			ns := sub
			if super > 0 {
				ns = (16 | sub) << (super - 1)
			}
			all[bucketOf(time.Duration(ns))] += b.uint64(8 * int64(i))
		}
		d.below = b.uint64(8 * 45 * 16)
	default:
		return Durations{}, false
	}
	d.above = all[buckets]
	for _, n := range append(all[:], d.below) {
		if n > maxCount {
			return Durations{}, false
		}
		d.total += n
	}
	d.trim(all[:buckets])
	return d, d.total <= maxCount
}

// trim keeps the counts between the first and the last that are not 0.
func (d *Durations) trim(all []uint64) {
	first, end := 0, len(all)
	for first < end && all[first] == 0 {
		first++
	}
	for end > first && all[end-1] == 0 {
		end--
	}
	d.first, d.counts = first, append([]uint64(nil), all[first:end]...)
}

// grew reports whether b can be a timeHistogram read after a: no count fell, or grew by more than
// fits between two reads. A half of a count that was read before the other half differs by 2^32.
func grew(a, b block) bool {
	for i := 0; i+8 <= len(a); i += 8 {
		x, y := binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])
		if y < x || y-x >= 1<<31 {
			return false
		}
	}
	return true
}

func (d *Durations) at(bucket int) uint64 {
	if i := bucket - d.first; i >= 0 && i < len(d.counts) {
		return d.counts[i]
	}
	return 0
}

// Count returns how many durations there are.
func (d *Durations) Count() uint64 { return d.total }

// Since returns the durations that were added after earlier. ok is false if earlier is not from
// the same process before: a count fell.
func (d *Durations) Since(earlier *Durations) (_ Durations, ok bool) {
	var all [buckets]uint64
	for i := range all {
		now, then := d.at(i), earlier.at(i)
		if now < then {
			return Durations{}, false
		}
		all[i] = now - then
	}
	if d.below < earlier.below || d.above < earlier.above {
		return Durations{}, false
	}
	n := Durations{below: d.below - earlier.below, above: d.above - earlier.above, total: d.total - earlier.total}
	n.trim(all[:])
	return n, true
}

// Quantile returns a bound for a share of the durations, 0 to 1: that share is shorter. It is the
// upper bound of a bucket, so it is at most 25 % above the exact quantile, or 64 ns. ok is false
// without durations. Quantile(1) bounds the longest.
func (d *Durations) Quantile(share float64) (_ time.Duration, ok bool) {
	if d.total == 0 {
		return 0, false
	}
	rank := max(1, uint64(share*float64(d.total)+0.999999))
	seen := d.below
	if seen >= rank {
		return 0, true
	}
	for i, n := range d.counts {
		if seen += n; seen >= rank {
			return lower(d.first + i + 1), true
		}
	}
	return lower(buckets), true // and there is no upper bound
}

// Below returns how many durations are shorter than bound, which must be a bucket's lower bound,
// such as a power of two of nanoseconds from 2^6 on.
func (d *Durations) Below(bound time.Duration) uint64 {
	n := d.below
	for i, count := range d.counts {
		if d.first+i < bucketOf(bound) {
			n += count
		}
	}
	return n
}
