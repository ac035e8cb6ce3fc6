// SPDX-License-Identifier: Apache-2.0

package review

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/pod"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
)

const maxNameLen = 253 // bytes

// TestHostileGrows: the work grows linearly with the length of a review, whatever its content.
// Allocations stand for work, because repeated passes allocate repeatedly.
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
	// spread returns n variables in containers of that name.
	spread := func(n int, name string, value func(int) string) []any {
		const each = 8
		var all []any
		for i := 0; i < n; i += each {
			all = append(all, object{"name": name, "resources": limit, "env": env(each, func(j int) string { return value(i + j) })})
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
	for name, work := range map[string]func(n int) func(){
		"variables that are not in a long annotation": func(n int) func() {
			q := question(t, "web", annotated(parts(n), spread(n, "a", func(i int) string { return fmt.Sprint(i, "MiB") })...))
			return func() { r.Fit(q, ByPod) }
		},
		"variables that are all in it": func(n int) func() {
			q := question(t, "web", annotated(parts(n), spread(n, "a", func(i int) string { return fmt.Sprint(i) })...))
			return func() { r.Fit(q, ByPod) }
		},
		"variables of a container with a name that grows as well": func(n int) func() {
			q := question(t, "web", annotated(parts(1), spread(8, strings.Repeat("x", 10*n), func(i int) string { return fmt.Sprint(i) })...))
			return func() { r.Fit(q, ByPod) }
		},
		"the longest name of a container": func(n int) func() {
			q := question(t, "web", annotated(parts(n), spread(n, strings.Repeat("x", maxNameLen), func(i int) string { return fmt.Sprint(i) })...))
			return func() { r.Fit(q, ByPod) }
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

// TestHostileRoom: a review of many small elements takes little more memory than the largest
// review of an API server, and has no long answer.
func TestHostileRoom(t *testing.T) {
	r := &Reviewer{Config: configured(t, "")}
	const (
		n      = 500_000
		plain  = `"containers":[{"name":"a","resources":{"limits":{"memory":"1Gi","cpu":"1"}}}]`
		labels = `"labels":{"snug.dev/inject":"enabled","snug.dev/gomaxprocs":"enabled","snug.dev/restart-on-resize":"enabled"}`
	)
	list := "[" + strings.Repeat("{},", n) + "{}]"
	again := func(n int, member string) string { return strings.Repeat(member+",", n-1) + member }
	few := func(n int) string { return "[" + again(n, "{}") + "]" }
	keys := func(n int) string {
		var all strings.Builder
		for i := range n {
			fmt.Fprintf(&all, `,"snug.dev/%x":""`, i)
		}
		return all.String()
	}
	for name, c := range map[string]struct {
		uid, metadata, spec string
		want                Outcome
	}{
		"containers":            {"1", labels, `"containers":` + list, Unreadable},
		"init containers":       {"1", labels, `"initContainers":` + list, Unreadable},
		"a resizePolicy":        {"1", labels, `"containers":[{"name":"a","resizePolicy":` + list + `}]`, Unreadable},
		"lists of containers":   {"1", labels, again(2000, `"containers":`+few(1000)), Unreadable},
		"lists of resizePolicy": {"1", labels, `"containers":[{"name":"a","resources":{"limits":{"memory":"1Gi","cpu":"1"}},` + again(30_000, `"resizePolicy":`+few(64)) + `}]`, Unreadable},
		"labels":                {"1", labels[:len(labels)-1] + keys(370_000) + "}", plain, Unreadable},
		"annotations":           {"1", labels + `,"annotations":{"x":""` + keys(370_000) + "}", plain, Unreadable},
		"labels that are kept":  {"1", labels[:len(labels)-1] + keys(maxMembers-50) + "}", plain, Patched},
		"variables":             {"1", labels, `"containers":[{"name":"a","env":` + list + `}]`, Unreadable},
		"owners":                {"1", labels + `,"ownerReferences":` + list, plain, Unreadable},
		"colons in a text":      {"1", labels + `,"annotations":{"x":"` + strings.Repeat(":", 262_000) + `"}`, plain, Patched},
		"values to correct":     {"1", labels + `,"annotations":{"snug.dev/added":"a GOMEMLIMIT=1 (pod-memory-share)"}`, plain[:len(plain)-2] + `,"env":[` + again(200_000, `{"name":"GOMEMLIMIT","value":"1"}`) + `]}]`, Unreadable},
		"a long word":           {"1", labels, plain[:len(plain)-2] + `,"resizePolicy":[{"resourceName":"memory","restartPolicy":"` + strings.Repeat("<", 1<<20) + "\u00e9" + `"}]}]`, Patched},
		"a long uid":            {strings.Repeat("1", 4<<20), labels, plain, Unreadable},
	} {
		q := []byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"` + c.uid + `","operation":"CREATE","namespace":"web","resource":{"resource":"pods"},` +
			`"object":{"metadata":{"name":"p",` + c.metadata + `},"spec":{` + c.spec + `}}}}`)
		var text []byte
		var outcome Outcome
		if took := allocated(func() { text, outcome = r.Fit(q, ByPod) }); took > 32<<20 {
			t.Errorf("%s: %d bytes for a question of %d", name, took, len(q))
		}
		if outcome != c.want || len(text) > 1<<20 {
			t.Errorf("%s: %s, %d bytes of an answer", name, outcome, len(text))
		}
	}
}

// TestLongNames: a review with a name that is too long is not examined, because shared lists
// would be searched once per container.
func TestLongNames(t *testing.T) {
	r := &Reviewer{Config: configured(t, "")}
	for at, with := range map[string]func(request, metadata, spec object, text string){
		"uid":          func(request, _, _ object, text string) { request["uid"] = text },
		"namespace":    func(request, _, _ object, text string) { request["namespace"] = text },
		"name":         func(_, metadata, _ object, text string) { metadata["name"] = text },
		"generateName": func(_, metadata, _ object, text string) { metadata["generateName"] = text },
		"owner's kind": func(_, metadata, _ object, text string) {
			metadata["ownerReferences"] = []any{object{"kind": text, "name": "x", "controller": true}}
		},
		"owner's name": func(_, metadata, _ object, text string) {
			metadata["ownerReferences"] = []any{object{"kind": "Job", "name": text, "controller": true}}
		},
		"container":      func(_, _, spec object, text string) { spec["containers"].([]any)[0].(object)["name"] = text },
		"init container": func(_, _, spec object, text string) { spec["initContainers"] = []any{object{"name": text}} },
		"amount":         func(_, _, spec object, text string) { spec["resources"] = object{"limits": object{"memory": text}} },
	} {
		for size, want := range map[int]Outcome{maxNameLen: Patched, maxNameLen + 1: Unreadable} {
			pod := podOf(t, enabled, "containers: [{name: a, resources: {limits: {memory: 1Gi}}}]")
			request := object{"uid": "1", "operation": "CREATE", "namespace": "web", "resource": object{"resource": "pods"}, "object": pod}
			with(request, pod["metadata"].(object), pod["spec"].(object), strings.Repeat("x", size))
			uid := request["uid"].(string)
			if len(uid) > maxNameLen {
				uid = "" // not sent back
			}
			text, outcome := r.Fit(asked(t, request), ByPod)
			a := must(t, text, uid)
			if outcome != want || len(a.Response.Patch) > 0 != (want == Patched) {
				t.Errorf("%s of %d bytes: %s, %.200s", at, size, outcome, text)
			}
		}
	}
}

// allocated returns the bytes that a function allocates.
func allocated(work func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestNotTouched: pods that are given nothing, or with values that snug did not add.
func TestNotTouched(t *testing.T) {
	r := &Reviewer{Config: configured(t, "")}
	const given, largest = "containers: [{name: a, resources: {limits: {memory: 1Gi}}}]", pod.MaxAnnotations
	env := func(entry string) string {
		return "containers: [{name: a, env: [{name: GOMEMLIMIT, " + entry + "}], resources: {limits: {memory: 1Gi}}}]"
	}
	for name, c := range map[string]struct {
		spec        string
		annotations object
	}{
		"a mirror of a static pod": {given, object{"kubernetes.io/config.mirror": "x"}},
		"no room for the note":     {given, object{"x": strings.Repeat("y", largest-20)}},
		"off":                      {env("value: 'off'"), object{policy.AddedAnnotation: "a GOMEMLIMIT=off (pod-memory-share)"}},
		"in another unit":          {env("value: 1GiB"), object{policy.AddedAnnotation: "a GOMEMLIMIT=1GiB (pod-memory-share)"}},
	} {
		pod := podOf(t, enabled, c.spec)
		pod["metadata"].(object)["annotations"] = c.annotations
		text, _ := r.Fit(question(t, "web", pod), ByPod)
		if a := must(t, text, "1"); len(a.Response.Patch) > 0 {
			t.Errorf("%s: %s", name, a.Response.Patch)
		}
	}
}
