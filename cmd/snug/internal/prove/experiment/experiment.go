// SPDX-License-Identifier: Apache-2.0

// Package experiment designs, schedules and judges experiments. It does not depend on
// cgroups, load or Go programs: a Runner does one run, and the rest can be tested without
// a machine.
package experiment

import (
	"context"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Runner does one run: a fresh process in a fresh cgroup.
//
// An error is final: the experiment cannot continue (no cgroup, the program cannot be
// started, the context ended); a search goes on after a [TargetFailure]. A run that does
// not count (late generator, noisy neighbour) has Invalid set, and is repeated.
type Runner interface {
	Run(ctx context.Context, t Trial) (finding.Run, error)
}

// TargetFailure is an error of a Runner about the program, not about the machine: under
// the setting of this run it did not listen, ended too early or answered no request.
type TargetFailure interface {
	error
	TargetFailed()
}

// Trial is one run to do.
type Trial struct {
	Arm   finding.Arm
	Round int
	Order int    // position in the round
	Try   int    // 0, or the number of the repetition
	Seed  uint64 // of arrivals: equal for all arms of a round, under any load
	// Rate is the offered load of an open loop in requests per second; 0 for other loads.
	Rate float64
}
