// SPDX-License-Identifier: Apache-2.0

package review

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/pod"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
	"github.com/snug-go/snug/internal/plan"
)

// object is a pod, or a part of one, as JSON.
type object = map[string]any

func configured(t testing.TB, text string) *policy.Config {
	t.Helper()
	c, err := policy.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return &c
}

// question returns the review of a pod that is created.
func question(t testing.TB, namespace string, pod any) []byte {
	t.Helper()
	return asked(t, object{"uid": "1", "operation": "CREATE", "namespace": namespace, "resource": object{"group": "", "version": "v1", "resource": "pods"}, "object": pod})
}

func asked(t testing.TB, request object) []byte {
	t.Helper()
	text, err := json.Marshal(object{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// answered is a decoded answer.
type answered struct {
	APIVersion, Kind string
	Response         *struct {
		UID       string
		Allowed   bool
		PatchType string
		Patch     []byte
		Warnings  []string
	}
}

// must decodes an answer, and fails unless an API server accepts it and the pod.
// Source: k8s.io/apiserver/pkg/admission/plugin/webhook/request, VerifyAdmissionResponse.
func must(t testing.TB, text []byte, uid string) *answered {
	t.Helper()
	var a answered
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if a.APIVersion != "admission.k8s.io/v1" || a.Kind != "AdmissionReview" || a.Response == nil || !a.Response.Allowed || a.Response.UID != uid {
		t.Fatalf("answer %s", text)
	}
	if len(a.Response.Patch) > 0 != (a.Response.PatchType == "JSONPatch") || string(a.Response.Patch) == "null" {
		t.Fatalf("answer %s", text)
	}
	for _, w := range a.Response.Warnings {
		if len(w) > 256 || strings.ContainsAny(w, "\n\"") {
			t.Errorf("warning %q", w)
		}
	}
	return &a
}

// podOf parses the YAML of a pod.
func podOf(t testing.TB, labels, spec string) object {
	t.Helper()
	var p object
	text := "metadata: {name: p"
	if labels != "" {
		text += ", labels: {" + labels + "}"
	}
	if err := yaml.Unmarshal([]byte(text+"}\nspec: {"+spec+"}\n"), &p); err != nil {
		t.Fatalf("%v: %s", err, spec)
	}
	canonical(p)
	return p
}

// canonical converts amounts to strings, like an API server.
func canonical(o any) {
	switch o := o.(type) {
	case object:
		for _, kind := range []string{"limits", "requests"} {
			if amounts, ok := o[kind].(object); ok {
				for k, v := range amounts {
					amounts[k] = fmt.Sprint(v)
				}
			}
		}
		for _, v := range o {
			canonical(v)
		}
	case []any:
		for _, v := range o {
			canonical(v)
		}
	}
}

// stored returns the parts of a pod that snug may change, in one line with init containers first,
// and its annotations.
func stored(pod object) (line string, annotations object) {
	var all []string
	spec := pod["spec"].(object)
	for _, of := range []string{"initContainers", "containers"} {
		containers, _ := spec[of].([]any)
		for _, c := range containers {
			c := c.(object)
			var s []string
			env, _ := c["env"].([]any)
			for _, e := range env {
				e := e.(object)
				if from, ok := e["valueFrom"].(object); ok {
					ref := from["resourceFieldRef"].(object)
					s = append(s, fmt.Sprintf("%v<%v/%v", e["name"], ref["resource"], ref["divisor"]))
				} else {
					s = append(s, fmt.Sprintf("%v=%v", e["name"], e["value"]))
				}
			}
			resize, _ := c["resizePolicy"].([]any)
			for _, r := range resize {
				s = append(s, fmt.Sprintf("%v:%v", r.(object)["resourceName"], r.(object)["restartPolicy"]))
			}
			all = append(all, fmt.Sprintf("%v{%s}", c["name"], strings.Join(s, " ")))
		}
	}
	annotations, _ = pod["metadata"].(object)["annotations"].(object)
	return strings.Join(all, " "), annotations
}

// fitted reviews a pod until nothing changes, and fails if that takes more than one patch.
func fitted(t testing.TB, r *Reviewer, namespace string, by OptIn, pod object) (object, Outcome) {
	t.Helper()
	q := question(t, namespace, pod)
	text, outcome := r.Fit(q, by)
	if again, _ := r.Fit(q, by); string(again) != string(text) {
		t.Errorf("the same question has two answers:\n%s\n%s", text, again)
	}
	a := must(t, text, "1")
	var now any
	if err := json.Unmarshal(mustJSON(t, pod), &now); err != nil {
		t.Fatal(err)
	}
	if len(a.Response.Patch) > 0 {
		var err error
		if now, err = apply(now, a.Response.Patch); err != nil {
			t.Fatalf("%v: %s", err, a.Response.Patch)
		}
	}
	again, _ := r.Fit(question(t, namespace, now), by)
	if b := must(t, again, "1"); len(b.Response.Patch) > 0 {
		t.Errorf("its own result is patched again: %s\nafter %s", b.Response.Patch, a.Response.Patch)
	}
	return now.(object), outcome
}

func mustJSON(t testing.TB, o any) []byte {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

const (
	enabled  = "snug.dev/inject: enabled"
	oldGo    = enabled + ", snug.dev/gomaxprocs: enabled"
	restarts = oldGo + ", snug.dev/restart-on-resize: enabled"
)

func TestFit(t *testing.T) {
	const one = `containers: [{name: a, resources: {limits: {memory: 512Mi, cpu: 1500m}}}]`
	for _, c := range []struct {
		name, config, labels, spec string
		want, said                 string // said is the annotation snug.dev/added, or else snug.dev/skipped
	}{
		{"a memory limit", "", enabled, one, "a{GOMEMLIMIT=460MiB}", "a GOMEMLIMIT=460MiB (pod-memory-share)"},
		{"a program that needs GOMAXPROCS", "", oldGo, one, "a{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=460MiB}", "a GOMAXPROCS (pod-procs-reference); a GOMEMLIMIT=460MiB (pod-memory-share)"},
		{"a restart", "", restarts, one, "a{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=460MiB cpu:RestartContainer}", ""},
		{"a restart in a pod that never restarts", "", restarts, "restartPolicy: Never, " + one, "a{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=460MiB}", ""},
		{"a resizePolicy of its own", "", restarts, `containers: [{name: a, resizePolicy: [{resourceName: memory, restartPolicy: NotRequired}], resources: {limits: {memory: 512Mi, cpu: 1500m}}}]`,
			"a{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=460MiB memory:NotRequired cpu:RestartContainer}", ""},
		{"values of its own", "", oldGo, `containers: [{name: a, env: [{name: GOMEMLIMIT, value: 1GiB}, {name: GOMAXPROCS, value: "7"}], resources: {limits: {memory: 512Mi, cpu: 1}}}]`,
			"a{GOMEMLIMIT=1GiB GOMAXPROCS=7}", "a GOMAXPROCS (pod-env-set); a GOMEMLIMIT (pod-env-set)"},
		{"other variables", "", oldGo, `containers: [{name: a, env: [{name: A, value: b}], resources: {limits: {memory: 512Mi, cpu: 1}}}]`,
			"a{A=b GOMAXPROCS=2 GOMEMLIMIT=460MiB}", "a GOMAXPROCS=2 (pod-procs-value); a GOMEMLIMIT=460MiB (pod-memory-share)"},
		{"an empty env", "", enabled, `containers: [{name: a, env: [], resources: {limits: {memory: 512Mi}}}]`, "a{GOMEMLIMIT=460MiB}", ""},
		{"a null env", "", enabled, `containers: [{name: a, env: null, resources: {limits: {memory: 512Mi}}}]`, "a{GOMEMLIMIT=460MiB}", ""},
		{"an envFrom", "", oldGo, `containers: [{name: a, envFrom: [{configMapRef: {name: x}}], resources: {limits: {memory: 512Mi, cpu: 1}}}]`, "a{}", "a GOMAXPROCS (pod-env-opaque); a GOMEMLIMIT (pod-env-opaque)"},
		{"an envFrom that is overridden", "envFrom: add", enabled, `containers: [{name: a, envFrom: [{configMapRef: {name: x}}], resources: {limits: {memory: 512Mi, cpu: 1}}}]`, "a{GOMEMLIMIT=460MiB}", ""},
		{"no limits", "", oldGo, `containers: [{name: a}, {name: b}]`, "a{} b{}", "a GOMAXPROCS (pod-no-cpu-limit); a GOMEMLIMIT (pod-no-memory-limit); b GOMAXPROCS (pod-no-cpu-limit); b GOMEMLIMIT (pod-no-memory-limit)"},
		{"limits of 0", "", oldGo, `containers: [{name: a, resources: {limits: {memory: "0", cpu: "0"}}}]`, "a{}", "a GOMAXPROCS (pod-no-cpu-limit); a GOMEMLIMIT (pod-no-memory-limit)"},
		{"limits above any machine", "", oldGo, `containers: [{name: a, resources: {limits: {memory: 9999Pi, cpu: 2M}}}]`, "a{}", ""},
		{"an invalid limit", "", oldGo, `containers: [{name: a, resources: {limits: {memory: lots, cpu: "3"}}}]`, "a{GOMAXPROCS<limits.cpu/1}", "a GOMAXPROCS (pod-procs-reference)"},
		{"a small limit", "", enabled, `containers: [{name: a, resources: {limits: {memory: 63Mi, cpu: 1}}}]`, "a{}", "a GOMAXPROCS (pod-procs-follow); a GOMEMLIMIT (pod-memory-small)"},
		{"init and sidecar containers", "", restarts, `initContainers: [{name: i, resources: {limits: {memory: 1Gi, cpu: 500m}}}, {name: s, restartPolicy: Always, resources: {limits: {memory: 1Gi, cpu: 2}}}], ` + one,
			"i{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=921MiB} s{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=921MiB cpu:RestartContainer} a{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=460MiB cpu:RestartContainer}", ""},
		{"the pod's limits, one container", "", oldGo, `resources: {limits: {memory: 1Gi, cpu: 2}}, initContainers: [{name: i}], containers: [{name: a}]`, "i{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=921MiB} a{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=921MiB}", ""},
		{"the pod's limits, two containers", "", oldGo, `resources: {limits: {memory: 1Gi, cpu: 2}}, containers: [{name: a}, {name: b, resources: {limits: {memory: 100Mi}}}]`, "a{GOMAXPROCS<limits.cpu/1} b{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=90MiB}", ""},
		{"the pod's limits, a sidecar", "", enabled, `resources: {limits: {memory: 1Gi}}, initContainers: [{name: i}, {name: s, restartPolicy: Always}], containers: [{name: a}]`, "i{} s{} a{}",
			"a GOMAXPROCS (pod-no-cpu-limit); a GOMEMLIMIT (pod-memory-shared); i GOMAXPROCS (pod-no-cpu-limit); i GOMEMLIMIT (pod-memory-shared); s GOMAXPROCS (pod-no-cpu-limit); s GOMEMLIMIT (pod-memory-shared)"},
		{"an excluded container", "exclude: {containers: [b]}", enabled, `containers: [{name: a, resources: {limits: {memory: 1Gi}}}, {name: b, resources: {limits: {memory: 1Gi}}}]`, "a{GOMEMLIMIT=921MiB} b{}", "a GOMEMLIMIT=921MiB (pod-memory-share)"},
		{"numbers", "round: floor\nminProcs: 2\nmemory: 50%", oldGo, one, "a{GOMAXPROCS=2 GOMEMLIMIT=256MiB}", "a GOMAXPROCS=2 (pod-procs-value); a GOMEMLIMIT=256MiB (pod-memory-share)"},
		{"requests, turned off", "requestFactor: 0", enabled, `containers: [{name: a, resources: {requests: {cpu: 1200m}}}]`, "a{}", "a GOMAXPROCS (pod-no-cpu-limit); a GOMEMLIMIT (pod-no-memory-limit)"},
		{"a small request", "", enabled, `containers: [{name: a, resources: {requests: {cpu: 100m}}}]`, "a{GOMAXPROCS=2}", "a GOMAXPROCS=2 (pod-procs-request)"},
		{"requests", "", enabled, `containers: [{name: a, resources: {requests: {cpu: 1200m}}}]`, "a{GOMAXPROCS=3}", "a GOMAXPROCS=3 (pod-procs-request)"},
		{"Windows by its os", "", oldGo, "os: {name: windows}, " + one, "a{}", "a GOMAXPROCS (pod-windows); a GOMEMLIMIT (pod-windows)"},
		{"Windows by its nodes", "", oldGo, "nodeSelector: {kubernetes.io/os: windows}, " + one, "a{}", "a GOMAXPROCS (pod-windows); a GOMEMLIMIT (pod-windows)"},
		{"Linux", "", enabled, "os: {name: linux}, nodeSelector: {kubernetes.io/os: linux}, " + one, "a{GOMEMLIMIT=460MiB}", ""},
		{"no containers", "", enabled, ``, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Reviewer{Config: configured(t, c.config)}
			pod, outcome := fitted(t, r, "web", ByPod, podOf(t, c.labels, c.spec))
			got, notes := stored(pod)
			if got != c.want {
				t.Errorf("\ngot  %s\nwant %s", got, c.want)
			}
			added, skipped := notes[policy.AddedAnnotation], notes[policy.SkippedAnnotation]
			if outcome == Patched && (added == nil || skipped != nil) || outcome == Skipped && (added != nil || skipped == nil) {
				t.Errorf("%s, and annotations %v", outcome, notes)
			}
			if said := fmt.Sprint(notes[map[Outcome]string{Patched: policy.AddedAnnotation, Skipped: policy.SkippedAnnotation}[outcome]]); c.said != "" && said != c.said {
				t.Errorf("\nsaid %s\nwant %s", said, c.said)
			}
		})
	}
}

func TestFitOptIn(t *testing.T) {
	const disabled = "snug.dev/inject: disabled"
	for _, c := range []struct {
		name, config, namespace, labels string
		by                              OptIn
		want                            Outcome
	}{
		{"by its label", "", "web", enabled, ByPod, Patched},
		{"by its namespace's", "", "web", "", ByNamespace, Patched},
		{"without a label", "", "web", "", ByPod, OptedOut},
		{"out by its label, which wins", "", "web", disabled, ByNamespace, OptedOut},
		{"an invalid label", "", "web", `snug.dev/inject: "true"`, ByNamespace, OptedOut},
		{"an excluded namespace", "", "kube-system", enabled, ByPod, OptedOut},
		{"all, without a label", "inject: all", "web", "", ByNamespace, Patched},
		{"all, an invalid label", "inject: all", "web", `snug.dev/inject: "false"`, ByPod, OptedOut},
		{"all, an invalid label of its namespace", "inject: all", "web", `snug.dev/inject: "true"`, ByNamespace, OptedOut},
		{"all, an empty label", "inject: all", "web", `snug.dev/inject: ""`, ByNamespace, OptedOut},
		{"observed", "mode: observe", "web", "", ByNamespace, Observed},
		{"not observed", "mode: observe", "web", "", ByPod, OptedOut},
		{"all, out by its label", "inject: all", "web", disabled, ByPod, OptedOut},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Reviewer{Config: configured(t, c.config)}
			pod := podOf(t, c.labels, "containers: [{name: a, resources: {limits: {memory: 1Gi}}}]")
			now, outcome := fitted(t, r, c.namespace, c.by, pod)
			if line, notes := stored(now); outcome != c.want || outcome == OptedOut && (line != "a{}" || notes != nil) {
				t.Errorf("%s: %s, annotations %v", outcome, line, notes)
			}
		})
	}
}

func TestFitKnowing(t *testing.T) {
	program := func(minor int, blind bool) podpatch.Program {
		return podpatch.Program{State: podpatch.IsGo, Go: plan.Go{Minor: minor, Blind: blind}}
	}
	var asked []Subject
	r := &Reviewer{Config: configured(t, ""), Program: func(s Subject) podpatch.Program {
		asked = append(asked, s)
		return map[string]podpatch.Program{
			"old": program(22, true), "ancient": program(18, true), "new": program(26, false), "line": program(26, true), "other": {State: podpatch.NotGo},
		}[s.Container]
	}}
	limit := "resources: {limits: {memory: 512Mi, cpu: 2}}"
	spec := ""
	for _, name := range []string{"old", "ancient", "new", "line", "other", "unknown"} {
		spec += "{name: " + name + ", image: 'x:" + name + "', " + limit + "}, "
	}
	for labels, want := range map[string]string{
		enabled: "old{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=460MiB} ancient{GOMAXPROCS<limits.cpu/1} new{GOMEMLIMIT=460MiB} line{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=460MiB} other{} unknown{GOMEMLIMIT=460MiB}",
		oldGo:   "old{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=460MiB} ancient{GOMAXPROCS<limits.cpu/1} new{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=460MiB} line{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=460MiB} other{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=460MiB} unknown{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=460MiB}",
	} {
		pod := podOf(t, labels+", pod-template-hash: 5d8", "containers: ["+spec+"]")
		pod["metadata"].(object)["ownerReferences"] = []any{object{"kind": "Node", "name": "n"}, object{"kind": "ReplicaSet", "name": "web-5d8", "controller": true}}
		now, _ := fitted(t, r, "shop", ByPod, pod)
		if got, _ := stored(now); got != want {
			t.Errorf("\ngot  %s\nwant %s", got, want)
		}
	}
	if want := (Subject{"shop", "Deployment/web", "old", "x:old"}); asked[0] != want {
		t.Errorf("asked for %+v, want %+v", asked[0], want)
	}
	asked = nil
	pod := podOf(t, enabled+", rollouts-pod-template-hash: 5d8", "containers: [{name: old, image: 'x:old', "+limit+"}]")
	pod["metadata"].(object)["ownerReferences"] = []any{object{"kind": "ReplicaSet", "name": "web-5d8", "controller": true}}
	fitted(t, r, "shop", ByPod, pod)
	if want := (Subject{"shop", "Rollout/web", "old", "x:old"}); len(asked) == 0 || asked[0] != want {
		t.Errorf("asked for %+v, want %+v", asked, want)
	}
}

// TestFitReinvoked: other webhooks change the pod between two reviews.
func TestFitReinvoked(t *testing.T) {
	r := &Reviewer{Config: configured(t, "")}
	pod := podOf(t, enabled, "containers: [{name: a}]")
	pod, outcome := fitted(t, r, "web", ByPod, pod)
	if _, notes := stored(pod); outcome != Skipped || len(notes) != 1 {
		t.Fatalf("%s, annotations %v", outcome, notes)
	}
	// Another webhook adds a limit and a container.
	spec := pod["spec"].(object)
	spec["containers"].([]any)[0].(object)["resources"] = object{"limits": object{"memory": "1Gi"}}
	pod, outcome = fitted(t, r, "web", ByPod, pod)
	line, notes := stored(pod)
	if want := (object{policy.AddedAnnotation: "a GOMEMLIMIT=921MiB (pod-memory-share)"}); outcome != Patched || line != "a{GOMEMLIMIT=921MiB}" || !maps.Equal(notes, want) {
		t.Errorf("%s: %s, annotations %v", outcome, line, notes)
	}
	spec = pod["spec"].(object)
	spec["containers"] = append(spec["containers"].([]any), object{"name": "b", "resources": object{"limits": object{"memory": "256Mi"}}})
	pod, _ = fitted(t, r, "web", ByPod, pod)
	line, notes = stored(pod)
	if want := "a GOMEMLIMIT=921MiB (pod-memory-share); b GOMEMLIMIT=230MiB (pod-memory-share)"; line != "a{GOMEMLIMIT=921MiB} b{GOMEMLIMIT=230MiB}" || notes[policy.AddedAnnotation] != want {
		t.Errorf("%s, annotations %v", line, notes)
	}
}

// TestFitCorrects: a value that was added is corrected after the limit has changed, and nothing
// else changes.
func TestFitCorrects(t *testing.T) {
	const given = "a GOMEMLIMIT=460MiB (pod-memory-share)"
	env := func(value string) string {
		return "env: [{name: A, value: b}, {name: GOMEMLIMIT, value: " + value + "}]"
	}
	for _, c := range []struct{ name, config, spec, before, want, said string }{
		{"more memory", "", "{name: a, " + env("460MiB") + ", resources: {limits: {memory: 1Gi}}}", given, "a{A=b GOMEMLIMIT=921MiB}", "added a GOMEMLIMIT=921MiB (pod-memory-share)"},
		{"less memory", "", "{name: a, " + env("460MiB") + ", resources: {limits: {memory: 64Mi}}}", given, "a{A=b GOMEMLIMIT=56MiB}", "added a GOMEMLIMIT=56MiB (pod-memory-share)"},
		{"the same", "", "{name: a, " + env("460MiB") + ", resources: {limits: {memory: 512Mi}}}", given, "a{A=b GOMEMLIMIT=460MiB}", "added " + given},
		{"too little memory", "", "{name: a, " + env("460MiB") + ", resources: {limits: {memory: 63Mi}}}", given, "a{A=b GOMEMLIMIT=460MiB}", "added " + given},
		{"another value in the annotation", "", "{name: a, " + env("461MiB") + ", resources: {limits: {memory: 1Gi}}}", given, "a{A=b GOMEMLIMIT=461MiB}", "skipped a GOMAXPROCS (pod-no-cpu-limit); a GOMEMLIMIT (pod-env-set)"},
		{"a copied annotation without the value", "", "{name: a, resources: {limits: {memory: 1Gi}}}", given, "a{GOMEMLIMIT=921MiB}", "added a GOMEMLIMIT=921MiB (pod-memory-share)"},
		{"a copied annotation, and nothing to add", "", "{name: a}", given, "a{}", "skipped a GOMAXPROCS (pod-no-cpu-limit); a GOMEMLIMIT (pod-no-memory-limit)"},
		{"a part that is true and one that is not", "", "{name: a, env: [{name: GOMAXPROCS, value: '2'}], resources: {limits: {memory: 1Gi}}}", "a GOMAXPROCS=2 (pod-procs-value); " + given,
			"a{GOMAXPROCS=2 GOMEMLIMIT=921MiB}", "added a GOMAXPROCS=2 (pod-procs-value); a GOMEMLIMIT=921MiB (pod-memory-share)"},
		{"true, and nothing to correct", "", "{name: a, env: [{name: GOMAXPROCS, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]}, {name: b}", given + "; a GOMAXPROCS (pod-procs-reference)",
			"a{GOMAXPROCS<limits.cpu/<nil>} b{}", "added a GOMAXPROCS (pod-procs-reference)"},
		{"another container in the annotation", "", "{name: ba, " + env("460MiB") + ", resources: {limits: {memory: 1Gi}}}", given, "ba{A=b GOMEMLIMIT=460MiB}", "skipped ba GOMAXPROCS (pod-no-cpu-limit); ba GOMEMLIMIT (pod-env-set)"},
		{"no annotation", "", "{name: a, " + env("460MiB") + ", resources: {limits: {memory: 1Gi}}}", "", "a{A=b GOMEMLIMIT=460MiB}", "skipped a GOMAXPROCS (pod-no-cpu-limit); a GOMEMLIMIT (pod-env-set)"},
		{"twice in one list", "", "{name: a, env: [{name: GOMEMLIMIT, value: 460MiB}, {name: GOMEMLIMIT, value: 460MiB}], resources: {limits: {memory: 1Gi}}}", given, "a{GOMEMLIMIT=921MiB GOMEMLIMIT=921MiB}", "added a GOMEMLIMIT=921MiB (pod-memory-share)"},
		{"with a new container", "", "{name: a, " + env("460MiB") + ", resources: {limits: {memory: 1Gi}}}, {name: b, resources: {limits: {memory: 1Gi}}}", "x y (z); " + given,
			"a{A=b GOMEMLIMIT=921MiB} b{GOMEMLIMIT=921MiB}", "added a GOMEMLIMIT=921MiB (pod-memory-share); b GOMEMLIMIT=921MiB (pod-memory-share)"},
		{"a value and a reference", "", "{name: a, env: [{name: GOMEMLIMIT, value: 460MiB, valueFrom: {resourceFieldRef: {resource: limits.memory}}}], resources: {limits: {memory: 1Gi}}}", given,
			"a{GOMEMLIMIT<limits.memory/<nil>}", "skipped a GOMAXPROCS (pod-no-cpu-limit); a GOMEMLIMIT (pod-env-set)"},
		{"with a new envFrom", "", "{name: a, " + env("460MiB") + ", envFrom: [{secretRef: {name: s}}], resources: {limits: {memory: 1Gi}}}", given, "a{A=b GOMEMLIMIT=460MiB}", "added " + given},
		{"observed", "mode: observe", "{name: a, " + env("460MiB") + ", resources: {limits: {memory: 1Gi}}}", given, "a{A=b GOMEMLIMIT=460MiB}", "added " + given + " observed a GOMEMLIMIT=921MiB (pod-memory-share)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Reviewer{Config: configured(t, c.config)}
			pod := podOf(t, enabled, "containers: ["+c.spec+"]")
			if c.before != "" {
				pod["metadata"].(object)["annotations"] = object{policy.AddedAnnotation: c.before}
			}
			now, _ := fitted(t, r, "web", ByPod, pod)
			line, notes := stored(now)
			var said []string
			for _, key := range slices.Sorted(maps.Keys(notes)) {
				said = append(said, strings.TrimPrefix(key, podpatch.Prefix)+" "+fmt.Sprint(notes[key]))
			}
			if line != c.want || strings.Join(said, " ") != c.said {
				t.Errorf("\ngot  %s, %s\nwant %s, %s", line, said, c.want, c.said)
			}
		})
	}
}

