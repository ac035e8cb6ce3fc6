// SPDX-License-Identifier: Apache-2.0

package finding

// BenchVerdict is the result of an experiment or a search: the decision as data, and the
// sentences that are made from it. Older documents have only the sentences.
type BenchVerdict struct {
	// Keep: nothing measured is better than the baseline beyond noise.
	Keep bool `json:"keep"`
	// Best is the index of the best cell; null = keep the baseline, or undecided.
	Best *int   `json:"best"`
	Text string `json:"text"` // one line
	// What this machine cannot show, one sentence each.
	Cannot []string `json:"cannot_show"`

	// Code says why nothing was judged; absent = something was.
	Code string `json:"code,omitempty"`
	// Metric is the objective, by its field name in cells.
	Metric    string     `json:"metric,omitempty"`
	Judged    []Judged   `json:"judged,omitempty"`     // one per container
	Risks     []Risk     `json:"risks,omitempty"`      // metrics in which a winner may still be worse, largest first
	FewRounds bool       `json:"few_rounds,omitempty"` // some metrics have no interval, because there were too few rounds
	NoTails   bool       `json:"no_tails,omitempty"`   // latencies under an open loop were not measured
	Law       *StallTest `json:"stall_law,omitempty"`  // only with code "stall-law"
	// Unshown is cannot_show as data.
	Unshown []Unshown `json:"unshown,omitempty"`
}

// Values of BenchVerdict.Code: why nothing was judged.
const (
	CodeUncounted   = "uncounted"    // no valid runs
	CodeNotCompared = "not-compared" // the metric was not measured in pairs
	CodeAlone       = "one-setting"  // nothing to compare with
	CodeNotAsked    = "not-asked"    // the objective was "none"
	CodeLaw         = "stall-law"    // only stalls were measured
	CodeUnfinished  = "unfinished"   // a search was stopped
	CodeBudget      = "budget"       // the budget of a search ended before a setting was confirmed
)

// Judged is the decision for one container: a workload, a quota and a memory limit.
type Judged struct {
	Code string `json:"code"`
	// Baseline is the index of a cell with the setting that the others are compared with:
	// the planned one or, if that fails (see baseline_fails), the one that takes its place.
	Baseline int `json:"baseline"`
	Loads    int `json:"loads"` // number of loads compared
	// Metric is the one that decides here, by its field name in cells; absent = that of the verdict.
	Metric string `json:"metric,omitempty"`
	// Settings is the number of settings compared with the baseline.
	Settings int `json:"settings,omitempty"`
	// Setting is a cell of the setting that wins, leads or trades; null = none. In a search the next two
	// come from the confirmation.
	Setting *int         `json:"setting"`
	Gain    *Comparison  `json:"gain"`                     // the metric in which it is better
	Also    []Comparison `json:"also,omitempty"`           // others in which it is better: the largest of each metric
	Costs   []Comparison `json:"costs,omitempty"`          // those in which it is worse: the largest of each metric
	Others  []Other      `json:"others,omitempty"`         // settings that win something else
	Fails   *Failure     `json:"baseline_fails,omitempty"` // how the planned baseline fails
	// Chance: so few failures fall into the baseline's rounds alone by chance in more than 5 % of experiments.
	Chance  bool     `json:"may_be_chance,omitempty"`
	Failing *Failure `json:"setting_fails,omitempty"` // how the setting fails or, if the baseline is kept, another one
	Rounds  int      `json:"rounds,omitempty"`        // at most compared
	Least   int      `json:"least_rounds,omitempty"`  // the least that can show any difference
	Need    int      `json:"need_rounds,omitempty"`   // about how many would show a difference of the margin
	Margin  float64  `json:"margin_ratio,omitempty"`  // largest difference that does not count, 0.02 = 2%
	// Broken is the requirement that the setting of a search, or else its baseline, does not meet.
	Broken *Broken  `json:"broken,omitempty"`
	Bounds []string `json:"bounds,omitempty"` // all of them
	// Against is the cell that a search compared Setting with, if that is not the baseline: snug's plan,
	// where the baseline fails.
	Against *int `json:"against,omitempty"`
	// Open is the largest gain that a search does not rule out, as a share, 0.17 = 17 %; 0 is too small to matter.
	// Noise is how far the difference of two runs varies: one standard deviation, as a share.
	Open  float64 `json:"open_ratio,omitempty"`
	Noise float64 `json:"noise_ratio,omitempty"`
	// Leader is the cell that led a search, if it is not Setting; its change and Pairs are those of Led.
	Leader *int        `json:"leader,omitempty"`
	Led    *Comparison `json:"led,omitempty"`
}

// Other is a setting that is better than the one that wins, in another metric.
type Other struct {
	Setting int          `json:"setting"` // index of a cell
	Gain    Comparison   `json:"gain"`
	Costs   []Comparison `json:"costs,omitempty"` // metrics in which it is worse than the baseline
}

