// SPDX-License-Identifier: Apache-2.0

package vm_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/fit/vm"
	"github.com/snug-go/snug/e2e/internal/gate"
)

// TestBench runs experiments on cgroup v2: once where groups can be made, and once where only the
// container's own limits exist.
func TestBench(t *testing.T) {
	gate.Need(t, "vm")
	// Few users. With an emulated CPU on a busy host, users of the saturating load wait seconds for
	// their first response, and a window may end without any.
	bench := func(flags ...string) []string {
		short := []string{guestPath("snug"), "bench", "--json", "--rounds", "1", "--objective", "none", "--users", "2", "--window", "3s", "--warmup", "200ms", "--ready", "5m", "--timeout", "5m", "--gomaxprocs", "1"}
		return append(short, flags...)
	}
	tests := []struct {
		step   vm.Step
		method string
		quota  int64  // of the last cell, in microseconds
		stderr string // on stderr
	}{
		{
			step:   vm.Step{Name: "in the root group", Args: bench("--cpus", "1.5", "--memory", "256MiB"), Seconds: 300},
			method: "cgroup-v2", quota: 150_000,
		},
		{
			step:   vm.Step{Name: "in a container", Cgroup: groups{"/a": {"cpu.max": "150000 100000"}}, In: []string{"/a"}, Private: true, Uid: 65532, Args: bench(), Seconds: 300},
			method: "container", quota: 150_000, stderr: "no cgroup can be made here",
		},
		{
			// As snug bench --in starts it: the machine's cgroup namespace and a writable tree, in a
			// group beside which others can be made.
			step:   vm.Step{Name: "in a container of --in", Cgroup: groups{"/docker": {}, "/docker/id": {}}, In: []string{"/docker/id"}, Args: bench("--cpus", "0.5", "--memory", "256MiB"), Seconds: 300},
			method: "delegated", quota: 50_000,
		},
	}
	var steps []vm.Step
	for _, test := range tests {
		steps = append(steps, test.step)
	}
	results := vm.Run(t, vm.Spec{Kind: v2, Files: files(t, nil), Steps: steps})
	for i, test := range tests {
		t.Run(test.step.Name, func(t *testing.T) {
			r := results[i]
			if r.Err != "" || r.Exit != 0 || !strings.Contains(r.Stderr, test.stderr) {
				t.Fatalf("error %q, exit code %d, stderr %q, want %q in it", r.Err, r.Exit, r.Stderr, test.stderr)
			}
			var d struct {
				Machine struct {
					Way string `json:"cgroup_way"`
				}
				Cells []struct {
					Rounds []struct {
						Invalid     string
						Ops         int64
						Throttled   *uint64  `json:"throttled_periods"`
						CPU         *float64 `json:"cpu_seconds"`
						Confinement struct {
							Quota int64 `json:"quota_micros"`
						}
					}
				}
			}
			if err := json.Unmarshal([]byte(r.Stdout), &d); err != nil {
				t.Fatalf("%v in %q", err, r.Stdout)
			}
			if d.Machine.Way != test.method || len(d.Cells) < 2 {
				t.Errorf("cgroup_way %q, want %q; %d cells", d.Machine.Way, test.method, len(d.Cells))
			}
			var quota int64
			for _, c := range d.Cells {
				for _, run := range c.Rounds {
					if run.Ops == 0 || run.Throttled == nil {
						t.Errorf("a run without operations or without throttling counters: %+v", run)
					}
					quota = run.Confinement.Quota
				}
			}
			if quota != test.quota {
				t.Errorf("quota %d, want %d", quota, test.quota)
			}
		})
	}
}
