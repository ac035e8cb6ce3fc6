// SPDX-License-Identifier: Apache-2.0

package finding

import "github.com/snug-go/snug/cmd/snug/internal/figure"

// Size is the container that a program needs, by what was seen of it or by experiment.
type Size struct {
	Head
	Target      string       `json:"target"`
	Go          *string      `json:"go_version"`
	Seconds     float64      `json:"seconds"`            // of the watch
	Collections int          `json:"collections"`        // that ended meanwhile
	Memory      SizeValue    `json:"memory_limit_bytes"` // also the request: a heap fills what it may
	GOMEMLIMIT  SizeValue    `json:"gomemlimit_bytes"`
	CPURequest  SizeValue    `json:"cpu_request_cores"`
	CPULimit    SizeValue    `json:"cpu_limit_cores"`
	GOMAXPROCS  SizeValue    `json:"gomaxprocs"`
	ByGo        bool         `json:"gomaxprocs_by_go"` // in this CPU limit Go chooses it by itself
	Seen        SizeSeen     `json:"seen"`
	Watched     *SizeWatched `json:"watched"` // null = by an earlier version
	// of the way from the live heap to the heap goal, allocated between collections: 0.7 to 1 is usual
	Model  figure.Of[float64] `json:"model_ratio"`
	Price  SizePrice          `json:"price"`
	Curve  []SizePoint        `json:"curve"`  // rising memory limits around the answer; empty = unknown
	Unseen []Why              `json:"unseen"` // what the watch could not show
	// Search is how the answer was found by experiment; absent = it follows from what was seen. With it, seen, model and
	// curve are of a watch in the roomiest container.
	Search  *SizeSearch `json:"search,omitempty"`
	Unknown []Gap       `json:"unknown"`
	Next    string      `json:"next"`
}

// SizeValue is a decided value.
type SizeValue struct {
	Value *float64 `json:"value"` // null = unknown, or to be left alone
	Least *float64 `json:"least"` // what was seen fits in no less; null = unknown, or it does not apply
	Most  *float64 `json:"most"`  // more would not be used; the same
	Why   Why      `json:"why"`
}

// SizeSeen is what the answer is made from.
type SizeSeen struct {
	Live      figure.Of[float64] `json:"live_heap_bytes"`      // mean of what collections found in use
	LiveMost  figure.Of[float64] `json:"live_heap_most_bytes"` // largest
	Growth    figure.Of[float64] `json:"live_growth_bytes"`    // by which it grew steadily in the watch
	Allocated figure.Of[float64] `json:"allocated_bytes"`      // a second
	GCCores   figure.Of[float64] `json:"gc_cores"`             // CPU of collections, marking by idle Ps included
	Goal      figure.Of[float64] `json:"heap_goal_bytes"`      // mean; none without GOGC and GOMEMLIMIT
	Over      figure.Of[float64] `json:"heap_over_goal_ratio"` // largest heap over its goal
	Rest      figure.Of[float64] `json:"go_rest_bytes"`        // held by Go beside objects, as stacks: least
	Other     figure.Of[float64] `json:"other_most_bytes"`     // not Go's, resident pages of its code with it: most
	// that cannot be reclaimed, and resident pages of its code: most
	Used figure.Of[float64] `json:"used_most_bytes"`
	// that were resident before the watch, beyond what was in it: most
	Earlier figure.Of[float64] `json:"used_earlier_bytes"`
	CPUMean figure.Of[float64] `json:"used_cores"`      // mean
	CPUHigh figure.Of[float64] `json:"used_high_cores"` // 95th percentile of windows of a second
	// 99th percentile of windows of 100 ms, the period of quotas
	CPUMost   figure.Of[float64] `json:"used_most_cores"`
	Waited    figure.Of[float64] `json:"waited_cores"`       // threads that were ready to run and waited for a CPU: mean
	Throttled figure.Of[float64] `json:"throttled_ratio"`    // share of the periods
	Quota     figure.Of[float64] `json:"quota_cores"`        // as it is
	Limit     figure.Of[int64]   `json:"memory_limit_bytes"` // as it is
	Procs     figure.Of[int]     `json:"gomaxprocs"`         // as it is
	MemLimit  figure.Of[int64]   `json:"gomemlimit_bytes"`   // as it is
	GOGC      figure.Of[int]     `json:"gogc_percent"`       // as it is; -1 = off
}

// SizeWatched is the rest of what the answer is made from.
type SizeWatched struct {
	Age   float64 `json:"age_seconds"`     // of the process when the watch began; 0 = unknown
	Mates int     `json:"other_processes"` // in its cgroup
	CPUs  int     `json:"cpus"`            // that it may run on; 0 = unknown
	Minor int     `json:"go_minor"`        // 26 for Go 1.26; 0 = unknown
	Aware bool    `json:"follows_quota"`   // Go follows the CPU quota by itself
}

// SizePrice is what a core and a GiB cost for the same time.
type SizePrice struct {
	Core float64 `json:"core"`
	GiB  float64 `json:"gib"`
	From string  `json:"from"`
}

// SizePoint is a memory limit, and what the model expects of it.
type SizePoint struct {
	Memory     float64  `json:"memory_limit_bytes"`
	GOMEMLIMIT *float64 `json:"gomemlimit_bytes"` // null = to be left alone
	Goal       float64  `json:"heap_goal_bytes"`
	Cycles     float64  `json:"collections_per_second"`
	GCCores    float64  `json:"gc_cores"`
	Price      float64  `json:"price"` // of this memory and of the CPU of collections
	Chosen     bool     `json:"chosen"`
	Cheapest   bool     `json:"cheapest"`
	Below      bool     `json:"below_used"` // less than what was used, garbage included
}

// SizeSearch is how a container was found by experiment.
type SizeSearch struct {
	Setup Setup `json:"setup"`
	// that every run must keep, such as p99<50ms; "" = only no OOM kill, and all requests answered
	Bound  string      `json:"bound"`
	Metric string      `json:"metric"`      // that is bounded; "" = none
	Rate   *float64    `json:"offered_rps"` // null = as the load command likes
	Shown  bool        `json:"shown"`       // the answer kept the bound in all of its fresh runs
	Tried  []SizeTrial `json:"tried"`       // in the order in which they were first tried; the first is the roomiest
	// cheaper containers of the grid of which no run says that they break the bound
	Untried int  `json:"untried"`
	Answer  *int `json:"answer"` // place in tried; null = there is none
	// place in tried of the dearest of the grid that costs less, and broke the bound or was not tried because a larger
	// one did; null = there is none
	Cheaper *int `json:"next_cheaper"`
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
	Kept int `json:"kept"` // runs that kept the bound
	Of   int `json:"of"`
	// exact interval (Clopper and Pearson) of the probability that a run keeps it; its confidence is half as far from
	// 1 for each answer that fresh runs had refuted
	Ratio Interval `json:"ratio_interval"`
}
