// SPDX-License-Identifier: Apache-2.0

package adapt

// Guard is what to do when live heap and memory limit meet.
type Guard uint8

const (
	// OOM keeps throughput: the collector may not take over, and a process that
	// really needs more than there is gets killed and starts anew.
	OOM Guard = iota
	// Thrash keeps the process alive as long as can be, however slow.
	Thrash
)

// MemoryPolicy is how GOMEMLIMIT follows what is measured. The zero policy is
// the default.
type MemoryPolicy struct {
	Guard   Guard
	Reserve float64 // share of the limit kept free for bursts of memory that is not Go's; 0 = 0.15
}

// MemorySample is what the memory law looks at.
type MemorySample struct {
	At    float64 // when, in seconds
	Limit int64   // above it the kernel kills or throttles; 0 = none or unknown
	Used  int64   // what the limited group is charged with and cannot be reclaimed; -1 = unknown
	Heap  Heap
	// GCShare is the share of the process's CPU time that collections took
	// lately, 0 to 1; NaN = unknown.
	GCShare float64
}

// MemoryState is what the law remembers. The zero state begins.
type MemoryState struct{}

// MemoryDecision is what is to be done now.
type MemoryDecision struct {
	Limit   int64   // GOMEMLIMIT; 0 = leave it alone
	Collect bool    // start a collection: Go holds more than the new limit and would give it back only after one
	Next    float64 // look again after so many seconds, 0.02 to 1
	Code    string  // why this number
	Guarded bool    // the guard holds GOMEMLIMIT above what is safe

	// What it was made from.
	NonGo   int64 // memory of the group that is not Go's; -1 = unknown
	Held    int64 // its peak, which decays
	Margin  int64 // kept free for what is between two looks
	Reserve int64 // kept free for bursts
}

// StepMemory is the memory law.
func StepMemory(s MemoryState, x MemorySample, p MemoryPolicy) (MemoryState, MemoryDecision) {
	return s, MemoryDecision{Next: 1, NonGo: -1}
}
