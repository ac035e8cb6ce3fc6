// SPDX-License-Identifier: Apache-2.0

package finding

import (
	"slices"
	"strings"
	"time"
)

// Bench is an experiment: the same program under several settings, measured in
// real cgroups, with everything needed to check it again.
type Bench struct {
	Head
	Setup
	Cells       []Cell       `json:"cells"`
	Comparisons []Comparison `json:"comparisons"` // every cell except the baselines, against its baseline
	Verdict     BenchVerdict `json:"verdict"`
	// Environment is the better setting that --check found; absent = none, or a different one in
	// each container.
	Environment *Environment `json:"environment,omitempty"`
	Unknown     []Gap        `json:"unknown"`
	Warnings    []Warning    `json:"warnings"`
	Next        string       `json:"next"`
}

// Setup describes how an experiment was run.
type Setup struct {
	Version string    `json:"version"` // of snug
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"` // total duration
	Command []string  `json:"command"` // the program measured; empty for a built-in workload or a URL
	// LoadCommand loaded the service instead of snug's load generator, and Prepare filled it
	// before each run; both for sh -c.
	LoadCommand string `json:"load_command,omitempty"`
	Prepare     string `json:"prepare_command,omitempty"`

	URL       string   `json:"url"`               // "" = none
	Seed      uint64   `json:"seed"`              // for order, arrivals and bootstrap
	Rounds    int      `json:"rounds"`            // planned
	WarmUp    float64  `json:"warmup_seconds"`    // per run, before the window
	Window    float64  `json:"window_seconds"`    // measured time per run
	Complete  bool     `json:"complete"`          // false: stopped early, results are partial
	NoLimit   bool     `json:"no_limit"`          // no quota was enforced; every rendering says so
	Repeated  int      `json:"repeated"`          // invalid runs that were repeated
	Excluded  int      `json:"excluded"`          // invalid runs without a valid repetition
	Objective string   `json:"objective"`         // cpu, rps, p99, wall or, of Go benchmarks, ns/op
	Metrics   []string `json:"metrics,omitempty"` // names in reported to show
	Machine   Machine  `json:"machine"`
	// Program is the SHA-256 of the program's file, in hex; "" = not read.
	Program string   `json:"program_sha256"`
	Resumed int      `json:"resumed_runs"` // runs that were taken from a record
	Request *Request `json:"request"`      // null = no requests were sent
	// Capacities are measured with the default setting in a saturating closed loop
	// before the experiment; loads such as "80%" refer to them.
	Capacities []Capacity `json:"capacities"`
}

// Request describes the requests of the load generator, without what may be secret.
type Request struct {
	Method      string   `json:"method"`
	HTTP2       bool     `json:"http2,omitempty"`       // else HTTP/1.1
	GRPC        string   `json:"grpc_method,omitempty"` // of unary calls; absent = no gRPC
	Headers     []string `json:"header_names"`
	BodySHA256  string   `json:"body_sha256"`     // "" = no body
	Timeout     float64  `json:"timeout_seconds"` // per request
	Connections int      `json:"connections"`     // of a saturating closed loop
	RealTime    bool     `json:"real_time"`       // a real-time policy was requested for the load generator
}

// Capacity is the throughput of the default setting in one container.
type Capacity struct {
	Workload string  `json:"workload"`
	Quota    float64 `json:"quota_cores"`
	Memory   int64   `json:"memory_bytes"`
	RPS      float64 `json:"rps"` // operations per second
}

// Machine is where an experiment ran.
type Machine struct {
	OS        string `json:"os"`
	Arch      string `json:"arch"`
	Kernel    string `json:"kernel"` // release, as uname -r
	CPUs      int    `json:"cpus"`   // in the affinity mask of snug
	CPUModel  string `json:"cpu_model"`
	Memory    int64  `json:"memory_bytes"`
	Go        string `json:"go"`         // version that built the measured program; "" = not Go, or unknown
	CgroupWay string `json:"cgroup_way"` // see package cgrun; "container" = snug's own; "none"
	Generator string `json:"generator"`  // scheduling policy of the load generator; "" = there was none
}

