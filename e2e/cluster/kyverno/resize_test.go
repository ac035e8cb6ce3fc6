// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"fmt"
	"strings"
	"testing"
)

// resize: Kyverno's command knows no subresource, and an updated object is to it
// the old one as well (cmd/cli/kubectl-kyverno/processor/operation.go), so that no
// resize can be shown to it. Its schemas and its compiler see the policy as it is
// (load); here its expressions are evaluated, on pods that carry the old spec with
// them. Package kube resizes pods.
func (l *lab) resize(t *testing.T) {
	_, policy, _ := strings.Cut(l.policies(t, ""), "---\n")
	policy, _, _ = strings.Cut(policy, "---\n")
	if !strings.Contains(policy, "name: snug-resize\n") {
		t.Fatalf("another policy:\n%s", policy)
	}
	carried := strings.NewReplacer("pods/resize", "pods", "oldObject.spec", "object.spec.before").Replace(policy)
	if strings.Contains(carried, "oldObject") || strings.Count(carried, "object.spec.before") == 0 {
		t.Fatalf("more of the old object:\n%s", carried)
	}

	container := func(limits, more string) string {
		return fmt.Sprintf(`containers: [{name: a, image: x, resources: {limits: {%s}}, env: [%s]%s}]`, limits, set("GOMAXPROCS", "2")+", "+set("GOMEMLIMIT", "400MiB"), more)
	}
	const restarts = `, resizePolicy: [{resourceName: memory, restartPolicy: RestartContainer}, {resourceName: cpu, restartPolicy: NotRequired}]`
	var pods []object
	want := map[string]string{}
	for i, r := range []struct{ name, before, after, said string }{
		{"memory", container("memory: 512Mi, cpu: 2", ""), container("memory: 1Gi, cpu: 2", ""), "GOMEMLIMIT of a left stale by this resize:"},
		{"cores", container("memory: 512Mi, cpu: 2", ""), container("memory: 512Mi, cpu: 1", ""), "GOMAXPROCS of a left stale by this resize:"},
		{"both", container("memory: 512Mi, cpu: 2", ""), container("memory: 1Gi, cpu: 4", ""), "GOMAXPROCS of a, GOMEMLIMIT of a left stale"},
		{"a limit that was none", container("", ""), container("memory: 1Gi", ""), "GOMEMLIMIT of a left stale"},
		{"the same, written otherwise", container("memory: 1Gi, cpu: 2", ""), container("memory: 1024Mi, cpu: 2000m", ""), ""},
		{"a restart", container("memory: 512Mi, cpu: 2", restarts), container("memory: 1Gi, cpu: 2", restarts), "GOMEMLIMIT of a left stale"},
		{"no restart", container("memory: 512Mi, cpu: 2", restarts), container("memory: 1Gi, cpu: 1", restarts), "GOMAXPROCS of a, GOMEMLIMIT of a left stale"},
		{"a pod's limits", "resources: {limits: {memory: 512Mi}}, " + container("", ""), "resources: {limits: {memory: 1Gi}}, " + container("", ""), "GOMEMLIMIT of a left stale"},
		{"no variables", `containers: [{name: a, image: x, resources: {limits: {memory: 512Mi}}}]`, `containers: [{name: a, image: x, resources: {limits: {memory: 1Gi}}}]`, ""},
		{"a limit that is off", `containers: [{name: a, image: x, env: [{name: GOMEMLIMIT, value: "off"}], resources: {limits: {memory: 512Mi}}}]`,
			`containers: [{name: a, image: x, env: [{name: GOMEMLIMIT, value: "off"}], resources: {limits: {memory: 1Gi}}}]`, ""},
		{"a sidecar", "initContainers: [{name: s, image: x, restartPolicy: Always, env: [{name: GOMEMLIMIT, value: 1MiB}], resources: {limits: {memory: 512Mi}}}], " + container("", ""),
			"initContainers: [{name: s, image: x, restartPolicy: Always, env: [{name: GOMEMLIMIT, value: 1MiB}], resources: {limits: {memory: 1Gi}}}], " + container("", ""), "GOMEMLIMIT of s left stale"},
	} {
		p := pod(t, fmt.Sprintf("pod-%d", i), neutral, "", "{"+r.after+"}")
		p["spec"].(object)["before"] = decoded(t, []byte("{"+r.before+"}"))[0]
		pods, want[title(p)] = append(pods, p), r.said
	}
	o := l.apply(t, carried, "UPDATE", pods)
	if len(o.results) != len(pods) {
		t.Errorf("%d results of %d pods", len(o.results), len(pods))
	}
	for _, r := range o.results {
		if said := want[r.object]; said == "" && r.outcome != "pass" || said != "" && (r.outcome != "fail" || !strings.HasPrefix(r.message, said)) {
			t.Errorf("%s: %s %q, want %q", r.object, r.outcome, r.message, said)
		}
	}
	// What is no resize is none of its business.
	if o := l.apply(t, policy, "UPDATE", pods); len(o.results) > 0 {
		t.Errorf("%+v", o.results)
	}
}
