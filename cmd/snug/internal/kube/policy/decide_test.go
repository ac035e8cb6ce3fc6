// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/kube/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/kube/policy"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// TestDecideKnowing: the label decides where it is, and else what is known of a program.
func TestDecideKnowing(t *testing.T) {
	config := parsed(t, "")
	plain, labelled := &policy.Pod{}, &policy.Pod{Labels: map[string]string{policy.ProcsLabel: "enabled"}}
	isGo := func(minor int, blind bool) podpatch.Program {
		return podpatch.Program{State: podpatch.IsGo, Go: plan.Go{Minor: minor, Blind: blind}}
	}
	for _, c := range []struct {
		name        string
		pod         *policy.Pod
		program     podpatch.Program
		procs, size bool
	}{
		{"not known", plain, podpatch.Program{}, false, true},
		{"not known, with the label", labelled, podpatch.Program{}, true, true},
		{"an old Go", plain, isGo(22, true), true, true},
		{"a new Go and an old go line", plain, isGo(26, true), true, true},
		{"a new Go", plain, isGo(26, false), false, true},
		{"a new Go, and the label", labelled, isGo(26, false), true, true},
		{"a Go without GOMEMLIMIT", plain, isGo(18, true), true, false},
		{"a Go without GOMEMLIMIT, and the label", labelled, isGo(18, false), true, false},
		{"not Go", plain, podpatch.Program{State: podpatch.NotGo}, false, false},
		{"not Go, and the label", labelled, podpatch.Program{State: podpatch.NotGo}, true, true},
		{"a new Go, and another word on the label", &policy.Pod{Labels: map[string]string{policy.ProcsLabel: "disabled"}}, isGo(26, false), false, true},
	} {
		facts := podpatch.Container{Program: c.program, CPULimit: limits.Of[int64](1500), MemoryLimit: limits.Of[int64](1 << 30)}
		has := map[string]bool{}
		for _, e := range config.DecideKnowing(c.pod, "a", facts).Env {
			has[e.Name] = true
		}
		if has["GOMAXPROCS"] != c.procs || has["GOMEMLIMIT"] != c.size {
			t.Errorf("%s: %v", c.name, has)
		}
		if p := config.Decide(c.pod, "a", facts); len(p.Env) != map[bool]int{true: 2, false: 1}[c.pod == labelled] {
			t.Errorf("%s: Decide knows a program: %+v", c.name, p.Env)
		}
	}
}
