// SPDX-License-Identifier: Apache-2.0

package finding

// SizeSearch is how a container was found by experiment.
type SizeSearch struct {
	Setup   Setup       `json:"setup"`
	Bound   string      `json:"bound"`        // that every run must keep, such as p99<50ms; "" = only no OOM kill, and all requests answered
	Metric  string      `json:"metric"`       // that is bounded; "" = none
	Rate    *float64    `json:"offered_rps"`  // null = as the load command likes
	Shown   bool        `json:"shown"`        // the answer kept the bound in all of its fresh runs
	Tried   []SizeTrial `json:"tried"`        // in the order in which they were first tried; the first is the roomiest
	Untried int         `json:"untried"`      // cheaper containers of the grid of which no run says that they break the bound
	Answer  *int        `json:"answer"`       // place in tried; null = there is none
	Cheaper *int        `json:"next_cheaper"` // place in tried of the dearest of the grid that costs less, and broke the bound or was not tried because a larger one did; null = there is none
}

// SizeTrial is one container, and how often the bound was kept in it.
type SizeTrial struct {
	Memory     float64  `json:"memory_limit_bytes"`
	CPU        float64  `json:"cpu_limit_cores"`
	GOMEMLIMIT *float64 `json:"gomemlimit_bytes"` // null = left alone
	GOMAXPROCS *float64 `json:"gomaxprocs"`       // null = left alone
	Price      float64  `json:"price"`
	Predicted  bool     `json:"predicted"` // the cheapest by what was seen in the roomiest
	Kept       int      `json:"kept"`      // runs of the search that kept the bound
	Of         int      `json:"of"`        // runs of the search; 0 = a larger one broke the bound
	// Fresh are the runs of the confirmation; no choice depended on them. Null = it was not in one.
	Fresh  *SizeFresh `json:"fresh"`
	Broken *Broken    `json:"broken"` // what the first run that did not keep it broke; null = all kept it
	Worst  *float64   `json:"worst"`  // of the bounded metric in its unit; null = no bound, or not measured
	// Runs are all of them, the fresh ones with a round of 1 or more; without their distributions of latency.
	Runs []Run `json:"runs"`
}

// SizeFresh counts fresh runs.
type SizeFresh struct {
	Kept  int      `json:"kept"` // runs that kept the bound
	Of    int      `json:"of"`
	Ratio Interval `json:"ratio_interval"` // exact interval (Clopper and Pearson) of the probability that a run keeps it; its confidence is half as far from 1 for each answer that fresh runs had refuted
}
