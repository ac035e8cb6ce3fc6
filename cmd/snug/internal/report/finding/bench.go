// SPDX-License-Identifier: Apache-2.0

package finding

import "time"

// Bench is an experiment: the same program under several settings, measured in
// real cgroups, with everything needed to check it again.
type Bench struct {
	Head
	Setup
	Cells       []Cell       `json:"cells"`
	Comparisons []Comparison `json:"comparisons"` // every cell but the baseline's, against the baseline
	Verdict     BenchVerdict `json:"verdict"`
	Unknown     []Gap        `json:"unknown"`
	Warnings    []Warning    `json:"warnings"`
	Next        string       `json:"next"`
}

// Setup is how an experiment was done.
type Setup struct {
	Version   string    `json:"version"` // of snug
	Started   time.Time `json:"started"`
	Seconds   float64   `json:"seconds"` // whole duration
	Command   []string  `json:"command"` // the program measured; empty for a built-in workload or a URL
	URL       string    `json:"url"`     // "" when there is none
	Seed      uint64    `json:"seed"`    // of order, arrivals and bootstrap
	Rounds    int       `json:"rounds"`  // planned
	WarmUp    float64   `json:"warmup_seconds"`
	Window    float64   `json:"window_seconds"`
	Complete  bool      `json:"complete"` // false: stopped early, what follows is what there is
	NoLimit   bool      `json:"no_limit"` // no quota was enforced: stamped on every rendering
	Repeated  int       `json:"repeated"` // runs that were invalid and done again
	Excluded  int       `json:"excluded"` // invalid runs that no repetition replaced
	Objective string    `json:"objective"`
	Metrics   []string  `json:"metrics,omitempty"` // of Reported, to be shown
	Machine   Machine   `json:"machine"`
	// Program is the SHA-256 of the program's file, in hex; "" when it was not read.
	Program string `json:"program_sha256"`
	// Resumed is how many runs were taken from a record, measured since Started.
	Resumed int      `json:"resumed_runs"`
	Request *Request `json:"request"` // null: nothing was asked
	// Probe is how long a built-in service's threads spun for the stall probe.
	Probe float64 `json:"probe_seconds"`
	// Capacities are what the default setting served in a saturating closed loop
	// before the experiment; loads such as 80% refer to them.
	Capacities []Capacity `json:"capacities"`
}

// Request is what a load generator asks, but for what may be secret.
type Request struct {
	Method      string   `json:"method"`
	Headers     []string `json:"header_names"`
	BodySHA256  string   `json:"body_sha256"` // "": no body
	Timeout     float64  `json:"timeout_seconds"`
	Connections int      `json:"connections"` // of a saturating closed loop
	RealTime    bool     `json:"real_time"`   // the load generator was to be SCHED_FIFO
}

// Capacity is what the default setting serves in one container.
type Capacity struct {
	Workload string  `json:"workload"`
	Quota    float64 `json:"quota_cores"`
	Memory   int64   `json:"memory_bytes"`
	RPS      float64 `json:"rps"`
}

// Machine is where an experiment ran.
type Machine struct {
	OS        string `json:"os"`
	Arch      string `json:"arch"`
	Kernel    string `json:"kernel"` // release, as uname -r
	CPUs      int    `json:"cpus"`   // that this process may use
	CPUModel  string `json:"cpu_model"`
	Memory    int64  `json:"memory_bytes"`
	Go        string `json:"go"`         // version that built the program measured; "" when not Go or not known
	CgroupWay string `json:"cgroup_way"` // see package cgrun; "container": snug's own; "none"
	Generator string `json:"generator"`  // scheduling policy of the load generator; "" when there was none
}

// Arm is one setting of everything that is varied. It is comparable: two runs
// with equal arms belong to one cell.
type Arm struct {
	Workload string  `json:"workload"`     // http, fib, pool/limiter, xml/single, ...; command or url
	Quota    float64 `json:"quota_cores"`  // 0: none
	Burst    int64   `json:"burst_micros"` // cpu.max.burst, cpu.cfs_burst_us; 0: none
	Memory   int64   `json:"memory_bytes"` // limit made; 0: none
	// Replicas is into how many containers quota and memory are divided, each
	// with a process of its own, the load spread over them; 0 is one.
	Replicas int `json:"replicas"`
	Knobs
	// Load is saturated, batch (one run of fixed work), self (the workload
	// drives itself), "50%" of capacity, "800/s", or "30 users".
	Load string `json:"load"`
}