// Values of Judged.Code.
const (
	Won         = "win"            // Setting is better, and worse in no metric
	Spared      = "spared"         // the planned baseline fails and Setting does not
	Traded      = "trade"          // Setting is better in one metric and worse in another: keep the baseline
	Kept        = "keep"           // nothing is better beyond noise
	NoneSpared  = "none-spared"    // the baseline fails, and all others may too: no verdict
	TooFew      = "too-few-rounds" // too few to show any difference: no verdict
	NothingElse = "nothing-else"   // a search had nothing to try
	NoneHolds   = "none-holds"     // a search found nothing within the bounds
	NoneBetter  = "none-better"    // a search found nothing that leads the baseline
	LeaderBroke = "leader-broke"   // Setting led a search, but broke a bound on fresh runs
	NoGain      = "no-gain"        // Setting led a search, but showed no gain on fresh runs
)

// Failure says how a cell fails.
type Failure struct {
	Cell   int     `json:"cell"`
	Code   string  `json:"code"`
	Rounds int     `json:"rounds"`      // rounds that failed
	Of     int     `json:"of"`          // valid rounds
	Ratio  float64 `json:"error_ratio"` // failed operations over all, 0 to 1
}

// Values of Failure.Code.
const (
	FailsMemory     = "out-of-memory" // a process was killed
	FailsResult     = "no-result"
	FailsOperations = "failed-operations"
)

// Broken is a requirement that a setting of a search does not meet.
type Broken struct {
	Code  string `json:"code"`
	Bound string `json:"bound,omitempty"` // with code "bound"; with code "worse" the metric
}

// Values of Broken.Code.
const (
	BrokeMemory  = "out-of-memory" // a process was killed
	BrokeRuns    = "no-run-counts"
	BrokeErrors  = "more-errors" // than the baseline
	BrokeLoad    = "load-not-served"
	BrokeNothing = "nothing-finished"
	BrokeBound   = "bound" // not certain to hold
	BrokeWorse   = "worse" // than the setting to beat, in a metric that must not be
)

// Risk is a metric in which a winner may be worse, up to the bad end of its interval.
type Risk struct {
	Judged     int        `json:"judged"` // index into judged
	Comparison Comparison `json:"comparison"`
}

// StallTest compares the measured stalls with the stall law.
type StallTest struct {
	Settings int     `json:"settings"`             // number with a median to compare
	Free     int     `json:"unthrottled_settings"` // quota is enough for all threads
	Off      float64 `json:"worst_ratio"`          // median over law minus 1, of the setting furthest from 0
}

// Unshown is one thing that an experiment cannot show, with its figures. Figures that a
// code does not use are absent.
type Unshown struct {
	Code      string    `json:"code"`
	CPUs      int       `json:"cpus,omitempty"` // of the machine
	Quotas    []float64 `json:"quotas_cores,omitempty"`
	Stalls    []StallOf `json:"stalls,omitempty"`
	Cells     []int     `json:"cells,omitempty"`
	Used      float64   `json:"used_cores,omitempty"`
	Could     float64   `json:"usable_cores,omitempty"`
	Others    float64   `json:"other_cores,omitempty"`
	Generator float64   `json:"generator_cores,omitempty"`
	Rates     []float64 `json:"rates_rps,omitempty"`
	Least     int       `json:"least_requests,omitempty"` // per run
	Window    int       `json:"window_seconds,omitempty"` // window that has that number
	Runs      int       `json:"runs,omitempty"`
	Of        int       `json:"of_runs,omitempty"`
	Why       string    `json:"why,omitempty"`  // most frequent reason
	Late      bool      `json:"late,omitempty"` // the reason is a load generator without real-time priority
}

// StallOf is the stall that the law predicts for a number of threads.
type StallOf struct {
	Threads int     `json:"threads"`
	Seconds float64 `json:"seconds"`
}

// Values of Unshown.Code.
const (
	UnshownRuns      = "uncounted-runs"   // Runs of Of did not count
	UnshownStalls    = "many-threads"     // more threads than CPUs: Stalls are the law's, at Quotas[0]
	UnshownThrottle  = "cannot-throttle"  // Quotas are not below the machine's CPUs
	UnshownGenerator = "shared-generator" // with Quotas the load generator has no CPU of its own
	UnshownOmission  = "closed-loop"      // users who wait see few stalls
	UnshownTails     = "no-tails"         // tail latency was not measured
	UnshownHeadroom  = "saturation"       // a share of capacity was saturation: Cells[0] used Used
	UnshownCapacity  = "unsaturated"      // a saturating load did not saturate: Used of Could
	UnshownQueue     = "growing-queue"    // Cells could not serve Rates[0]
	UnshownP99       = "few-requests"     // at Rates, fewer than Least a run
)
