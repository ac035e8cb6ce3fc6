// SPDX-License-Identifier: Apache-2.0

package adapt

// Mode is what GOGC follows.
type Mode uint8

const (
	Keep     Mode = iota // nothing: GOGC stays as it is
	Headroom             // the live heap: a multiple of it while memory is idle
	Cost                 // a share of the CPU for collections
)

// GCPolicy is how GOGC follows what is measured. The zero policy leaves it.
type GCPolicy struct {
	Mode  Mode
	Times float64 // Headroom: extra heap as a multiple of the live heap, 4 to 8; 0 = 4
	Share float64 // Cost: of the process's CPU time, 0.01 to 0.5; 0 = 0.05
	Base  int64   // the GOGC that holds without snug, in percent; 0 = 100
}

// GCSample is what the GC law looks at.
type GCSample struct {
	At    float64 // when, in seconds
	Limit int64   // bytes of the memory limit; 0 = none or unknown
	Used  int64   // what the limited group is charged with and cannot be reclaimed; -1 = unknown
	Heap  Heap
	// CPU is the process's CPU time and the runtime's own classes so far.
	CPU CPU
}

// GCState is what the law remembers. The zero state begins.
type GCState struct{}

// GCDecision is what is to be done now.
type GCDecision struct {
	GOGC  int64   // percent, never below Base, never off; 0 = leave it alone
	Code  string  // why this number
	Share float64 // of the process's CPU time, what collections took lately; NaN = unknown
}

// StepGC is the GC law.
func StepGC(s GCState, x GCSample, p GCPolicy) (GCState, GCDecision) {
	return s, GCDecision{}
}