// Knobs are the values of variables; the empty string leaves one unset.
type Knobs struct {
	GOMAXPROCS string `json:"gomaxprocs"` // "2"
	GOGC       string `json:"gogc"`       // "100", "off"
	GOMEMLIMIT string `json:"gomemlimit"` // "124MiB", as Go reads it
	Vars       Vars   `json:"env"`        // any others
}

// Cell is what was found for one arm: medians over its valid rounds. null is
// not measured.
type Cell struct {
	Arm
	Labels []string `json:"labels"` // default, snug, current, ...: what this arm stands for
	// Procs is the GOMAXPROCS that the program really had.
	Procs     *int     `json:"gomaxprocs_effective"`
	Limit     *int64   `json:"gomemlimit_bytes"` // GOMEMLIMIT in bytes; null when unset
	Offered   *float64 `json:"offered_rps"`      // open loop
	Rounds    []Run    `json:"rounds"`           // raw, invalid ones included
	RPS       *float64 `json:"rps"`              // operations per second
	Wall      *float64 `json:"wall_seconds"`     // of a batch
	P50       *float64 `json:"p50_seconds"`
	P95       *float64 `json:"p95_seconds"`
	P99       *float64 `json:"p99_seconds"`
	P999      *float64 `json:"p999_seconds"`       // of all rounds together, where 10 samples lie above it
	CPUPerOp  *float64 `json:"cpu_seconds_per_op"` // of the whole cgroup
	Throttled *float64 `json:"throttled_ratio"`    // throttled periods over periods
	GCPerSec  *float64 `json:"gc_per_second"`
	STWMax    *float64 `json:"stw_max_seconds"` // largest of all rounds
	STWTotal  *float64 `json:"stw_total_seconds"`
	PeakHeap  *int64   `json:"peak_heap_bytes"`
	Peak      *int64   `json:"memory_peak_bytes"`
	ErrorRate *float64 `json:"error_ratio"`
	OOMKills  *uint64  `json:"oom_kills"`
	// Killed is in how many rounds a process was killed for want of memory.
	Killed *Killed `json:"killed"`
	Stall  *Stall  `json:"stall"`
	// Reported are medians of what the program said of itself, see Run; their
	// intervals have the names "reported.NAME".
	Reported map[string]float64 `json:"reported,omitempty"`
	// Intervals are exact order-statistic intervals of the medians above, by
	// field name; one is absent where there are too few rounds for it.
	Intervals map[string]Interval `json:"intervals"`
	// Latency is the distribution of all valid rounds together.
	Latency *Histogram `json:"latency"`
}

// Killed counts the rounds of a cell that ended with a kill for want of memory, of
// those that count and of which it is known.
type Killed struct {
	Rounds int `json:"rounds"`
	Of     int `json:"of"`
	// Ratio is the exact interval (Clopper and Pearson) of the probability of it.
	Ratio Interval `json:"ratio_interval"`
}

// Interval is a confidence interval. Confidence is what it really has.
type Interval struct {
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Confidence float64 `json:"confidence"`
}

// Stall is how long the threads of a spinning program were held back at a time.
type Stall struct {
	Threads int      `json:"threads"` // spinning
	Quota   float64  `json:"quota_cores"`
	Period  float64  `json:"period_seconds"`
	Law     float64  `json:"law_seconds"`    // T(1-q/N), N = min(threads, CPUs); 0 when q >= N
	Median  *float64 `json:"median_seconds"` // of the worst gap of each period; null when there was none
	Max     *float64 `json:"max_seconds"`
	// Gaps of one thread in one run: start and length in seconds since the
	// probe began, to draw.
	Gaps [][2]float64 `json:"gaps"`
	// Span is how long that probe lasted, in seconds.
	Span float64 `json:"span_seconds"`
}

