// SPDX-License-Identifier: Apache-2.0

package finding

// BenchVerdict is the answer of an experiment or a search: what was decided, as data, and the
// sentences that package content makes of it. A document of an older version has the sentences
// alone.
type BenchVerdict struct {
	// Keep: nothing measured is better than the baseline beyond noise.
	Keep bool `json:"keep"`
	// Best is the index of the best cell; null when Keep, or undecided.
	Best *int   `json:"best"`
	Text string `json:"text"` // one line
	// Limits of what this machine can show, one sentence each.
	Cannot []string `json:"cannot_show"`

	// Code is why nothing was judged; absent where something was.
	Code string `json:"code,omitempty"`
	// Metric is what was to get better, by its name in cells.
	Metric string   `json:"metric,omitempty"`
	Judged []Judged `json:"judged,omitempty"` // each container
	// Risks are what the winners could be worse in for all that was shown, the
	// largest first; FewRounds says that some metrics have no interval to tell
	// by, NoTails that latencies under an open loop were not measured.
	Risks     []Risk     `json:"risks,omitempty"`
	FewRounds bool       `json:"few_rounds,omitempty"`
	NoTails   bool       `json:"no_tails,omitempty"`
	Law       *StallTest `json:"stall_law,omitempty"` // of CodeLaw
	// Unshown are the limits as data.
	Unshown []Unshown `json:"unshown,omitempty"`
}

// Why nothing was judged.
const (
	CodeUncounted   = "uncounted"    // no run counted
	CodeNotCompared = "not-compared" // the metric was not measured in pairs
	CodeAlone       = "one-setting"  // there is nothing to compare with
	CodeLaw         = "stall-law"    // stalls were all that was measured
	CodeUnfinished  = "unfinished"   // a search was stopped
)

// Judged is what was decided of one container: a workload, a quota and a memory limit.
type Judged struct {
	Code     string `json:"code"`
	Baseline int    `json:"baseline"` // a cell of the setting that others were compared with
	Loads    int    `json:"loads"`    // under how many it was compared
	// Setting is a cell of the setting that wins, leads or is a trade; null where
	// there is none. Gain is what it is better in, Costs what it is worse in. In
	// the document of a search these are comparisons of the confirmation.
	Setting *int         `json:"setting"`
	Gain    *Comparison  `json:"gain"`
	Costs   []Comparison `json:"costs,omitempty"`
	// Fails is how the baseline fails; Failing how the setting does or, where the
	// baseline is kept, another one.
	Fails   *Failure `json:"baseline_fails,omitempty"`
	Failing *Failure `json:"setting_fails,omitempty"`
	// Rounds are the most that were compared, Least how many can show a difference
	// at all, Need how many would show one of the margin.
	Rounds int     `json:"rounds,omitempty"`
	Least  int     `json:"least_rounds,omitempty"`
	Need   int     `json:"need_rounds,omitempty"`
	Margin float64 `json:"margin_ratio,omitempty"`
	// Broken is what the setting of a search, or else its baseline, does not hold;
	// Bounds are all that it should.
	Broken *Broken  `json:"broken,omitempty"`
	Bounds []string `json:"bounds,omitempty"`
}

// What was decided of a container.
const (
	Won         = "win"            // Setting is better, and worse in nothing
	Spared      = "spared"         // the baseline fails and Setting does not
	Traded      = "trade"          // Setting is better, and worse in something: keep the baseline
	Kept        = "keep"           // nothing is better beyond noise
	NoneSpared  = "none-spared"    // the baseline fails, and so may all others: no verdict
	TooFew      = "too-few-rounds" // no difference could show: no verdict
	NothingElse = "nothing-else"   // a search had nothing to try
	NoneHolds   = "none-holds"     // a search found nothing within the bounds
	NoneBetter  = "none-better"    // a search found nothing that leads the baseline
	LeaderBroke = "leader-broke"   // Setting led a search, and broke a bound on fresh runs
	NoGain      = "no-gain"        // Setting led a search, and showed no gain on fresh runs
)

// Failure is how a cell fails.
type Failure struct {
	Cell   int     `json:"cell"`
	Code   string  `json:"code"`
	Rounds int     `json:"rounds"` // that failed
	Of     int     `json:"of"`     // those that count
	Ratio  float64 `json:"error_ratio"`
}

// How a cell fails.
const (
	FailsMemory     = "out-of-memory" // a process was killed
	FailsResult     = "no-result"
	FailsOperations = "failed-operations"
)

// Broken is what a setting of a search does not hold.
type Broken struct {
	Code  string `json:"code"`
	Bound string `json:"bound,omitempty"` // of BrokeBound
}

// What a setting of a search does not hold.
const (
	BrokeMemory  = "out-of-memory" // a process was killed
	BrokeRuns    = "no-run-counts"
	BrokeErrors  = "more-errors" // than the baseline
	BrokeLoad    = "load-not-served"
	BrokeNothing = "nothing-finished"
	BrokeBound   = "bound" // is not certain to hold
)

// Risk is a metric in which a winner could be worse, to the bad end of its interval.
type Risk struct {
	Judged     int        `json:"judged"` // index into judged
	Comparison Comparison `json:"comparison"`
}

// StallTest is how the stalls that were measured compare with the stall law.
type StallTest struct {
	Settings int     `json:"settings"`
	Free     int     `json:"unthrottled_settings"` // whose quota is enough for all threads
	Off      float64 `json:"worst_ratio"`          // by which the worst median differs from the law
}

// Unshown is one limit of what an experiment shows, with its figures; what a code has no
// use for is absent.
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
	Least     int       `json:"least_requests,omitempty"` // of a run
	Window    int       `json:"window_seconds,omitempty"` // that has them
	Runs      int       `json:"runs,omitempty"`
	Of        int       `json:"of_runs,omitempty"`
	Why       string    `json:"why,omitempty"`  // the most frequent reason of runs
	Late      bool      `json:"late,omitempty"` // it is a load generator's that had no real-time priority
}

// StallOf is what the stall law says of a number of threads.
type StallOf struct {
	Threads int     `json:"threads"`
	Seconds float64 `json:"seconds"`
}

// What an experiment does not show, and why.
const (
	UnshownRuns      = "uncounted-runs"   // Runs of Of did not count
	UnshownStalls    = "many-threads"     // more threads than CPUs: Stalls are the law's, at Quotas[0]
	UnshownThrottle  = "cannot-throttle"  // Quotas are not below the machine's CPUs
	UnshownGenerator = "shared-generator" // with Quotas the load generator has no CPU of its own
	UnshownOmission  = "closed-loop"      // users who wait meet few stalls
	UnshownTails     = "no-tails"         // tail latency was not measured
	UnshownHeadroom  = "saturation"       // a share of capacity was saturation: Cells[0] used Used
	UnshownCapacity  = "unsaturated"      // a saturating load did not saturate: Used of Could
	UnshownQueue     = "growing-queue"    // Cells could not serve Rates[0]
	UnshownP99       = "few-requests"     // at Rates, fewer than Least a run
)