// TestFitBeside: the policies have added variables to the pod, or noted them, and the webhook does
// not contradict them.
func TestFitBeside(t *testing.T) {
	const given = "a GOMEMLIMIT=460MiB (pod-memory-share)"
	old := func(Subject) podpatch.Program {
		return podpatch.Program{State: podpatch.IsGo, Go: plan.Go{Minor: 22, Blind: true}}
	}
	const spec = "containers: [{name: a, env: [{name: GOMEMLIMIT, value: 460MiB}], resources: {limits: {memory: 512Mi, cpu: 2}}}]"
	for _, c := range []struct {
		name, config string
		program      func(Subject) podpatch.Program
		before       object
		want         string
		notes        object
	}{
		{"nothing left to add", "", nil, object{policy.AddedAnnotation: given}, "a{GOMEMLIMIT=460MiB}", object{policy.AddedAnnotation: given}},
		{"nothing left to add, and nothing added before", "", nil, object{policy.AddedAnnotation: given, policy.SkippedAnnotation: "x"}, "a{GOMEMLIMIT=460MiB}", object{policy.AddedAnnotation: given}},
		{"a program that is known by now", "", old, object{policy.AddedAnnotation: given, policy.SkippedAnnotation: "x"}, "a{GOMEMLIMIT=460MiB GOMAXPROCS<limits.cpu/1}", object{policy.AddedAnnotation: given + "; a GOMAXPROCS (pod-procs-reference)"}},
		{"observed, and nothing would be added any more", "mode: observe", nil, object{policy.ObservedAnnotation: given}, "a{GOMEMLIMIT=460MiB}", object{policy.SkippedAnnotation: "a GOMAXPROCS (pod-procs-follow); a GOMEMLIMIT (pod-env-set)"}},
		{"observed, and something else would be added", "mode: observe", old, object{policy.ObservedAnnotation: given, policy.SkippedAnnotation: "x"}, "a{GOMEMLIMIT=460MiB}", object{policy.ObservedAnnotation: "a GOMAXPROCS (pod-procs-reference)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Reviewer{Config: configured(t, c.config), Program: c.program}
			pod := podOf(t, enabled, spec)
			pod["metadata"].(object)["annotations"] = c.before
			now, _ := fitted(t, r, "web", ByPod, pod)
			if line, notes := stored(now); line != c.want || !maps.Equal(notes, c.notes) {
				t.Errorf("\ngot  %s, %v\nwant %s, %v", line, notes, c.want, c.notes)
			}
		})
	}
}

