// SPDX-License-Identifier: Apache-2.0

package finding

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Ramp is a closed loop whose number of users changes evenly during the window.
type Ramp struct {
	From, To int           // users at the start and at the end, 1 or more
	Over     time.Duration // length of the window
}

// Bounds of a ramp.
const (
	MaxUsers  = 10_000
	ShortRamp = 10 * time.Second
	LongRamp  = time.Hour
)

// rampLoad is what the name of a ramp's load has between users and time.
const rampLoad = " users in "

// String returns the load of an Arm: "30..100 users in 2m".
func (r Ramp) String() string {
	over := r.Over.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(over, zero) {
			over = strings.TrimSuffix(over, zero[1:])
		}
	}
	return fmt.Sprintf("%d..%d%s%s", r.From, r.To, rampLoad, over)
}

// ParseRamp parses a load as String returns it; false for any other load.
func ParseRamp(load string) (Ramp, bool) {
	users, over, ok := strings.Cut(load, rampLoad)
	from, to, ok2 := strings.Cut(users, "..")
	if !ok || !ok2 {
		return Ramp{}, false
	}
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	length, err3 := time.ParseDuration(over)
	if err := cmp.Or(err1, err2, err3); err != nil {
		return Ramp{}, false
	}
	fits := min(first, last) >= 1 && max(first, last) <= MaxUsers
	return Ramp{first, last, length}, fits && length >= ShortRamp && length <= LongRamp
}

// Users returns the number of users at a share of the window, 0 to 1, between whole numbers.
func (r Ramp) Users(share float64) float64 {
	return float64(r.From) + share*float64(r.To-r.From)
}

// maxSlices is the maximum number of slices of a ramp.
const maxSlices = 120

// Slices returns in how many slices of equal length a ramp is measured: one a second, 120 at most.
func (r Ramp) Slices() int { return min(int(r.Over/time.Second), maxSlices) }

// Timeline has the course of a ramp, in slices of equal length; all lists have one figure for each, in
// order. null is not measured.
type Timeline struct {
	Step  float64   `json:"step_seconds"` // length of a slice
	Users []float64 `json:"users"`        // mean number
	// Operations that ended in the slice, per second, and the percentiles of their latency.
	RPS    []float64  `json:"rps"`
	P50    []*float64 `json:"p50_seconds"`
	P95    []*float64 `json:"p95_seconds"`
	Errors []int64    `json:"errors"` // failed operations that ended in the slice
	// Figures of the kernel and the GC trace.
	Throttled []*float64 `json:"throttled_ratio"` // throttled periods over periods, 0 to 1
	CPU       []*float64 `json:"cpu_cores"`       // of the cgroup, CPU seconds per second
	GCs       []*uint64  `json:"gc_cycles"`
	GCCPU     []*float64 `json:"gc_cpu_seconds"`     // by the GC trace, including time in which a thread was throttled
	Resident  []*int64   `json:"resident_set_bytes"` // of the program, at the end of the slice
}