// Run is one fresh process in one fresh cgroup.
type Run struct {
	Arm     Arm       `json:"-"` // of the cell that holds it; a record writes it beside
	Round   int       `json:"round"`
	Order   int       `json:"order"` // position in the round
	Try     int       `json:"try"`   // 0, or which repetition this was
	Seed    uint64    `json:"seed"`  // of the arrivals: the same for all arms of a round
	Started time.Time `json:"started"`
	Invalid string    `json:"invalid"` // why the run does not count; "" for a valid one

	Window   float64    `json:"window_seconds"`
	Elapsed  float64    `json:"elapsed_seconds"` // over which counters ran: an open loop waits for its last answers; 0 in old records: Window
	Ops      int64      `json:"ops"`             // finished in the window
	Errors   int64      `json:"errors"`          // failed in the window
	Error    string     `json:"error"`           // the first failure, as text
	Offered  *float64   `json:"offered_rps"`
	RPS      *float64   `json:"rps"`
	Wall     *float64   `json:"wall_seconds"`
	P50      *float64   `json:"p50_seconds"`
	P95      *float64   `json:"p95_seconds"`
	P99      *float64   `json:"p99_seconds"`
	Max      *float64   `json:"max_seconds"`
	Latency  *Histogram `json:"latency"`
	CPU      *float64   `json:"cpu_seconds"` // of the cgroup in the window
	CPUPerOp *float64   `json:"cpu_seconds_per_op"`

	Periods          *uint64  `json:"periods"`
	ThrottledPeriods *uint64  `json:"throttled_periods"`
	ThrottledSeconds *float64 `json:"throttled_seconds"`  // summed over CPUs
	Bursts           *uint64  `json:"bursts"`             // periods that used saved quota
	Pressure         *float64 `json:"cpu_pressure_ratio"` // share of the window in which a task of the cgroup waited (PSI some)
	Peak             *int64   `json:"memory_peak_bytes"`
	OOMKills         *uint64  `json:"oom_kills"`
	MaxRSS           *int64   `json:"max_rss_bytes"`

	GCs      *uint64  `json:"gc_cycles"` // in the window
	STW      *float64 `json:"stw_total_seconds"`
	STWMax   *float64 `json:"stw_max_seconds"`
	GCCPU    *float64 `json:"gc_cpu_seconds"` // the runtime's estimate; counts throttled time as its own
	PeakHeap *int64   `json:"peak_heap_bytes"`
	Procs    *int     `json:"gomaxprocs_effective"`
	Stall    *Stall   `json:"stall"`

	Generator *Generator  `json:"generator"`
	Noise     Noise       `json:"noise"`
	Confined  Confinement `json:"confinement"`
	// Unfinished requests of a closed loop had no answer when the window ended.
	Unfinished int64 `json:"unfinished"`
	// Note is what a workload says a reader must know, Counts further numbers of
	// it by name.
	Note   string           `json:"note"`
	Counts map[string]int64 `json:"counts,omitempty"`
	// Exit is how the program ended: "" when snug ended it as planned.
	Exit string `json:"exit"`
	// Reported are the numbers of the last line of a batch's stdout that is a JSON
	// object.
	Reported map[string]float64 `json:"reported,omitempty"`
	// Stdout is the file that has all of a batch's stdout, where it was kept.
	Stdout string `json:"stdout,omitempty"`
}

// Generator is how the load generator did in one run.
type Generator struct {
	LatenessP99 *float64 `json:"lateness_p99_seconds"` // actual minus intended start; null in a closed loop
	LatenessMax *float64 `json:"lateness_max_seconds"`
	CPU         *float64 `json:"cpu_seconds"`
	Policy      string   `json:"policy"` // SCHED_OTHER, SCHED_FIFO
}

// Noise is what the rest of the machine did during a window.
type Noise struct {
	OtherCPUs *float64 `json:"other_cores"` // busy, outside of the cgroup and the generator
	Steal     *float64 `json:"steal_cores"`
	Pressure  *float64 `json:"cpu_pressure_ratio"` // of the machine
}

