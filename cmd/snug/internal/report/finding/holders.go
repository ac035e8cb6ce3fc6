// SPDX-License-Identifier: Apache-2.0

package finding

// Heap is a program's own memory profile, read from outside or from a file. All amounts are estimates from the
// allocations that the runtime has sampled.
type Heap struct {
	Head
	Target string `json:"target"`
	Source string `json:"source"` // where it was found
	// MemProfileRate: the mean number of bytes between two sampled allocations; 1 = all are sampled, 0 = unknown
	Rate int64 `json:"rate_bytes"`
	// SinceStart reports that no collection has completed yet, so that all allocations are shown
	// as live.
	SinceStart bool     `json:"since_start"`
	Live       int64    `json:"live_bytes"` // at the last completed collection
	Objects    int64    `json:"live_objects"`
	Samples    int64    `json:"samples"` // live objects that were sampled
	Stacks     int      `json:"stacks"`  // call stacks that hold live objects
	Top        []Holder `json:"holders"` // those that hold most, largest first
	Saved      *string  `json:"file"`    // where the profile was written; null = not written
	Page       *string  `json:"html_file"`
	Next       string   `json:"next"`
}

// Holder is a call stack that allocated live objects.
type Holder struct {
	Live      int64   `json:"live_bytes"`
	Ratio     float64 `json:"ratio"` // of all live bytes, 0 to 1
	Objects   int64   `json:"live_objects"`
	Samples   int64   `json:"samples"`         // the fewer, the more uncertain
	Allocated int64   `json:"allocated_bytes"` // since the start
	Stack     []Call  `json:"stack"`           // innermost first
}

// Call is a function on a stack.
type Call struct {
	Function string `json:"function"`
	File     string `json:"file"` // "" = unknown
	Line     int    `json:"line"` // 0 = unknown
}

// Goroutines are the goroutines of a program, read from outside one after the other, or from a file.
type Goroutines struct {
	Head
	Target  string `json:"target"`
	Source  string `json:"source"` // where the list was found
	Total   int    `json:"goroutines"`
	Runtime *int   `json:"runtime_goroutines"` // the runtime's own, not in goroutines; null = unknown
	Unread  int    `json:"unread"`             // changed with every read
	// not looked at, because they are too many; groups are those of the others
	Left   int              `json:"left"`
	States []GoroutineState `json:"states"` // most first; none = unknown
	Stacks int              `json:"groups_total"`
	Groups []GoroutineGroup `json:"groups"` // the largest, largest first
	Saved  *string          `json:"file"`   // where the profile was written; null = not written
	Page   *string          `json:"html_file"`
	Next   string           `json:"next"`
}

// GoroutineState counts goroutines by state.
type GoroutineState struct {
	State string `json:"state"` // the reason why they wait, or "running", "runnable", "syscall", "preempted"
	Count int    `json:"count"`
}

// GoroutineGroup is a number of goroutines in one state, with the same calls and creator.
type GoroutineGroup struct {
	Count   int      `json:"count"`
	State   string   `json:"state"`      // "" = unknown
	Stack   []Call   `json:"stack"`      // innermost first; empty for a running goroutine
	Cut     bool     `json:"cut"`        // outer calls are missing
	Start   string   `json:"start"`      // first function; "" = unknown
	Creator *Call    `json:"created_by"` // the go statement; null = none, or unknown
	IDs     []uint64 `json:"ids"`        // of the first few
}