// TestFitAnnotationsFull: no annotation is added above the maximum size, which would block the pod; one of
// that size is.
func TestFitAnnotationsFull(t *testing.T) {
	const limited = "containers: [{name: a, resources: {limits: {memory: 1Gi}}}]"
	for _, c := range []struct{ name, config, spec, key, added string }{
		{"values", "", limited, policy.AddedAnnotation, "a GOMEMLIMIT=921MiB (pod-memory-share)"},
		{"values to observe", "mode: observe", limited, policy.ObservedAnnotation, "a GOMEMLIMIT=921MiB (pod-memory-share)"},
		{"reasons", "", "containers: [{name: a, env: [{name: GOMEMLIMIT, value: '1'}]}]", policy.SkippedAnnotation,
			"a GOMAXPROCS (pod-no-cpu-limit); a GOMEMLIMIT (pod-env-set)"},
	} {
		for over := -1; over <= 1; over++ {
			given := podOf(t, enabled, c.spec)
			room := pod.MaxAnnotations - len(c.key) - len(c.added) + over
			given["metadata"].(object)["annotations"] = object{"x": strings.Repeat("y", room-len(`x""`))}
			before, _ := stored(given)
			now, outcome := fitted(t, &Reviewer{Config: configured(t, c.config)}, "web", ByPod, given)
			after, notes := stored(now)
			if over > 0 && (len(notes) > 1 || after != before || outcome != Unchanged) || over <= 0 && notes[c.key] != c.added {
				t.Errorf("%s, %d bytes too many: %s after %s, %s, %.99v", c.name, over, after, before, outcome, notes[c.key])
			}
		}
	}
	// Removing one needs no room.
	const stale = "b GOMEMLIMIT=1MiB (pod-memory-share)"
	given := podOf(t, enabled, "containers: [{name: a}]")
	given["metadata"].(object)["annotations"] = object{policy.AddedAnnotation: stale,
		"x": strings.Repeat("y", pod.MaxAnnotations-len(policy.AddedAnnotation)-len(stale)-len(`""x""`))}
	now, _ := fitted(t, &Reviewer{Config: configured(t, "")}, "web", ByPod, given)
	if _, notes := stored(now); len(notes) != 1 {
		t.Errorf("%d annotations remain", len(notes))
	}
}

