// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"slices"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// TestDecideKnowing: the label decides if it is set, else the known program.
func TestDecideKnowing(t *testing.T) {
	config := parsed(t, "")
	plain, labelled := &policy.Pod{}, &policy.Pod{Labels: map[string]string{policy.ProcsLabel: "enabled"}}
	follows := &policy.Pod{Labels: map[string]string{policy.ProcsLabel: "disabled", policy.RestartLabel: "enabled"}}
	isGo := func(minor int, blind bool) podpatch.Program {
		return podpatch.Program{State: podpatch.IsGo, Go: plan.Go{Minor: minor, Blind: blind}}
	}
	for _, c := range []struct {
		name        string
		pod         *policy.Pod
		program     podpatch.Program
		procs, size bool
	}{
		{"unknown", plain, podpatch.Program{}, false, true},
		{"unknown, with the label", labelled, podpatch.Program{}, true, true},
		{"an old Go", plain, isGo(22, true), true, true},
		{"a new Go and an old go line", plain, isGo(26, true), true, true},
		{"a new Go", plain, isGo(26, false), false, true},
		{"a new Go, and the label", labelled, isGo(26, false), true, true},
		{"a Go without GOMEMLIMIT", plain, isGo(18, true), true, false},
		{"a Go without GOMEMLIMIT, and the label", labelled, isGo(18, false), true, false},
		{"not Go", plain, podpatch.Program{State: podpatch.NotGo}, false, false},
		{"not Go, and the label", labelled, podpatch.Program{State: podpatch.NotGo}, true, true},
		{"a new Go, and the label disabled", &policy.Pod{Labels: map[string]string{policy.ProcsLabel: "disabled"}}, isGo(26, false), false, true},
		{"a new Go, and an invalid label", &policy.Pod{Labels: map[string]string{policy.ProcsLabel: "false"}}, isGo(26, false), false, true},
		{"an old Go, and an invalid label", &policy.Pod{Labels: map[string]string{policy.ProcsLabel: "false"}}, isGo(22, true), true, true},
		{"unknown, and it follows", follows, podpatch.Program{}, false, true},
		{"an old Go, and it follows", follows, isGo(22, true), false, true},
		{"a new Go and an old go line, and it follows", follows, isGo(26, true), false, true},
		{"a Go without GOMEMLIMIT, and it follows", follows, isGo(18, true), false, false},
		{"not Go, and it follows", follows, podpatch.Program{State: podpatch.NotGo}, false, false},
	} {
		facts := podpatch.Container{Program: c.program, CPULimit: limits.Of[int64](1500), MemoryLimit: limits.Of[int64](1 << 30)}
		has := map[string]bool{}
		patch := config.DecideKnowing(c.pod, "a", facts)
		for _, e := range patch.Env {
			has[e.Name] = true
		}
		if len(patch.Resize) > 0 || !slices.ContainsFunc(patch.Reasons, func(r podpatch.Reason) bool { return r.Knob == "GOMAXPROCS" }) ||
			!slices.ContainsFunc(patch.Reasons, func(r podpatch.Reason) bool { return r.Knob == "GOMEMLIMIT" }) {
			t.Errorf("%s: restarts on %q, for %v", c.name, patch.Resize, patch.Reasons)
		}
		if has["GOMAXPROCS"] != c.procs || has["GOMEMLIMIT"] != c.size {
			t.Errorf("%s: %v", c.name, has)
		}
		if p := config.Decide(c.pod, "a", facts); len(p.Env) != map[bool]int{true: 2, false: 1}[c.pod == labelled] {
			t.Errorf("%s: Decide knows a program: %+v", c.name, p.Env)
		}
	}
}

// TestDecideFollows: a pod whose label says that it follows its CPU limit gets no GOMAXPROCS
// from that limit, and without a limit what the policies give.
func TestDecideFollows(t *testing.T) {
	config := parsed(t, "")
	pod := &policy.Pod{Labels: map[string]string{policy.ProcsLabel: "disabled"}}
	facts := podpatch.Container{
		Program:  podpatch.Program{State: podpatch.IsGo, Go: plan.Go{Minor: 22, Blind: true}},
		CPULimit: limits.Of[int64](1500), CPURequest: limits.Of[int64](1000),
	}
	why := func() string { return config.DecideKnowing(pod, "a", facts).Reasons[0].Code }
	if got := why(); got != podpatch.ProcsFollow {
		t.Errorf("with a limit: %s", got)
	}
	facts.Set = map[string]bool{"GOMAXPROCS": true}
	if got := why(); got != podpatch.ProcsPinned {
		t.Errorf("with a limit, and the variable: %s", got)
	}
	facts.Set, facts.CPULimit = nil, limits.Value[int64]{State: limits.None}
	if got := why(); got != podpatch.ProcsRequest {
		t.Errorf("without a limit: %s", got)
	}
}
