// SPDX-License-Identifier: Apache-2.0

// Package experiment designs, schedules and judges experiments. It knows
// nothing of cgroups, load or Go programs: a Runner does one run, and
// everything else here can be tested without a machine.
package experiment

import (
	"context"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Runner does one run: a fresh process in a fresh cgroup.
//
// An error is final: the experiment cannot go on (no cgroup, the program
// cannot be started, the context ended). A run that merely does not count
// (late generator, noisy neighbour) comes back with Invalid set, and is
// repeated.
type Runner interface {
	Run(ctx context.Context, t Trial) (finding.Run, error)
}

// Trial is one run to be done.
type Trial struct {
	Arm   finding.Arm
	Round int
	Order int    // position in the round
	Try   int    // 0, or which repetition
	Seed  uint64 // arrivals: equal for all arms of a round, whatever their load
	// Rate is the offered load in requests per second, for an open loop; 0
	// where the arm's load is another.
	Rate float64
}
