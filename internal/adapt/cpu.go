// SPDX-License-Identifier: Apache-2.0

package adapt

// Verdict says what the waiting of a process is due to.
type Verdict uint8

const (
	Unclear    Verdict = iota // nothing certain can be said
	Fine                      // little waits, and the quota suffices
	TooFewPs                  // Ps are held in system calls while the quota is unused
	QuotaSpent                // the quota is used up: no GOMAXPROCS helps
)

// String is the verdict's word: "unknown", "fine", "too-few-procs", "quota-spent".
func (v Verdict) String() string {
	return [...]string{"unknown", "fine", "too-few-procs", "quota-spent"}[v]
}

// Waiting is what was measured between two samples.
type Waiting struct {
	Seconds    float64 // between the samples; 0 = nothing was measured yet
	GoWait     float64 // goroutines that waited for a P, on average
	KernelWait float64 // threads that waited for a CPU, on average; NaN = unknown
	PerWakeup  float64 // seconds waited for each wake-up of a goroutine, both kinds; NaN = unknown
	Used       float64 // cores
	Throttled  float64 // share of periods, 0 to 1; NaN = unknown
	Verdict    Verdict
}

// StarvationPolicy is how the starvation escape acts.
type StarvationPolicy struct {
	Base     int     // GOMAXPROCS without the escape
	Ceiling  int     // at most; 0 = the larger of 8 and 4 times the cores
	Stay     float64 // seconds before it returns to Base; 0 = 600. Doubled at each relapse
	Relapses int     // gives up after so many; 0 = 4
}

// StarvationState is what the law remembers. The zero state begins.
type StarvationState struct{}

// StarvationDecision is what is to be done now.
type StarvationDecision struct {
	Procs      int    // GOMAXPROCS; 0 = leave it alone
	Code       string // why this number
	WantKernel bool   // the next sample should have KernelWait
	GaveUp     bool
	Next       float64 // look again after so many seconds
}

// Measure is what happened between two samples, and the verdict on it.
func Measure(from, to *CPU) Waiting { return Waiting{} }

// StepStarvation is the law of the one automatic action on Ps.
func StepStarvation(s StarvationState, x CPU, p StarvationPolicy) (StarvationState, StarvationDecision) {
	return s, StarvationDecision{Next: 1}
}