// Arm is one setting of everything that varies. It is comparable: runs with equal
// arms belong to one cell. In a Cell's JSON, null is none or unset.
type Arm struct {
	Workload string  `json:"workload"`     // http, fib, pool/limiter, xml/single, ...; command or url
	Quota    float64 `json:"quota_cores"`  // 0: none
	Burst    int64   `json:"burst_micros"` // cpu.max.burst, cpu.cfs_burst_us; 0: none
	Memory   int64   `json:"memory_bytes"` // limit; 0: none
	// Replicas is the number of containers that share quota, memory and load equally,
	// with one process each; 0 means 1.
	Replicas int `json:"replicas"`
	Knobs
	// Load is saturated, batch (one run of fixed work), benchmark (Go benchmarks), self (the
	// workload drives itself), command (as much as the load command sends), "50%" of
	// capacity, "800/s", "30 users", or "30..100 users in 2m".
	Load string `json:"load"`
}

// Knobs are the values of environment variables; "" leaves one unset.
type Knobs struct {
	GOMAXPROCS string `json:"gomaxprocs"` // "2"
	GOGC       string `json:"gogc"`       // "100", "off"
	GOMEMLIMIT string `json:"gomemlimit"` // "124MiB", in Go's syntax
	Vars       Vars   `json:"env"`        // all others
}

// Set returns the variables that are set, as name and value, Go's first.
func (k Knobs) Set() [][2]string {
	all := [][2]string{{"GOMAXPROCS", k.GOMAXPROCS}, {"GOGC", k.GOGC}, {"GOMEMLIMIT", k.GOMEMLIMIT}}
	all = slices.DeleteFunc(all, func(v [2]string) bool { return v[1] == "" })
	for _, v := range k.Vars.List() {
		name, value, _ := strings.Cut(v, "=")
		all = append(all, [2]string{name, value})
	}
	return all
}

// Cell holds the results of one setting: medians over its valid rounds. null is not measured.
type Cell struct {
	Arm
	Labels []string `json:"labels"` // names of this arm: default, snug, current, ...
	// Procs is the GOMAXPROCS that the program ran with.
	Procs     *int     `json:"gomaxprocs_effective"`
	Limit     *int64   `json:"gomemlimit_bytes"` // GOMEMLIMIT; null = unset
	Offered   *float64 `json:"offered_rps"`      // open loop; null = closed
	Rounds    []Run    `json:"rounds"`           // raw, including invalid ones
	RPS       *float64 `json:"rps"`              // operations per second
	Wall      *float64 `json:"wall_seconds"`     // of a batch
	P50       *float64 `json:"p50_seconds"`
	P95       *float64 `json:"p95_seconds"`
	P99       *float64 `json:"p99_seconds"`
	P999      *float64 `json:"p999_seconds"`       // over all rounds together; null = fewer than 10 samples above it
	CPUPerOp  *float64 `json:"cpu_seconds_per_op"` // of the whole cgroup
	Throttled *float64 `json:"throttled_ratio"`    // throttled periods over periods, 0 to 1
	GCPerSec  *float64 `json:"gc_per_second"`      // collections
	STWMax    *float64 `json:"stw_max_seconds"`    // maximum over all rounds
	STWTotal  *float64 `json:"stw_total_seconds"`  // wall time that the world was stopped, in the window
	PeakHeap  *int64   `json:"peak_heap_bytes"`
	Peak      *int64   `json:"memory_peak_bytes"` // of the cgroup, including page cache
	ErrorRate *float64 `json:"error_ratio"`       // failed operations over all, 0 to 1
	OOMKills  *uint64  `json:"oom_kills"`         // sum over all valid rounds
	// Killed counts the rounds with an OOM kill.
	Killed *Killed `json:"killed"`
	Stall  *Stall  `json:"stall"`
	// Reported are medians of the figures that the program printed, as in runs. Their
	// intervals are named "reported.NAME".
	Reported map[string]float64 `json:"reported,omitempty"`
	// Benchmarks are medians of the figures of Go benchmarks. Their intervals are named
	// "benchmark.UNIT NAME".
	Benchmarks []BenchFigure `json:"benchmarks,omitempty"`
	// Intervals are exact order-statistic intervals of the medians above, by field
	// name; one is absent if there are too few rounds.
	Intervals map[string]Interval `json:"intervals"`
	// Latency is the distribution of all valid rounds together.
	Latency *Histogram `json:"latency"`
}

