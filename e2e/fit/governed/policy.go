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

// watcher is snug's, nil under other policies.
var watcher *adapt.Watcher

// govern applies POLICY, before there is any load. onPlan may be nil.
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

// watched is what snug says of itself, for samples and results.
type watched struct {
	Sets    int64   `json:"snug_sets"`
	Polls   int64   `json:"snug_polls"`
	Level   uint8   `json:"snug_level"` // of pressure
	NonGo   int64   `json:"snug_non_go_bytes"`
	Used    int64   `json:"snug_used_bytes"`
	Go      int64   `json:"snug_go_bytes"`
	Peak    int64   `json:"snug_non_go_peak_bytes"`
	Raised  float64 `json:"snug_raised"`
	Verdict string  `json:"snug_verdict"`
	GivenUp int     `json:"snug_given_up"`
	Failure string  `json:"snug_failure,omitempty"`
}

// watch is nil where snug does not watch.
func watch() *watched {
	if watcher == nil {
		return nil
	}
	s := watcher.Stats()
	return &watched{
		Sets: s.Changes, Polls: s.Polls, Level: uint8(s.Memory.Pressure),
		NonGo: known(s.Memory.NonGo), Used: known(s.Memory.Used), Go: known(s.Memory.Go), Peak: known(s.Memory.NonGoPeak),
		Raised: truth(s.CPU.Raised), Verdict: string(s.CPU.Verdict), GivenUp: len(s.GivenUp), Failure: s.Failure,
	}
}

// known is -1 where a number is unknown.
func known(v limits.Value[int64]) int64 {
	if n, ok := v.Get(); ok {
		return n
	}
	return -1
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
