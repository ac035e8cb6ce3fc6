// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/kube/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/kube/policy"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// TestDecideKnowing: what is known of a program decides, and what the label says where
// nothing is.
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
		{"a new Go, against the label", labelled, isGo(26, false), false, true},
		{"a Go without GOMEMLIMIT", plain, isGo(18, true), true, false},
		{"not Go", labelled, podpatch.Program{State: podpatch.NotGo}, false, false},
	} {
		facts := podpatch.Container{Program: c.program, CPULimit: limits.Of[int64](1500), MemoryLimit: limits.Of[int64](1 << 30)}
		has := map[string]bool{}
		for _, e := range config.DecideKnowing(c.pod, "a", facts).Env {
			has[e.Name] = true
		}
		if has["GOMAXPROCS"] != c.procs || has["GOMEMLIMIT"] != c.size {
			t.Errorf("%s: %v", c.name, has)
		}
		if p := config.Decide(c.pod, "a", facts); len(p.Env) != 1+len(c.pod.Labels) {
			t.Errorf("%s: Decide knows a program: %+v", c.name, p.Env)
		}
	}
}