// Killed counts the rounds of a cell that ended with an OOM kill, out of the valid rounds
// for which this is known.
type Killed struct {
	Rounds int `json:"rounds"` // with an OOM kill
	Of     int `json:"of"`     // valid rounds with a known count
	// Ratio is the exact interval (Clopper and Pearson) of the probability of a kill.
	Ratio Interval `json:"ratio_interval"`
}

// Interval is a confidence interval; confidence is its actual level, 0 to 1.
type Interval struct {
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Confidence float64 `json:"confidence"`
}

// Stall describes how long the threads of a spinning program were off CPU at a time.
type Stall struct {
	Threads int      `json:"threads"`        // spinning
	Quota   float64  `json:"quota_cores"`    // q of the law
	Period  float64  `json:"period_seconds"` // T of the law
	Law     float64  `json:"law_seconds"`    // T(1-q/N), N = min(threads, CPUs); 0 if q >= N
	Median  *float64 `json:"median_seconds"` // of the longest gap of each period; null = no gaps
	Max     *float64 `json:"max_seconds"`    // longest gap of all
	// Gaps of one thread in one run, for the chart: start since the probe began and
	// length, in seconds.
	Gaps [][2]float64 `json:"gaps"`
	// Span is the duration of that probe.
	Span float64 `json:"span_seconds"`
}

// Run is one fresh process in one fresh cgroup. null is not measured.
type Run struct {
	Arm     Arm       `json:"-"`     // the cell's; a record writes it separately
	Round   int       `json:"round"` // from 0
	Order   int       `json:"order"` // position in the round, from 0
	Try     int       `json:"try"`   // 0, or the number of the repetition
	Seed    uint64    `json:"seed"`  // for the arrivals: the same for all arms of a round
	Started time.Time `json:"started"`
	Invalid string    `json:"invalid"`                // why the run does not count; "" = valid
	Took    float64   `json:"took_seconds,omitempty"` // from start to clean-up; absent in old documents

	Window float64 `json:"window_seconds"`
	// span of the counters: an open loop waits for its last answers; 0 in old records = window_seconds
	Elapsed  float64    `json:"elapsed_seconds"`
	Ops      int64      `json:"ops"`         // finished in the window
	Errors   int64      `json:"errors"`      // failed in the window
	Error    string     `json:"error"`       // the first failure, as text
	Offered  *float64   `json:"offered_rps"` // open loop; null = closed
	RPS      *float64   `json:"rps"`         // operations per second
	Wall     *float64   `json:"wall_seconds"`
	P50      *float64   `json:"p50_seconds"`
	P95      *float64   `json:"p95_seconds"`
	P99      *float64   `json:"p99_seconds"`
	Max      *float64   `json:"max_seconds"`
	Latency  *Histogram `json:"latency"`
	CPU      *float64   `json:"cpu_seconds"` // of the cgroup, in the window
	CPUPerOp *float64   `json:"cpu_seconds_per_op"`

	Periods          *uint64  `json:"periods"`           // of bandwidth control
	ThrottledPeriods *uint64  `json:"throttled_periods"` // of periods
	ThrottledSeconds *float64 `json:"throttled_seconds"` // summed over CPUs
	Bursts           *uint64  `json:"bursts"`            // periods that used saved quota
	// share of the window in which a task of the cgroup waited (PSI some), 0 to 1
	Pressure *float64 `json:"cpu_pressure_ratio"`
	Peak     *int64   `json:"memory_peak_bytes"` // of the cgroup, including page cache
	OOMKills *uint64  `json:"oom_kills"`         // in the cgroup
	MaxRSS   *int64   `json:"max_rss_bytes"`     // largest resident set of a process

	GCs      *uint64  `json:"gc_cycles"` // in the window
	STW      *float64 `json:"stw_total_seconds"`
	STWMax   *float64 `json:"stw_max_seconds"`
	GCCPU    *float64 `json:"gc_cpu_seconds"` // by the GC trace, including time in which a thread was throttled
	PeakHeap *int64   `json:"peak_heap_bytes"`
	Procs    *int     `json:"gomaxprocs_effective"`
	// Effective are the knobs that the runtime of the program had, read from its memory; absent = not read.
	Effective *Knobs `json:"knobs_effective,omitempty"`

	Stall *Stall `json:"stall"`

	Generator *Generator  `json:"generator"`
	Noise     Noise       `json:"noise"`
	Confined  Confinement `json:"confinement"`
	// Unfinished counts requests of a closed loop without an answer at the window's end.
	Unfinished int64            `json:"unfinished"`
	Note       string           `json:"note"`             // a remark of the workload that the reader must see
	Counts     map[string]int64 `json:"counts,omitempty"` // further figures of the workload, by name
	// Exit says how the program ended; "" = snug ended it as planned.
	Exit string `json:"exit"`
	// Loop is open or closed, as the load command says; absent = there was no load command.
	Loop string `json:"loop,omitempty"`
	// Reported are the numbers in the last line that is a JSON object: of a batch's stdout, or
	// the further numbers of a load command's.
	Reported map[string]float64 `json:"reported,omitempty"`
	// Benchmarks are the figures of Go benchmarks, in the order in which they ran; the
	// median if one ran several times.
	Benchmarks []BenchFigure `json:"benchmarks,omitempty"`
	// Timeline is the course of a load whose number of users changes; absent = it does not.
	Timeline *Timeline `json:"timeline,omitempty"`
}