func TestUnreadable(t *testing.T) {
	r := &Reviewer{Config: configured(t, "")}
	pod := podOf(t, enabled, "containers: [{name: a, resources: {limits: {memory: 1Gi}}}]")
	good := string(question(t, "web", pod))
	for _, c := range []struct{ name, text, uid string }{
		{"nothing", "", ""},
		{"not JSON", "{", ""},
		{"truncated", good[:len(good)-5], ""},
		{"followed by more", good + "{}", "1"},
		{"null", "null", ""},
		{"a list", "[]", ""},
		{"no request", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, ""},
		{"another version", strings.Replace(good, "k8s.io/v1", "k8s.io/v1beta1", 1), "1"},
		{"another kind", strings.Replace(good, "AdmissionReview", "Pod", 1), "1"},
		{"invalid containers", strings.Replace(good, `"containers":[`, `"containers":[3,`, 1), "1"},
		{"a number for a limit", strings.Replace(good, `"1Gi"`, `1`, 1), "1"},
		{"no metadata", strings.Replace(good, `"metadata"`, `"meta"`, 1), "1"},
		{"no object", strings.Replace(good, `"object"`, `"subject"`, 1), "1"},
	} {
		text, outcome := r.Fit([]byte(c.text), ByPod)
		a := must(t, text, c.uid)
		if outcome != Unreadable || len(a.Response.Patch) > 0 || len(a.Response.Warnings) != 1 {
			t.Errorf("%s: %s, %s", c.name, outcome, text)
		}
	}
	for _, c := range []struct{ name, from, to string }{
		{"an update", `"CREATE"`, `"UPDATE"`},
		{"another resource", `"pods"`, `"nodes"`},
		{"another group", `"group":""`, `"group":"x"`},
		{"a subresource", `"uid"`, `"subResource":"status","uid"`},
	} {
		text, outcome := r.Fit([]byte(strings.Replace(good, c.from, c.to, 1)), ByPod)
		if a := must(t, text, "1"); outcome != Other || len(a.Response.Patch)+len(a.Response.Warnings) > 0 {
			t.Errorf("%s: %s, %s", c.name, outcome, text)
		}
	}
}
