// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/snug-go/snug/adapt"
	"github.com/snug-go/snug/limits"
)

// watcher is snug's; nil under other policies.
var watcher *adapt.Watcher

// govern applies POLICY, before any load. onPlan may be nil.
func govern(onPlan func(adapt.Plan)) (err error) {
	switch policy := os.Getenv("POLICY"); policy {
	case "", "plain":
	case "snug":
		watcher, err = adapt.Watch(context.Background(), adapt.Options{OnPlan: onPlan})
	case "automemlimit":
		_, err = memlimit.Set()
	default:
		err = fmt.Errorf("unknown policy, POLICY=%s", policy)
	}
	return err
}

// watched holds snug's own statistics, for samples and results.
type watched struct {
	Sets    int64   `json:"snug_sets"`
	Polls   int64   `json:"snug_polls"`
	Level   uint8   `json:"snug_level"` // of memory pressure
	NonGo   int64   `json:"snug_non_go_bytes"`
	Used    int64   `json:"snug_used_bytes"`
	Go      int64   `json:"snug_go_bytes"`
	Peak    int64   `json:"snug_non_go_peak_bytes"`
	Raised  float64 `json:"snug_raised"`
	Verdict string  `json:"snug_verdict"`
	GivenUp int     `json:"snug_given_up"`
	Failure string  `json:"snug_failure,omitempty"`
}

// watch returns snug's statistics; nil under other policies.
func watch() *watched {
	if watcher == nil {
		return nil
	}
	s := watcher.Stats()
	return &watched{
		Sets: s.Changes, Polls: s.Polls, Level: uint8(s.Memory.Pressure),
		NonGo: orMinusOne(s.Memory.NonGo), Used: orMinusOne(s.Memory.Used), Go: orMinusOne(s.Memory.Go), Peak: orMinusOne(s.Memory.NonGoPeak),
		Raised: boolFloat(s.CPU.Raised), Verdict: string(s.CPU.Verdict), GivenUp: len(s.GivenUp), Failure: s.Failure,
	}
}

// orMinusOne returns a number, or -1 if it is unknown.
func orMinusOne(v limits.Value[int64]) int64 {
	if n, ok := v.Get(); ok {
		return n
	}
	return -1
}

func boolFloat(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