// Values of Run.Loop.
const (
	LoopOpen   = "open"
	LoopClosed = "closed"
)

// Loop returns the loop of a cell's load command: closed unless all of its runs say open; ""
// if there was no load command.
func (c *Cell) Loop() string {
	loop := ""
	for i := range c.Rounds {
		switch c.Rounds[i].Loop {
		case LoopClosed:
			return LoopClosed
		case LoopOpen:
			loop = LoopOpen
		}
	}
	return loop
}

// BenchFigure is one figure of one Go benchmark.
type BenchFigure struct {
	Benchmark string  `json:"benchmark"` // without "Benchmark" and the GOMAXPROCS at its end
	Unit      string  `json:"unit"`      // as printed: ns/op, B/op, allocs/op, MB/s or its own
	Value     float64 `json:"value"`
}

// Generator describes the load generator in one run. null is not measured.
type Generator struct {
	LatenessP99 *float64 `json:"lateness_p99_seconds"` // actual minus intended start; null = closed loop
	LatenessMax *float64 `json:"lateness_max_seconds"`
	CPU         *float64 `json:"cpu_seconds"`
	Policy      string   `json:"policy"` // SCHED_OTHER, SCHED_RR; SCHED_FIFO in documents of old
}

// Noise describes the rest of the machine during a window. null is not measured.
type Noise struct {
	OtherCPUs *float64 `json:"other_cores"`        // busy outside the cgroup and the generator
	Steal     *float64 `json:"steal_cores"`        // taken by the hypervisor
	Pressure  *float64 `json:"cpu_pressure_ratio"` // of the machine, 0 to 1
}

// Confinement holds the limits read from inside the cgroup before the program started; 0 = none.
type Confinement struct {
	Way          string `json:"way"` // as cgroup_way of machine
	Group        string `json:"group"`
	QuotaMicros  int64  `json:"quota_micros"` // per period
	PeriodMicros int64  `json:"period_micros"`
	BurstMicros  int64  `json:"burst_micros"`
	MemoryBytes  int64  `json:"memory_bytes"`
	Policy       string `json:"policy"` // scheduling policy
}

// Histogram is a latency distribution: counts[i] samples are at most seconds[i] and more than
// seconds[i-1]. Empty classes are left out. Values are exact to three digits.
type Histogram struct {
	Seconds []float64 `json:"seconds"`
	Counts  []int64   `json:"counts"`
}

