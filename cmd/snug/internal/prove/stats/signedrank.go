// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"cmp"
	"math"
	"slices"
)

// exactLimit is the largest number of differences with an exact distribution; beyond it
// the normal approximation has an error below a thousandth of p.
const exactLimit = 200

// SignedRank returns the two-sided p-value of Wilcoxon's signed-rank test for differences
// that are symmetric about 0 (F. Wilcoxon, "Individual Comparisons by Ranking Methods",
// Biometrics Bulletin 1 (1945)): the probability of rank sums at least as uneven as these
// if each difference had a random sign. Differences of two measurements that the setting
// does not influence are symmetric, even if the measurements are skewed.
//
// Differences of equal size share the mean of their ranks. Zeros are ranked but count for
// neither side, as J. W. Pratt proposed ("Remarks on Zeros and Ties in the Wilcoxon
// Signed Rank Procedures", JASA 54 (1959)). Dropping them first, as Wilcoxon did and R
// does, can make an effect look more certain because a difference became smaller. Up to
// 200 differences p is exact, also with ties and zeros: the distribution is that of the
// given ranks. Beyond that it is the normal approximation with continuity correction.
//
// Only the order matters, so infinite differences are allowed. Without any difference
// other than 0, p is 1. It is NaN if d holds NaN.
func SignedRank(d []float64) (p float64) {
	if slices.ContainsFunc(d, math.IsNaN) {
		return math.NaN()
	}
	ranks, positive := doubledRanks(d)
	total := 0
	for _, r := range ranks {
		total += r
	}
	w := min(positive, total-positive)
	if len(d) > exactLimit {
		return signedRankNormal(ranks, w, total)
	}
	return min(1, 2*sum(signedRankTail(ranks, w)))
}

// doubledRanks returns twice the ranks of the sizes of all d that are not 0, and the sum
// of those that are positive. It doubles them because the mean rank of ties can be a
// multiple of one half.
func doubledRanks(d []float64) (ranks []int, positive int) {
	s := slices.Clone(d)
	slices.SortFunc(s, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	for i := 0; i < len(s); {
		j := i + 1
		for j < len(s) && math.Abs(s[j]) == math.Abs(s[i]) {
			j++
		}
		for _, v := range s[i:j] {
			if v == 0 {
				continue
			}
			r := i + 1 + j // first and last rank of the ties
			ranks = append(ranks, r)
			if v > 0 {
				positive += r
			}
		}
		i = j
	}
	return ranks, positive
}

// signedRankTail returns the probability of each sum from 0 to w if every rank is in the
// sum with probability one half. It takes len(ranks)*w steps.
func signedRankTail(ranks []int, w int) []float64 {
	prob := make([]float64, w+1)
	prob[0] = 1
	top := 0
	for _, r := range ranks {
		top = min(top+r, w)
		for s := top; s >= 0; s-- {
			prob[s] /= 2
			if s >= r {
				prob[s] += prob[s-r] / 2 // not yet halved in this pass
			}
		}
	}
	return prob
}

func sum(x []float64) float64 {
	t := 0.0
	for _, v := range x {
		t += v
	}
	return t
}

// signedRankNormal returns the normal approximation of the p-value; w and total are sums
// of doubled ranks.
func signedRankNormal(ranks []int, w, total int) float64 {
	variance := 0.0
	for _, r := range ranks {
		variance += float64(r) * float64(r) / 4
	}
	if variance == 0 {
		return 1
	}
	// The correction is half a step; sums of doubled ranks go in steps of 2.
	off := float64(total)/2 - float64(w) - 1
	if off <= 0 {
		return 1
	}
	return math.Erfc(off / math.Sqrt(2*variance))
}

// HodgesLehmann returns the estimate that belongs to the signed-rank test: the median of
// the Walsh averages, which are the means of all pairs of differences, including each
// with itself (J. L. Hodges and E. L. Lehmann, "Estimates of Location Based on Rank
// Tests", Annals of Mathematical Statistics 34 (1963)). It is NaN if d is empty or holds
// a value that is not finite. Time and memory grow with the square of len(d).
func HodgesLehmann(d []float64) float64 {
	if !finite(d) {
		return math.NaN()
	}
	return middle(walsh(d))
}

// walsh returns the Walsh averages of d, sorted.
func walsh(d []float64) []float64 {
	w := make([]float64, 0, len(d)*(len(d)+1)/2)
	for i, a := range d {
		w = append(w, a) // exactly: a/2 + a/2 loses a denormal's last bit
		for _, b := range d[i+1:] {
			w = append(w, a/2+b/2)
		}
	}
	slices.Sort(w)
	return w
}

// HodgesLehmannInterval returns the interval of all centres that the signed-rank test
// does not reject, with at least this confidence (J. W. Tukey; Hollander, Wolfe and
// Chicken, 3.3). The coverage is exact for continuous symmetric differences, and at least
// that with ties. Beyond 200 differences it follows the normal approximation.
//
// It is false if there are too few differences (fewer than 6 for 0.95) or one is not
// finite.
func HodgesLehmannInterval(d []float64, confidence float64) (Interval, bool) {
	n := len(d)
	if n < 2 || !finite(d) || !(confidence < 1) {
		return Interval{}, false
	}
	// The interval from the k-th smallest to the k-th largest average misses the
	// centre if the smaller rank sum about it is below k.
	k, has := signedRankCritical(n, confidence)
	if k == 0 {
		return Interval{}, false
	}
	w := walsh(d)
	return Interval{w[k-1], w[len(w)-k], has}, true
}

// signedRankCritical returns the largest k for which 1-2P(V < k) is at least confidence,
// and that probability. V is the rank sum of n differences without ties. k is 0 if there
// is none.
func signedRankCritical(n int, confidence float64) (k int, has float64) {
	half := n * (n + 1) / 4
	if n > exactLimit {
		mean := float64(n) * float64(n+1) / 4
		sd := math.Sqrt(mean * float64(2*n+1) / 6)
		k = int(mean + 0.5 + sd*normalQuantile((1-max(confidence, 0))/2))
		if k < 1 {
			return 0, 0
		}
		k = min(k, half)
		return k, math.Erf((mean + 0.5 - float64(k)) / (sd * math.Sqrt2))
	}
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = i + 1
	}
	tail := 0.0
	for v, p := range signedRankTail(ranks, half) {
		tail += p
		if c := 1 - 2*tail; c < confidence || v+1 > half {
			break
		} else {
			k, has = v+1, c
		}
	}
	return k, has
}
