// SPDX-License-Identifier: Apache-2.0

package stats

import "math"

// Paired is the result of rounds in which two settings were measured side by side.
type Paired struct {
	// N is the number of pairs; 0 if they could not be compared, and then the other
	// fields have no meaning.
	N int
	// Ratio is arm over base, 1 for no difference: the exponential of the Hodges-Lehmann
	// estimate of the ratio's logarithm. NaN if N is 0.
	Ratio float64
	// Interval is the interval of Ratio by the signed-rank test.
	Interval Interval
	// HasInterval is false if there are too few pairs for Interval.
	HasInterval bool
	// P is the unadjusted p-value of the signed-rank test for no difference.
	P float64
	// SD is the standard deviation of the logarithm of the ratio between rounds: about
	// the coefficient of variation of the ratio. NaN with fewer than 2 pairs.
	SD float64
}

// ComparePaired compares arm with base by their ratios. Values at one index come from the
// same round. Swapping arm and base gives the reciprocal ratio and interval and the same
// P.
//
// Ratios need positive, finite values. If any value is not (a run without an operation,
// or NaN because it was not measured), or there are none, N is 0, Ratio and SD are NaN
// and P is 1: to leave such a round out would depend on the result, so the caller must
// decide and report it. ComparePaired panics if the lengths differ.
func ComparePaired(base, arm []float64, confidence float64) Paired {
	if len(base) != len(arm) {
		panic("stats: paired samples of different length")
	}
	none := Paired{Ratio: math.NaN(), SD: math.NaN(), P: 1}
	if len(base) == 0 {
		return none
	}
	d := make([]float64, len(base))
	for i := range d {
		if !positive(base[i]) || !positive(arm[i]) {
			return none
		}
		// Not the logarithm of the quotient: this is exactly antisymmetric.
		d[i] = math.Log(arm[i]) - math.Log(base[i])
	}
	p := Paired{N: len(d), Ratio: math.Exp(HodgesLehmann(d)), P: SignedRank(d), SD: deviation(d)}
	if iv, ok := HodgesLehmannInterval(d, confidence); ok {
		p.HasInterval = true
		p.Interval = Interval{math.Exp(iv.Low), math.Exp(iv.High), iv.Confidence}
	}
	return p
}

func positive(v float64) bool { return v > 0 && !math.IsInf(v, 1) }

// deviation returns the standard deviation of the population that x is a sample of; NaN
// with fewer than 2 values.
func deviation(x []float64) float64 {
	if len(x) < 2 {
		return math.NaN()
	}
	mean := sum(x) / float64(len(x))
	squares := 0.0
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	return math.Sqrt(squares / float64(len(x)-1))
}

// alpha is the share of families of comparisons without any difference in which Judge may
// report one.
const alpha = 0.05

// Judge returns the word for a comparison: better, worse, same, or not shown.
//
//   - better, worse: the whole interval lies beyond the margin, and adjusted, the
//     p-value after [Holm], is at most 0.05. The difference is larger than the
//     margin, not only different from zero.
//   - same: the whole interval lies within the margin. There may be a difference,
//     even a significant one, but it is smaller than the margin.
//   - not shown: everything else, mostly because of too few rounds. It says nothing
//     about the settings.
//
// margin is a share, 0.02 for 2 %. It covers the ratios from 1/(1+margin) to 1+margin, so
// that no word depends on which of two settings is the baseline. A margin below 0 or NaN
// shows nothing. lowerIsBetter defines the meaning of a ratio below 1.
func Judge(p Paired, adjusted, margin float64, lowerIsBetter bool) string {
	const better, worse, same, notShown = "better", "worse", "same", "not shown"
	if p.N == 0 || !p.HasInterval || !(margin >= 0) {
		return notShown
	}
	high := 1 + margin
	low := 1 / high
	switch iv := p.Interval; {
	case iv.Low >= low && iv.High <= high:
		return same
	case !(adjusted <= alpha) || iv.Low <= high && iv.High >= low:
		return notShown
	case (iv.High < low) == lowerIsBetter:
		return better
	}
	return worse
}

// MinPairs returns the smallest number of rounds in which the largest possible agreement
// gives an adjusted p-value of at most alpha in a family of this many comparisons: 6 for
// one at 0.05, 7 for three. With fewer, no effect is large enough for [Judge] to report
// it. It is 0 if no number is enough (alpha 0 or less, NaN). Fewer than 1 comparison
// counts as 1.
func MinPairs(alpha float64, comparisons int) int {
	if !(alpha > 0) {
		return 0
	}
	n := 1
	for float64(max(comparisons, 1))*math.Ldexp(1, 1-n) > alpha {
		n++
	}
	return n
}

// NeedN returns about how many rounds are needed to distinguish two ratios that are the
// margin apart, if the logarithm of the paired ratio has the standard deviation sd. With
// this many, the test finds a true ratio of 1+margin different from 1 at the level alpha
// with probability power. For [Judge] this means: for a true ratio of (1+margin)^2 it
// returns better or worse with about that probability, and for a true ratio of 1 it
// returns same with about 2*power-1. For a true ratio at the margin no number of rounds
// shows anything.
//
// It is the t-test's number (W. C. Guenther, "Sample Size Formulas for Normal Theory T
// Tests", American Statistician 35 (1981)) divided by the relative efficiency of the
// signed-rank test for normal noise, 3/pi, and at least MinPairs(alpha, 1). For a family
// of comparisons take the larger of this and [MinPairs].
//
// It is 0 if there is no such number: sd is negative or not finite, margin is not above
// 0, power or alpha is not between 0 and 1, or the number is above 1e9.
func NeedN(sd, margin, power, alpha float64) int {
	if !(sd >= 0) || math.IsInf(sd, 0) || !(margin > 0) || !(power > 0 && power < 1) || !(alpha > 0 && alpha < 1) {
		return 0
	}
	level := normalQuantile(1 - alpha/2)
	z := max(level+normalQuantile(power), 0)
	at := z * sd / math.Log1p(margin)
	n := math.Ceil((at*at + level*level/2) * math.Pi / 3)
	if !(n <= 1e9) {
		return 0
	}
	return max(int(n), MinPairs(alpha, 1))
}
