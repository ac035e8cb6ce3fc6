// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/snug-go/snug"
)

// watcher is snug's, nil under other policies.
var watcher *snug.Watcher

// govern applies POLICY, before there is any load. onPlan may be nil.
func govern(onPlan func(snug.Plan)) error {
	switch policy := os.Getenv("POLICY"); policy {
	case "", "plain":
	case "snug":
		watcher = snug.Watch(context.Background(), snug.Options{OnPlan: onPlan})
	case "automemlimit":
		_, err := memlimit.Set()
		return err
	default:
		return fmt.Errorf("unknown policy, POLICY=%s", policy)
	}
	return nil
}

// watched is what snug says of itself, for samples and results.
type watched struct {
	Sets    int64   `json:"snug_sets"`
	Polls   int64   `json:"snug_polls"`
	Level   uint8   `json:"snug_level"` // of pressure
	Guarded float64 `json:"snug_guarded"`
	NonGo   int64   `json:"snug_non_go_bytes"`
	Used    int64   `json:"snug_used_bytes"`
	Go      int64   `json:"snug_go_bytes"`
	Held    int64   `json:"snug_held_bytes"`
	Escaped float64 `json:"snug_escaped"`
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
		Sets: s.Changes, Polls: s.Polls, Level: uint8(s.Memory.Pressure), Guarded: truth(s.Memory.Guarded),
		NonGo: s.Memory.NonGo, Used: s.Memory.Used, Go: s.Memory.Go, Held: s.Memory.Held,
		Escaped: truth(s.CPU.Escaped), Verdict: string(s.CPU.Verdict), GivenUp: len(s.GivenUp), Failure: s.Failure,
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
