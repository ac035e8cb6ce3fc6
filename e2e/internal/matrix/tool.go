// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/snug-go/snug/e2e/internal/figures"
)

// Answers maps names to command lines of the tool that run in every situation. CheckAnswer checks
// the output.
var Answers = map[string][]string{
	"limits": {"limits", "--json"},
	"plan":   {"plan", "--json"},
}

type limitsDocument struct {
	Snug, Kind string
	CPU        struct {
		Cores        *float64
		QuotaCores   *float64 `json:"quota_cores"`
		AffinityCPUs *int     `json:"affinity_cpus"`
	}
	Memory struct {
		HardBytes *int64 `json:"hard_bytes"`
		SoftBytes *int64 `json:"soft_bytes"`
	}
	Unknown []struct{ Field, Why string }
}

type planDocument struct {
	Snug, Kind string
	GOMAXPROCS struct{ Value *int }
	GOMEMLIMIT struct {
		Bytes *int64 `json:"value_bytes"`
	}
	Runtime struct {
		GOMAXPROCS *int
		Crashes    bool
	}
	Unknown []struct{ Field, Why string }
}

// CheckAnswer compares the output of the tool in the situation with the table.
func (s Situation) CheckAnswer(t *testing.T, m Machine, name string, o Outcome) {
	t.Helper()
	if o.Exit != 0 || o.Signal != "" || o.Stderr != "" {
		t.Fatalf("exit code %d, signal %q, stderr %s", o.Exit, o.Signal, o.Stderr)
	}
	var err error
	switch name {
	case "limits":
		err = s.checkLimits(m, o.Stdout)
	case "plan":
		err = s.checkPlan(m, o.Stdout)
	default:
		err = fmt.Errorf("no check for %q", name)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, o.Stdout)
	}
}

func (s Situation) checkLimits(m Machine, stdout string) error {
	var d limitsDocument
	if err := figures.Unmarshal([]byte(stdout), &d); err != nil {
		return err
	}
	affinity := s.affinity(m.CPUs)
	cores := float64(affinity)
	if s.Quota != 0 {
		cores = min(cores, s.Quota)
	}
	soft := s.Soft
	if soft == 0 {
		soft = s.Hard
	}
	switch {
	case d.Snug != "v1" || d.Kind != "limits":
		return fmt.Errorf("document %q of kind %q", d.Snug, d.Kind)
	case len(d.Unknown) > 0:
		return fmt.Errorf("unknown: %v", d.Unknown)
	case zero(d.CPU.QuotaCores) != s.Quota:
		return fmt.Errorf("quota of %v cores, want %v", zero(d.CPU.QuotaCores), s.Quota)
	case zero(d.CPU.AffinityCPUs) != affinity:
		return fmt.Errorf("affinity of %v CPUs, want %v", zero(d.CPU.AffinityCPUs), affinity)
	case zero(d.CPU.Cores) != cores:
		return fmt.Errorf("%v cores, want %v", zero(d.CPU.Cores), cores)
	case zero(d.Memory.HardBytes) != s.Hard:
		return fmt.Errorf("hard limit of %v bytes, want %v", zero(d.Memory.HardBytes), s.Hard)
	case zero(d.Memory.SoftBytes) != soft:
		return fmt.Errorf("soft limit of %v bytes, want %v", zero(d.Memory.SoftBytes), soft)
	}
	return nil
}

func (s Situation) checkPlan(m Machine, stdout string) error {
	var d planDocument
	if err := figures.Unmarshal([]byte(stdout), &d); err != nil {
		return err
	}
	procs := s.affinity(m.CPUs) // kept if the plan sets nothing
	if d.GOMAXPROCS.Value != nil {
		procs = *d.GOMAXPROCS.Value
	}
	switch {
	case d.Snug != "v1" || d.Kind != "plan":
		return fmt.Errorf("document %q of kind %q", d.Snug, d.Kind)
	case len(d.Unknown) > 0:
		return fmt.Errorf("unknown: %v", d.Unknown)
	case procs != s.Snug.On(m.CPUs):
		return fmt.Errorf("GOMAXPROCS %d, want %d", procs, s.Snug.On(m.CPUs))
	case zero(d.GOMEMLIMIT.Bytes) != s.Memory:
		return fmt.Errorf("GOMEMLIMIT %d, want %d", zero(d.GOMEMLIMIT.Bytes), s.Memory)
	case d.Runtime.Crashes != s.Crash:
		return fmt.Errorf("the runtime crashes: %v, want %v", d.Runtime.Crashes, s.Crash)
	case !s.Crash && zero(d.Runtime.GOMAXPROCS) != s.Runtime.On(m.CPUs):
		return fmt.Errorf("the runtime chooses %d, want %d", zero(d.Runtime.GOMAXPROCS), s.Runtime.On(m.CPUs))
	}
	return nil
}

// zero returns what p points to, or 0 for nil: no number in the table is 0.
func zero[T any](p *T) T {
	if p == nil {
		p = new(T)
	}
	return *p
}

// plan is the part of snug.Plan that a probe with snug reports.
type plan struct {
	GOMAXPROCS, GOMEMLIMIT struct {
		Value  int64
		Leave  bool
		Action string
	}
}

// checkPlan checks that the plan inside the program agrees with the knobs of the runtime, for a
// program where only snug sets them.
func (c Case) checkPlan(r Report) error {
	var p plan
	if err := json.Unmarshal(r.Plan, &p); err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	if !p.GOMAXPROCS.Leave && p.GOMAXPROCS.Value != int64(r.GOMAXPROCS) {
		return fmt.Errorf("the plan is GOMAXPROCS %d, the runtime has %d", p.GOMAXPROCS.Value, r.GOMAXPROCS)
	}
	if !p.GOMEMLIMIT.Leave && p.GOMEMLIMIT.Value != r.GOMEMLIMIT {
		return fmt.Errorf("the plan is GOMEMLIMIT %d, the runtime has %d", p.GOMEMLIMIT.Value, r.GOMEMLIMIT)
	}
	if c.Situation.Memory != 0 && !c.Run && p.GOMEMLIMIT.Leave {
		return fmt.Errorf("the plan leaves GOMEMLIMIT alone, the runtime has %d", r.GOMEMLIMIT)
	}
	return nil
}
