// SPDX-License-Identifier: Apache-2.0

package finding

import "github.com/snug-go/snug/cmd/snug/internal/figure"

// Size is the container that a running program needs, by what was seen of it.
type Size struct {
	Head
	Target      string             `json:"target"`
	Go          *string            `json:"go_version"`
	Seconds     float64            `json:"seconds"`     // of the watch
	Collections int                `json:"collections"` // that ended meanwhile
	Memory      SizeBytes          `json:"memory_limit"`
	GOMEMLIMIT  SizeBytes          `json:"gomemlimit"`
	CPURequest  SizeCores          `json:"cpu_request"`
	CPULimit    SizeCores          `json:"cpu_limit"`
	GOMAXPROCS  SizeCount          `json:"gomaxprocs"`
	Seen        SizeSeen           `json:"seen"`
	Model       figure.Of[float64] `json:"model_ratio"` // of the way from the live heap to the heap goal, allocated between collections: 0.7 to 1 is usual
	Price       SizePrice          `json:"price"`
	Curve       []SizePoint        `json:"curve"`  // rising memory limits around the answer; empty = unknown
	Unseen      []string           `json:"unseen"` // what the watch could not show, one sentence each
	Unknown     []Gap              `json:"unknown"`
	Next        string             `json:"next"`
}

// SizeBytes is a decided amount of memory.
type SizeBytes struct {
	Value *int64 `json:"value_bytes"` // null = unknown, or to be left alone
	Why   string `json:"why"`
}

// SizeCores is a decided amount of CPU.
type SizeCores struct {
	Value *float64 `json:"value_cores"` // null = unknown
	Why   string   `json:"why"`
}

// SizeCount is a decided number of Ps.
type SizeCount struct {
	Value *int64 `json:"value"` // null = unknown, or to be left alone
	Why   string `json:"why"`
}

// SizeSeen is what the answer is made from.
type SizeSeen struct {
	Live      figure.Of[float64] `json:"live_heap_bytes"`       // mean of what collections found in use
	LiveMost  figure.Of[float64] `json:"live_heap_most_bytes"`  // largest
	Allocated figure.Of[float64] `json:"allocated_bytes"`       // a second
	GCCores   figure.Of[float64] `json:"gc_cores"`              // CPU of collections, marking by idle Ps included
	Rest      figure.Of[float64] `json:"go_rest_bytes"`         // held by Go beside objects: least
	Other     figure.Of[float64] `json:"other_most_bytes"`      // not Go's: most
	Used      figure.Of[float64] `json:"used_most_bytes"`       // that cannot be reclaimed: most
	CPUMean   figure.Of[float64] `json:"used_cores"`            // mean
	CPUHigh   figure.Of[float64] `json:"used_high_cores"`       // 95th percentile of windows of a second
	CPUMost   figure.Of[float64] `json:"used_most_cores"`       // 99th percentile of windows of 100 ms
	Throttled figure.Of[float64] `json:"throttled_ratio"`       // share of the periods
	Limit     figure.Of[int64]   `json:"memory_limit_bytes"`    // as it is
	Quota     figure.Of[float64] `json:"quota_cores"`           // as it is
	Procs     figure.Of[int]     `json:"gomaxprocs"`            // as it is
	MemLimit  figure.Of[int64]   `json:"gomemlimit_bytes"`      // as it is
	GOGC      figure.Of[int]     `json:"gogc_percent,omitzero"` // -1 = off
}

// SizePrice is what a core and a GiB cost for the same time.
type SizePrice struct {
	Core float64 `json:"core"`
	GiB  float64 `json:"gib"`
	From string  `json:"from"`
}

// SizePoint is a memory limit, and what the model expects of it.
type SizePoint struct {
	Memory     int64    `json:"memory_limit_bytes"`
	GOMEMLIMIT *int64   `json:"gomemlimit_bytes"` // null = to be left alone
	Goal       int64    `json:"heap_goal_bytes"`
	Cycles     *float64 `json:"collections_per_second"` // null = without end: nothing is left to allocate
	GCCores    *float64 `json:"gc_cores"`
	Price      *float64 `json:"price"` // of this memory and of the CPU of collections
	Chosen     bool     `json:"chosen"`
	Cheapest   bool     `json:"cheapest"`
	Below      bool     `json:"below_used"` // less than what was used
}
