// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// peaks is where the ConfigMap of what was measured is; the configurations name it by default.
const peaks = "/api/v1/namespaces/snug/configmaps"

// measure makes the ConfigMap from rows of snug cluster learn until the test ends, and returns it as YAML.
func (p *policies) measure(t *testing.T, rows string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rows.txt")
	if err := os.WriteFile(file, []byte(rows), 0o644); err != nil {
		t.Fatal(err)
	}
	text := p.tool(t, "cluster", "learn", file)
	if !p.Get(t, "/api/v1/namespaces/snug").OK() {
		Must(t, p.Create(t, "/api/v1/namespaces", "metadata: {name: snug}"))
	}
	Must(t, p.Create(t, peaks, text))
	t.Cleanup(func() {
		if p.Get(t, peaks+"/snug-learned").OK() {
			p.Delete(t, peaks+"/snug-learned")
		}
	})
	return text
}

// owned returns a pod of a controller, as YAML.
func owned(namespace, labels, kind, name string) string {
	owner := ""
	if kind != "" {
		owner = fmt.Sprintf(", ownerReferences: [{apiVersion: other/v1, kind: Other, name: other, uid: b}, {apiVersion: any/v1, kind: %s, name: %q, uid: a, controller: true}]", kind, name)
	}
	return fmt.Sprintf(`metadata: {name: owned, namespace: %s, labels: {%s}%s}
spec: {containers: [{name: a, image: x, resources: {limits: {memory: 1000Mi}}}, {name: b, image: x, resources: {limits: {memory: 1000Mi}}}]}
`, namespace, labels, owner)
}

// learned: what was measured of a workload decides on its next pods.
func (p *policies) learned(t *testing.T) {
	p.measure(t, `in Deployment web a 300MiB 3600
in Rollout web a 310MiB 3600
in CronJob night.v1 a 320MiB 3600
in Job night-123 a 330MiB 3600
in StatefulSet db a 340MiB 3600
in StatefulSet small a 10MiB 3600
in StatefulSet small b 10MiB 604800
limited StatefulSet db a 900MiB 604800
`)
	Must(t, p.Patch(t, peaks+"/snug-learned", Object{"data": Object{
		"in_StatefulSet_wrong_a": "1Gi", "in_StatefulSet_wrong_b": " 314572800 bytes in 604800 s until 2026-11-27"}}))
	const share = "900MiB"
	table := []struct{ name, namespace, labels, kind, owner, a, b string }{
		{"a Deployment", in, "pod-template-hash: 5d4f7c9b6d", "ReplicaSet", "web-5d4f7c9b6d", "625MiB", share},
		{"a ReplicaSet of its own", in, "pod-template-hash: other", "ReplicaSet", "web-5d4f7c9b6d", share, share},
		{"a Rollout", in, "rollouts-pod-template-hash: 5d4f7c9b6d", "ReplicaSet", "web-5d4f7c9b6d", "612MiB", share},
		{"a CronJob", in, "a: b", "Job", "night.v1-29384710", "600MiB", share},
		{"a Job", in, "a: b", "Job", "night-123", "587MiB", share},
		{"a StatefulSet", in, "a: b", "StatefulSet", "db", "575MiB", share},
		{"less than the share leaves, for an hour and for a week", in, "a: b", "StatefulSet", "small", share, "950MiB"},
		{"nearly all", limited, "a: b", "StatefulSet", "db", "450MiB", share},
		{"another namespace", apart, "a: b", "StatefulSet", "db", share, share},
		{"wrong values", in, "a: b", "StatefulSet", "wrong", share, share},
		{"no controller", in, "a: b", "", "", share, share},
		{"not opted in", neutral, "a: b", "StatefulSet", "db", "", ""},
	}
	part := func(c, size, code string) string { return c + " GOMEMLIMIT=" + size + " (pod-memory-" + code + ")" }
	create := func(pod string) Object {
		t.Helper()
		namespace := strings.TrimSuffix(strings.Fields(strings.SplitAfter(pod, "namespace: ")[1])[0], ",")
		return Must(t, p.Create(t, "/api/v1/namespaces/"+namespace+"/pods?dryRun=All", pod)).Object
	}
	t.Run("used", func(t *testing.T) {
		p.apply(t, "learned: use\n")
		for _, c := range table {
			got := create(owned(c.namespace, c.labels, c.kind, c.owner))
			want := ""
			if c.a != "" {
				want = fmt.Sprintf("a{GOMEMLIMIT=%s} b{GOMEMLIMIT=%s}", c.a, c.b)
			} else {
				want = "a{} b{}"
			}
			if stored(got) != want {
				t.Errorf("%s: %s, want %s", c.name, stored(got), want)
			}
			if c.a == "625MiB" && added(got) != part("a", c.a, "learned")+"; "+part("b", c.b, "share") || note(got, "learned") != "" {
				t.Errorf("%s: annotated %q, %q", c.name, added(got), note(got, "learned"))
			}
		}
		// Without the ConfigMap the policies do nothing.
		p.Delete(t, peaks+"/snug-learned")
		p.Until(t, "the policies miss the ConfigMap", func() bool {
			return stored(create(owned(in, "a: b", "StatefulSet", "db"))) == "a{} b{}"
		})
		p.measure(t, "in StatefulSet db a 350MiB 3600\n")
		p.Until(t, "the policies have the new ConfigMap", func() bool {
			return stored(create(owned(in, "a: b", "StatefulSet", "db"))) == "a{GOMEMLIMIT=562MiB} b{GOMEMLIMIT=900MiB}"
		})
	})
	t.Run("observed", func(t *testing.T) {
		p.measure(t, "in StatefulSet db a 350MiB 3600\n")
		p.apply(t, "learned: observe\n")
		pod := create(owned(in, "a: b", "StatefulSet", "db"))
		if stored(pod) != "a{GOMEMLIMIT=900MiB} b{GOMEMLIMIT=900MiB}" || added(pod) != part("a", share, "share")+"; "+part("b", share, "share") || note(pod, "learned") != part("a", "562MiB", "learned") {
			t.Errorf("%s, annotated %q, %q", stored(pod), added(pod), note(pod, "learned"))
		}
		meta := pod["metadata"].(Object)
		again := Must(t, p.Create(t, "/api/v1/namespaces/in/pods?dryRun=All", Object{"metadata": Object{
			"name": "copy", "labels": meta["labels"], "annotations": meta["annotations"], "ownerReferences": meta["ownerReferences"]}, "spec": pod["spec"]})).Object
		if stored(again) != stored(pod) || note(again, "learned") != note(pod, "learned") {
			t.Errorf("a copy becomes %s, %q", stored(again), note(again, "learned"))
		}
	})
}

// randomRows returns rows for random pods of the Deployment web in all namespaces.
func randomRows(r *rand.Rand) string {
	var rows strings.Builder
	for _, namespace := range slices.Sorted(maps.Keys(namespaceLabels)) {
		for _, c := range []string{"a", "b", "proxy", "agent", "i", "s"} {
			fmt.Fprintf(&rows, "%s Deployment web %s %d %d\n", namespace, c, 1<<20+r.Int64N(1<<(20+r.IntN(14))), 1+r.Int64N(1<<21))
		}
	}
	return rows.String()
}

// ofWeb makes a pod one of the Deployment web.
func ofWeb(pod Object) {
	meta := pod["metadata"].(Object)
	meta["labels"].(Object)["pod-template-hash"] = "c1"
	meta["ownerReferences"] = []any{Object{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-c1", "uid": "a", "controller": true}}
}