// Comparison compares a setting with the baseline by the ratio of paired rounds.
type Comparison struct {
	Cell     int    `json:"cell"`     // index into cells
	Baseline int    `json:"baseline"` // index into cells
	Metric   string `json:"metric"`   // cpu_seconds_per_op, rps, p99_seconds, benchmark.ns/op, ...
	// Benchmark is the Go benchmark of a benchmark metric; absent = the geometric mean of
	// all that both cells have.
	Benchmark string   `json:"benchmark,omitempty"`
	Pairs     int      `json:"pairs"` // paired rounds
	Ratio     float64  `json:"ratio"` // arm over baseline, Hodges-Lehmann; 1 = no difference
	Low       *float64 `json:"low"`   // interval of ratio; null = too few pairs
	High      *float64 `json:"high"`
	P         float64  `json:"p"`      // Wilcoxon signed-rank, exact, two-sided
	Adjusted  float64  `json:"p_holm"` // over the arms of one metric and one load
	Word      string   `json:"word"`   // better, worse, differs, same, not shown
	// rounds that would show a difference of margin_ratio; null unless word is "not shown", or with fewer than 6 pairs
	NeedN  *int    `json:"need_n"`
	Margin float64 `json:"margin_ratio"` // largest difference that does not count, 0.02 = 2%
}

// Values of Comparison.Word.
const (
	Better   = "better"
	Worse    = "worse"
	Differs  = "differs" // in a unit of which snug does not know whether more is better
	Same     = "same"
	NotShown = "not shown"
)

// Tune is a search for the best knobs.
type Tune struct {
	Head
	Setup
	Budget float64 `json:"budget_seconds"`
	// the least budget that confirms a setting; only with the verdict "budget"
	Needed      float64      `json:"needed_seconds,omitempty"`
	Constraints []string     `json:"constraints"` // as you wrote them
	Baseline    Cell         `json:"baseline"`
	Space       []Factor     `json:"space"`  // after pruning
	Pruned      []Pruned     `json:"pruned"` // settings left out, and why
	Stages      []Stage      `json:"stages"`
	Cells       []Cell       `json:"cells"`   // everything measured except the confirmation
	Front       []int        `json:"front"`   // cells that no other cell beats in CPU, memory and (open loop) p99 at once
	Confirm     *Confirm     `json:"confirm"` // null = stopped earlier, or nothing to confirm
	Verdict     BenchVerdict `json:"verdict"`
	Environment *Environment `json:"environment"` // null = keep the default
	Unknown     []Gap        `json:"unknown"`
	Warnings    []Warning    `json:"warnings"`
	Next        string       `json:"next"`
}

// Factor is one knob and the values to try; "" is unset.
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
	Name    string  `json:"name"` // pace, baseline, plan (snug's, where the default fails), screen, halve 8, ..., confirm
	Runs    int     `json:"runs"`
	Seconds float64 `json:"seconds"`
	Kept    []int   `json:"kept"`            // cells that go on, best first
	Short   bool    `json:"short,omitempty"` // the budget ended it early
}

// Confirm compares the setting that led a search with its baseline on fresh, paired data.
// Cell 0 is the leader, 1 the baseline, and the others are those of Without.
type Confirm struct {
	Winner Cell `json:"winner"` // the leader
	// Default is the baseline: the default, or snug's plan where the default fails.
	Default Cell `json:"default"`
	// Without holds the leader without one of its knobs each, in the same rounds.
	Without     []Cell       `json:"without,omitempty"`
	Comparisons []Comparison `json:"comparisons"`     // all with cell 1
	Knobs       []KnobTest   `json:"knobs,omitempty"` // one for each of Without
	Answer      int          `json:"answer"`          // the cell to set; 1 = the leader is not shown to be better
}

// KnobTest says whether the leader of a search needs one of its knobs.
type KnobTest struct {
	Knob   string `json:"knob"`
	Value  string `json:"value"`
	Cell   int    `json:"cell"`   // of the confirmation: the leader without it
	Needed bool   `json:"needed"` // without it the objective is worse beyond the margin, or a requirement is not met
	// Change is the objective without it over that with it; null = not compared.
	Change *Comparison `json:"change"`
	Broken *Broken     `json:"broken,omitempty"` // requirement that is not met without it
}

// Environment is the winner in forms to paste.
type Environment struct {
	Shell      string `json:"shell"`
	Dockerfile string `json:"dockerfile"`
	Kubernetes string `json:"kubernetes"`
	// Go is an import that sets snug's plan at start; absent = the winner is not that plan.
	Go string `json:"go,omitempty"`
}
