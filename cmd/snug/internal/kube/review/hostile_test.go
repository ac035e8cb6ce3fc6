// SPDX-License-Identifier: Apache-2.0

package review

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/kube/policy"
)

// TestHostileGrows: a question that is twice as long makes twice as much work, whatever it
// is made of. Work that goes over a text again and again allocates again and again.
func TestHostileGrows(t *testing.T) {
	r := &Reviewer{Config: configured(t, "")}
	limit := object{"limits": object{"memory": "1Gi"}}
	env := func(n int, value func(int) string) []any {
		var all []any
		for i := range n {
			all = append(all, object{"name": "GOMEMLIMIT", "value": value(i)})
		}
		return all
	}
	annotated := func(said string, containers ...any) object {
		return object{"metadata": object{"name": "p", "labels": object{policy.InjectLabel: "enabled"}, "annotations": object{policy.AddedAnnotation: said}}, "spec": object{"containers": containers}}
	}
	parts := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "a GOMEMLIMIT=%d (pod-memory-share); ", i)
		}
		return b.String()
	}
	resized := func(n int) object {
		var all []any
		for i := range n {
			all = append(all, object{"name": fmt.Sprint("c", i), "env": env(1, func(int) string { return "1GiB" }), "resources": limit})
		}
		return object{"metadata": object{"name": "p"}, "spec": object{"containers": all}}
	}
	for name, work := range map[string]func(n int) func(){
		"variables that are not in a long annotation": func(n int) func() {
			q := question(t, "web", annotated(parts(n), object{"name": "a", "resources": limit, "env": env(n, func(i int) string { return fmt.Sprint(i, "MiB") })}))
			return func() { r.Fit(q, ByPod) }
		},
		"variables that all are in it": func(n int) func() {
			q := question(t, "web", annotated(parts(n), object{"name": "a", "resources": limit, "env": env(n, func(i int) string { return fmt.Sprint(i) })}))
			return func() { r.Fit(q, ByPod) }
		},
		"containers that a resize leaves behind": func(n int) func() {
			q := asked(t, object{"uid": "1", "operation": "UPDATE", "namespace": "web", "subResource": "resize", "resource": object{"resource": "pods"},
				"object": resized(n), "oldObject": object{"metadata": object{"name": "p"}, "spec": object{"containers": bare(n)}}})
			return func() { r.Resize(q) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			const n = 400
			one, two := allocated(work(n)), allocated(work(2*n))
			if two > 3*one {
				t.Errorf("%d bytes allocated for %d, %d for %d", one, n, two, 2*n)
			}
		})
	}
}

// TestHostileRoom: a question of empty elements takes not much more room than the largest
// that an API server asks.
func TestHostileRoom(t *testing.T) {
	r := &Reviewer{Config: configured(t, "")}
	const n = 500_000
	list := "[" + strings.Repeat("{},", n) + "{}]"
	for _, spec := range []string{`{"containers":` + list + `}`, `{"initContainers":` + list + `}`, `{"containers":[{"name":"a","resizePolicy":` + list + `}]}`} {
		q := []byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"CREATE","namespace":"web","resource":{"resource":"pods"},` +
			`"object":{"metadata":{"name":"p","labels":{"snug.dev/inject":"enabled"}},"spec":` + spec + `}}}`)
		if took := allocated(func() {
			if _, outcome := r.Fit(q, ByPod); outcome != Unreadable {
				t.Errorf("%.30s: %s", spec, outcome)
			}
		}); took > 32<<20 {
			t.Errorf("%.30s: %d bytes for a question of %d", spec, took, len(q))
		}
	}
}

// bare are containers without limits.
func bare(n int) []any {
	var all []any
	for i := range n {
		all = append(all, object{"name": fmt.Sprint("c", i)})
	}
	return all
}

// allocated is how many bytes something allocates.
func allocated(work func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestLongAnnotation: an annotation that no object can have says nothing.
func TestLongAnnotation(t *testing.T) {
	const said = "a GOMEMLIMIT=1 (pod-memory-share)"
	for size, corrected := range map[int]bool{mostAnnotations: true, mostAnnotations + 1: false} {
		n := noted(said + separator + strings.Repeat("x", size-len(said+separator)))
		if n.correct(said, "y") != corrected {
			t.Errorf("%d bytes: corrected %t", size, !corrected)
		}
	}
}

func TestListed(t *testing.T) {
	for _, c := range []struct {
		names string
		most  int
		want  string
	}{
		{"a", 0, "a"},
		{"aa bb", 6, "aa, bb"},
		{"aa bb", 5, "aa and 1 more"},
		{"aa bb cc dd ee", 17, "aa, bb and 3 more"},
		{"aa bb cc dd ee", 16, "aa and 4 more"},
		{"aa bb cc", 17, "aa, bb, cc"},
		{"a b c d e f g h i j k l", 18, "a, b, c and 9 more"},
		{"a b c d e f g h i j k l", 17, "a, b and 10 more"},
		{strings.Repeat("x", 50) + " y", 20, strings.Repeat("x", 50) + " and 1 more"},
	} {
		if got := listed(strings.Fields(c.names), c.most); got != c.want {
			t.Errorf("%s in %d: %s, want %s", c.names, c.most, got, c.want)
		}
	}
}

// TestNotTouched: pods that are given nothing, or whose values are not snug's own.
func TestNotTouched(t *testing.T) {
	r := &Reviewer{Config: configured(t, "")}
	const given = "containers: [{name: a, resources: {limits: {memory: 1Gi}}}]"
	env := func(entry string) string {
		return "containers: [{name: a, env: [{name: GOMEMLIMIT, " + entry + "}], resources: {limits: {memory: 1Gi}}}]"
	}
	for name, c := range map[string]struct {
		spec        string
		annotations object
	}{
		"a mirror of a static pod": {given, object{"kubernetes.io/config.mirror": "x"}},
		"no room to say it":        {given, object{"x": strings.Repeat("y", mostAnnotations-20)}},
		"off":                      {env("value: 'off'"), object{policy.AddedAnnotation: "a GOMEMLIMIT=off (pod-memory-share)"}},
		"in another unit":          {env("value: 1GiB"), object{policy.AddedAnnotation: "a GOMEMLIMIT=1GiB (pod-memory-share)"}},
		"a value and a reference":  {env("value: 460MiB, valueFrom: {resourceFieldRef: {resource: limits.memory}}"), object{policy.AddedAnnotation: "a GOMEMLIMIT=460MiB (pod-memory-share)"}},
	} {
		pod := podOf(t, enabled, c.spec)
		pod["metadata"].(object)["annotations"] = c.annotations
		text, _ := r.Fit(question(t, "web", pod), ByPod)
		if a := must(t, text, "1"); len(a.Response.Patch) > 0 {
			t.Errorf("%s: %s", name, a.Response.Patch)
		}
	}
}
