// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
)

func TestWrongLabel(t *testing.T) {
	type labels = map[string]string
	for _, c := range []struct {
		name           string
		pod            policy.Pod
		inject, others string
	}{
		{"none", policy.Pod{}, "", ""},
		{"valid", policy.Pod{Labels: labels{policy.InjectLabel: "enabled", policy.ProcsLabel: "disabled"}}, "", ""},
		{"its own", policy.Pod{Labels: labels{policy.InjectLabel: "true"}, NamespaceLabels: labels{policy.InjectLabel: "no"}}, "snug.dev/inject=true on the pod", ""},
		{"its namespace's", policy.Pod{NamespaceLabels: labels{policy.InjectLabel: "no"}}, "snug.dev/inject=no on the namespace", ""},
		{"its namespace's, and its own is valid", policy.Pod{Labels: labels{policy.InjectLabel: "enabled"}, NamespaceLabels: labels{policy.InjectLabel: "no"}}, "", ""},
		{"others", policy.Pod{Labels: labels{policy.ProcsLabel: "", policy.RestartLabel: "on"}}, "", "snug.dev/gomaxprocs= on the pod, snug.dev/restart-on-resize=on on the pod"},
		{"another", policy.Pod{Labels: labels{policy.RestartLabel: "on"}}, "", "snug.dev/restart-on-resize=on on the pod"},
	} {
		if inject, others := policy.WrongLabel(&c.pod); inject != c.inject || others != c.others {
			t.Errorf("%s: %q, %q", c.name, inject, others)
		}
	}
}
