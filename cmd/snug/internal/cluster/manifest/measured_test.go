// SPDX-License-Identifier: Apache-2.0

package manifest

import "testing"

func TestMeasured(t *testing.T) {
	f := Parse("a.yaml", []byte(`apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {"a_b": "1 bytes in 2 s until 2026-11-27", other: x}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
data: {a_b: "1", other: x}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: none, annotations: {x: " bytes in "}}
`))
	if len(f.Objects) != 2 || f.Objects[1].Name != "none" || f.Objects[1].Measured != nil || len(f.Objects[0].Measured) != 2 || f.Objects[0].Measured["a_b"] != "1 bytes in 2 s until 2026-11-27" {
		t.Fatalf("%d objects", len(f.Objects))
	}
}

// TestMeasuredForms: a ConfigMap of what was measured, and one without data, are found in each form.
func TestMeasuredForms(t *testing.T) {
	for text, want := range map[string]int{
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {}\n":                                               0,
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n":                                                 0,
		"kind: List\nitems:\n- kind: ConfigMap\n  metadata: {name: c}\n  data: {a_b: 1 bytes in 2 s until 2026-11-27}\n": 1,
		`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}`:                                           0,
		`{"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a_b": "1 bytes in 2 s until 2026-11-27"}}`:           1,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: x\n":                                          -1,
	} {
		f := Parse("a.yaml", []byte(text))
		if got := len(f.Objects); (got == 1) != (want >= 0) || got == 1 && len(f.Objects[0].Measured) != want {
			t.Errorf("%s: %d objects", text, got)
		}
	}
}

func TestWorkload(t *testing.T) {
	for text, want := range map[string]string{
		"kind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{name: a, image: x}]}}}\n":                                                                                       "Deployment/web",
		"kind: Job\nmetadata: {name: night-29384710}\nspec: {template: {spec: {containers: [{name: a, image: x}]}}}\n":                                                                                   "CronJob/night",
		"kind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a, image: x}]}\n":                                                                                                                  "",
		"kind: Pod\nmetadata: {name: web, ownerReferences: [{kind: X, name: y}]}\nspec: {containers: [{name: a, image: x}]}\n":                                                                           "",
		"kind: Pod\nmetadata: {name: w, ownerReferences: [{kind: X, name: y, controller: true}]}\nspec: {containers: [{name: a, image: x}]}\n":                                                           "X/y",
		"kind: Pod\nmetadata: {labels: {pod-template-hash: c1}, ownerReferences: [{kind: X, name: y}, {kind: ReplicaSet, name: web-c1, controller: true}]}\nspec: {containers: [{name: a, image: x}]}\n": "Deployment/web",
	} {
		f := Parse("a.yaml", []byte("apiVersion: v1\n"+text))
		if len(f.Objects) != 1 || f.Objects[0].Pods[0].Workload() != want {
			t.Errorf("%s: want %q", text, want)
		}
	}
}
