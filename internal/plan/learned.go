// SPDX-License-Identifier: Apache-2.0

package plan

// LearnedFor is how long a program must have been measured, in seconds, before LearnedMemory gives
// more than the fixed rule: a week, so that a peak of one day of the week was seen.
const LearnedFor = 7 * 24 * 3600

// LearnedMemory returns a GOMEMLIMIT for a memory limit below which a program was measured: the limit
// less peak, the largest memory seen that is not Go's, and a margin of a quarter of it, at least
// MinHeadroom. fixed is what the fixed rule gives for the limit, at least MinValue; seconds is how long
// the program was measured. All sizes are in bytes, and limit and peak at most 1e18. The bounds:
//
//   - At most fixed, unless it was measured for LearnedFor. A peak that was not seen would be an OOM kill.
//   - At most the limit less half of the fixed headroom, and less MinHeadroom. The runtime overshoots a
//     GOMEMLIMIT, and no measurement of other memory shows by how much.
//   - At least half of fixed, and MinValue. A peak that is wrong, or another program's, would leave no
//     room for the live heap, and the collector would run all the time.
func LearnedMemory(limit, fixed, peak, seconds int64) int64 {
	most := fixed
	if seconds >= LearnedFor {
		most = limit - max((limit-fixed)/2, MinHeadroom)
	}
	return max(min(limit-peak-max(peak/4, MinHeadroom), most), fixed/2, MinValue)
}