// Confinement is what the program proved from inside before it started.
type Confinement struct {
	Way          string `json:"way"`
	Group        string `json:"group"`
	QuotaMicros  int64  `json:"quota_micros"`
	PeriodMicros int64  `json:"period_micros"`
	BurstMicros  int64  `json:"burst_micros"`
	MemoryBytes  int64  `json:"memory_bytes"`
	Policy       string `json:"policy"`
}

// Histogram is a latency distribution: Counts[i] samples of at most Seconds[i]
// and more than Seconds[i-1]. Empty classes are left out. It is exact to three
// digits.
type Histogram struct {
	Seconds []float64 `json:"seconds"`
	Counts  []int64   `json:"counts"`
}

// Comparison is one arm beside the baseline: the ratio of paired rounds.
type Comparison struct {
	Cell     int      `json:"cell"`     // index into cells
	Baseline int      `json:"baseline"` // index into cells
	Metric   string   `json:"metric"`   // cpu_seconds_per_op, rps, p99_seconds, ...
	Pairs    int      `json:"pairs"`
	Ratio    float64  `json:"ratio"` // arm over baseline, Hodges-Lehmann; 1 = no difference
	Low      *float64 `json:"low"`   // null: too few pairs for an interval
	High     *float64 `json:"high"`
	P        float64  `json:"p"`      // Wilcoxon signed-rank, exact, two-sided
	Adjusted float64  `json:"p_holm"` // over the arms of one metric and one load
	Word     string   `json:"word"`   // better, worse, same, not shown
	NeedN    *int     `json:"need_n"` // rounds that would show a difference of the margin; null when the word is another, or with fewer than 6 pairs
	Margin   float64  `json:"margin_ratio"`
}

// The words of a comparison.
const (
	Better   = "better"
	Worse    = "worse"
	Same     = "same"
	NotShown = "not shown"
)

// Tune is a search for the best knobs.
type Tune struct {
	Head
	Setup
	Budget      float64      `json:"budget_seconds"`
	Constraints []string     `json:"constraints"` // as given
	Baseline    Cell         `json:"baseline"`
	Space       []Factor     `json:"space"`  // after pruning
	Pruned      []Pruned     `json:"pruned"` // what was left out, and why
	Stages      []Stage      `json:"stages"`
	Cells       []Cell       `json:"cells"` // everything measured, the confirmation's fresh data apart
	Effects     []Effect     `json:"effects"`
	Front       []int        `json:"front"`   // cells that no other beats in CPU, memory and, in an open loop, p99 at once
	Confirm     *Confirm     `json:"confirm"` // null: stopped before, or nothing to confirm
	Verdict     BenchVerdict `json:"verdict"`
	Environment *Environment `json:"environment"` // null: keep the default
	Unknown     []Gap        `json:"unknown"`
	Warnings    []Warning    `json:"warnings"`
	Next        string       `json:"next"`
}

// Factor is one knob and the values tried; "" is unset.
type Factor struct {
	Knob   string   `json:"knob"` // GOMAXPROCS, GOGC, GOMEMLIMIT, burst
	Values []string `json:"values"`
}

// Pruned is a setting that was not tried.
type Pruned struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Stage is one step of the search.
type Stage struct {
	Name    string  `json:"name"` // baseline, screen, halve 8, ..., confirm
	Runs    int     `json:"runs"`
	Seconds float64 `json:"seconds"`
	Kept    []int   `json:"kept"` // cells that go on, best first
}

// Effect is what a level of one factor does to the objective, averaged over the
// others, by the additive model: a ratio to the factor's mean.
type Effect struct {
	Knob  string  `json:"knob"`
	Value string  `json:"value"`
	Ratio float64 `json:"ratio"`
}

// Confirm is the winner against the default on fresh, paired data.
type Confirm struct {
	Winner      Cell         `json:"winner"`
	Default     Cell         `json:"default"`
	Comparisons []Comparison `json:"comparisons"` // cell 0 is the winner, 1 the default
}

// Environment is the winner, to paste.
type Environment struct {
	Shell      string `json:"shell"`
	Dockerfile string `json:"dockerfile"`
	Kubernetes string `json:"kubernetes"`
}
