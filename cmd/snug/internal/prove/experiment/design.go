// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/prove/stats"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Labels of the settings that can be baselines, and of snug's own.
const (
	LabelDefault = "default" // Go's variables unset
	LabelCurrent = "current" // the operator's setting
	LabelSnug    = "snug"    // what snug would set
)

// Design is an experiment: every arm once in each round.
//
// Rounds are blocks: arms are compared within a round only, so that slow changes of the
// machine affect all arms alike.
type Design struct {
	Arms   []Arm  `json:"arms"` // no two with an equal finding.Arm
	Rounds int    `json:"rounds"`
	Seed   uint64 `json:"seed"` // of order, arrivals and bootstrap
	// MaxTries is the maximum number of tries of a run that does not count, with the
	// first; 0 is 3.
	MaxTries int `json:"max_tries"`
	// Against returns the baseline of an arm; nil is Baseline.
	Against func(arms []Arm, i int) (int, bool) `json:"-"`
}

// Arm is one setting to measure.
type Arm struct {
	finding.Arm
	// Labels are the names of the setting: default, snug, current, or none.
	Labels []string `json:"labels"`
	// Rate is the offered load of an open loop in requests per second; 0 for other loads.
	Rate float64 `json:"rate_rps"`
}

// Is reports whether the arm has this label.
func (a Arm) Is(label string) bool { return slices.Contains(a.Labels, label) }

// Baseline returns the baseline of arm i. Of the arms with the same workload, quota,
// memory limit and load, it is the first labelled default, or else current, or else the
// first. Knobs and burst may differ. The result is false for the baseline itself.
func Baseline(arms []Arm, i int) (int, bool) {
	for _, label := range []string{LabelDefault, LabelCurrent, ""} {
		for j, a := range arms {
			if familyOf(a) == familyOf(arms[i]) && (label == "" || a.Is(label)) {
				return j, j != i
			}
		}
	}
	return 0, false
}

// sameWork lists the workloads whose variants all do the same work: xml/single and
// xml/pool parse the same documents. http and http/gc, or fib and fib/unbounded, are
// different programs, and a ratio between them has no meaning.
var sameWork = map[string]bool{"pool": true, "xml": true}

// BaselineOfVariants is Baseline, except that it also compares variants that do the same
// work, such as pool/numcpu and pool/limiter. The baseline of the first variant is the
// baseline of the other variants' baselines, if these have the same setting. Every other
// arm is compared with the baseline of its own variant.
func BaselineOfVariants(arms []Arm, i int) (int, bool) {
	own, ok := Baseline(arms, i)
	name, _, variant := strings.Cut(arms[i].Workload, "/")
	if ok || !variant || !sameWork[name] {
		return own, ok
	}
	f := familyOf(arms[i])
	for j, a := range arms {
		first, _, variant := strings.Cut(a.Workload, "/")
		if !variant || first != name || (family{f.workload, a.Quota, a.Memory, a.Load}) != f {
			continue
		}
		if b, ok := Baseline(arms, j); ok {
			j = b
		}
		a := arms[j].Arm
		a.Workload = arms[i].Workload
		return j, j != i && a == arms[i].Arm
	}
	return 0, false
}

// family is what arms must share to be compared with each other.
type family struct {
	workload string
	quota    float64
	memory   int64
	load     string
}

func familyOf(a Arm) family { return family{a.Workload, a.Quota, a.Memory, a.Load} }

// baseline applies Against.
func (d *Design) baseline(i int) (int, bool) {
	if d.Against != nil {
		return d.Against(d.Arms, i)
	}
	return Baseline(d.Arms, i)
}

// tries returns MaxTries or its default.
func (d *Design) tries() int {
	if d.MaxTries <= 0 {
		return 3
	}
	return d.MaxTries
}

// MinRounds returns how many rounds this design needs to show any difference, however
// large, between all of its arms: [stats.MinPairs] of the largest family of comparisons
// under all loads, and at least what the interval of a median needs.
func (d *Design) MinRounds() int {
	size := map[finding.Arm]int{} // comparisons of one metric, by baseline without its load
	largest := 1
	for i := range d.Arms {
		if b, ok := d.baseline(i); ok {
			base := d.Arms[b].Arm
			base.Load = ""
			size[base]++
			largest = max(largest, size[base])
		}
	}
	return minRounds(largest)
}

// Compares reports whether the design compares anything.
func (d *Design) Compares() bool {
	for i := range d.Arms {
		if _, ok := d.baseline(i); ok {
			return true
		}
	}
	return false
}

func minRounds(comparisons int) int {
	return max(stats.MinPairs(1-confidence, comparisons), stats.NeedForMedian(confidence))
}

// round returns the runs of a round, without repetitions: each arm once, shuffled by the seed. The
// order depends only on the seed and the round's number, so that a resumed experiment has the same
// order.
func (d *Design) round(round int) []Trial {
	trials := make([]Trial, len(d.Arms))
	order := rand.New(rand.NewPCG(d.Seed, uint64(round))).Perm(len(d.Arms))
	seed := d.arrivals(round)
	for at, i := range order {
		a := d.Arms[i]
		trials[at] = Trial{Arm: a.Arm, Round: round, Order: at, Seed: seed, Rate: a.Rate}
	}
	return trials
}

// arrivals returns the seed of a round's arrivals, the same for all arms: common random
// numbers. It is below 2^53, which JSON readers keep exactly.
func (d *Design) arrivals(round int) uint64 {
	return rand.New(rand.NewPCG(d.Seed, 1<<63|uint64(round))).Uint64N(1 << 53)
}
