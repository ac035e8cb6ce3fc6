// SPDX-License-Identifier: Apache-2.0

package review

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/lint"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
)

// configs vary every key that affects the decision.
var configs = []string{
	"", "inject: all\nmemory: 99%-100MiB\nround: floor\nminProcs: 2\nrequestFactor: 1.5\nenvFrom: add\nexclude: {namespaces: [web], containers: [b]}\n",
	"memory: 75%\nround: nearest\nrequestFactor: 0.3\nminProcs: 3\n",
}

// TestObserved: observe mode notes what enforce mode would add, in the same words, and changes
// nothing else.
func TestObserved(t *testing.T) {
	for i, text := range configs {
		enforcing, observing := &Reviewer{Config: configured(t, text)}, &Reviewer{Config: configured(t, "mode: observe\n"+text)}
		random := rand.New(rand.NewPCG(12, uint64(i)))
		seen := map[Outcome]int{}
		for range 200 {
			pod := randomPod(random)
			namespace, by := one(random, "web", "shop", "kube-system"), OptIn(random.IntN(2))
			given, done := fitted(t, enforcing, namespace, by, pod)
			_, want := stored(given)
			same, outcome := fitted(t, observing, namespace, by, pod)
			line, notes := stored(same)
			seen[outcome]++
			if done == Patched {
				done = Observed
				want = object{policy.ObservedAnnotation: want[policy.AddedAnnotation]}
			}
			before, _ := stored(pod)
			if outcome != done || line != before || !maps.Equal(notes, want) {
				t.Fatalf("configuration %d: %s of %s: %v, want %s, %v\n%s", i, outcome, line, notes, done, want, mustJSON(t, pod))
			}
		}
		if seen[Observed] < 20 || seen[Skipped] == 0 {
			t.Errorf("configuration %d: %v: hardly anything was tested", i, seen)
		}
	}
}

// TestLimitsChange: a value that was added is corrected after another webhook has changed the
// limit, unless the new limit gives no value.
func TestLimitsChange(t *testing.T) {
	for i, text := range configs {
		r := &Reviewer{Config: configured(t, text)}
		random := rand.New(rand.NewPCG(13, uint64(i)))
		corrected := 0
		for range 400 {
			pod, _ := fitted(t, r, "shop", ByNamespace, randomPod(random))
			_, notes := stored(pod)
			said := fmt.Sprint(notes[policy.AddedAnnotation])
			given := map[string]string{} // the GOMEMLIMIT of containers
			for part := range strings.SplitSeq(said, "; ") {
				if m := givenSize.FindStringSubmatch(part); m != nil {
					given[m[1]] = m[2]
				}
			}
			spec := pod["spec"].(object)
			for _, of := range []string{"containers", "initContainers"} {
				all, _ := spec[of].([]any)
				for _, c := range all {
					if random.IntN(2) == 0 {
						c.(object)["resources"] = randomResources(random)
					}
				}
			}
			// The expected values are those of a pod without variables.
			bare := manifestWithout(t, pod, given)
			fresh, _ := fitted(t, r, "shop", ByNamespace, bare)
			now, outcome := fitted(t, r, "shop", ByNamespace, pod)
			_, notes = stored(now)
			for name, value := range given {
				want := sizeOf(fresh, name)
				if want == "" {
					want = value // the new limit gives no value
				}
				if want != value {
					corrected++
					if outcome != Patched {
						t.Errorf("outcome %s", outcome)
					}
				}
				part := name + " GOMEMLIMIT=" + want + " (pod-memory-share)"
				if text := fmt.Sprint(notes[policy.AddedAnnotation]); sizeOf(now, name) != want || strings.Count("; "+text+"; ", "; "+part+"; ") != 1 || strings.Count(text, name+" GOMEMLIMIT=") != 1 {
					t.Fatalf("configuration %d: %s has %s, want %s; it says %s\n%s", i, name, sizeOf(now, name), want, text, mustJSON(t, pod))
				}
			}
		}
		if corrected < 30 {
			t.Errorf("configuration %d: %d corrected: hardly anything was tested", i, corrected)
		}
	}
}

var givenSize = regexp.MustCompile(`^(\w+) GOMEMLIMIT=(\w+) \(pod-memory-share\)$`)

// sizeOf returns the GOMEMLIMIT of a container, "" = none.
func sizeOf(pod object, name string) string {
	line, _ := stored(pod)
	_, after, _ := strings.Cut(" "+line, " "+name+"{")
	all, _, _ := strings.Cut(after, "}")
	for e := range strings.FieldsSeq(all) {
		if value, ok := strings.CutPrefix(e, "GOMEMLIMIT="); ok {
			return value
		}
	}
	return ""
}

// manifestWithout returns a pod without annotations and without the GOMEMLIMIT of some
// containers.
func manifestWithout(t *testing.T, pod object, given map[string]string) object {
	t.Helper()
	var o object
	if err := json.Unmarshal(mustJSON(t, pod), &o); err != nil {
		t.Fatal(err)
	}
	delete(o["metadata"].(object), "annotations")
	for _, of := range []string{"containers", "initContainers"} {
		all, _ := o["spec"].(object)[of].([]any)
		for _, c := range all {
			c := c.(object)
			if env, _ := c["env"].([]any); given[c["name"].(string)] != "" {
				c["env"] = slices.DeleteFunc(env, func(e any) bool { return e.(object)["name"] == "GOMEMLIMIT" })
			}
		}
	}
	return o
}

// TestAsPolicies: without facts of programs, a pod gets what policy.Decide gives. e2e/cluster/kube
// compares that with the policies on a real API server.
func TestAsPolicies(t *testing.T) {
	for i, text := range configs {
		r := &Reviewer{Config: configured(t, text)}
		random := rand.New(rand.NewPCG(11, uint64(i)))
		given := 0
		for range 400 {
			pod := randomPod(random)
			namespace := one(random, "web", "shop", "kube-system")
			by := OptIn(random.IntN(2))
			want, n := expected(t, r.Config, namespace, by, pod)
			given += n
			now, _ := fitted(t, r, namespace, by, pod)
			if got, _ := stored(now); got != want {
				t.Fatalf("configuration %d\ngot  %s\nwant %s\n%s", i, got, want, mustJSON(t, pod))
			}
		}
		if given < 150 {
			t.Errorf("configuration %d: %d things given: hardly anything was tested", i, given)
		}
	}
}

// expected returns a pod as package lint reads it and package policy decides on it, and the number
// of things it is given.
func expected(t *testing.T, c *policy.Config, namespace string, by OptIn, pod object) (string, int) {
	t.Helper()
	text := mustJSON(t, object{"apiVersion": "v1", "kind": "Pod", "metadata": pod["metadata"], "spec": pod["spec"]})
	file := manifest.Parse("pod.yaml", text)
	about := policy.Pod{Namespace: namespace, NamespaceLabels: map[string]string{}}
	if by == ByNamespace {
		about.NamespaceLabels[policy.InjectLabel] = policy.Enabled
	}
	n := 0
	patches := map[string]podpatch.Patch{}
	for _, d := range lint.Containers([]*manifest.File{file}) {
		about.Labels = d.Pod.Labels()
		if in, _ := c.OptedIn(&about); in {
			patches[d.Container.Name] = c.Decide(&about, d.Container.Name, d.Facts)
		}
	}
	var now object
	if err := json.Unmarshal(text, &now); err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{"containers", "initContainers"} {
		all, _ := now["spec"].(object)[of].([]any)
		for _, each := range all {
			each := each.(object)
			p := patches[each["name"].(string)]
			n += len(p.Env) + len(p.Resize)
			env, _ := each["env"].([]any)
			for _, e := range p.Env {
				v := object{"name": e.Name, "value": e.Value}
				if e.Resource != "" {
					v = object{"name": e.Name, "valueFrom": object{"resourceFieldRef": object{"resource": e.Resource, "divisor": "1"}}}
				}
				env = append(env, v)
			}
			each["env"] = env
			resize, _ := each["resizePolicy"].([]any)
			for _, res := range p.Resize {
				resize = append(resize, object{"resourceName": res, "restartPolicy": "RestartContainer"})
			}
			each["resizePolicy"] = resize
		}
	}
	line, _ := stored(now)
	return line, n
}

func one[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func randomPod(r *rand.Rand) object {
	labels := object{}
	for _, l := range []string{policy.InjectLabel, policy.ProcsLabel, policy.RestartLabel} {
		if r.IntN(2) == 0 {
			labels[l] = one(r, "enabled", "enabled", "enabled", "disabled", "true")
		}
	}
	spec := object{}
	if r.IntN(3) == 0 {
		spec["restartPolicy"] = one(r, "Always", "OnFailure", "Never")
	}
	if r.IntN(3) == 0 {
		spec["resources"] = randomResources(r)
	}
	switch r.IntN(12) {
	case 0:
		spec["os"] = object{"name": one(r, "linux", "windows")}
	case 1:
		spec["nodeSelector"] = object{"disk": "ssd", "kubernetes.io/os": one(r, "linux", "windows")}
	}
	name := 'a'
	fill := func(n int, init bool) []any {
		var all []any
		for range n {
			c := object{"name": string(name), "image": "x", "resources": randomResources(r)}
			name++
			if init && r.IntN(2) == 0 {
				c["restartPolicy"] = "Always"
			}
			if r.IntN(3) == 0 {
				var env []any
				for _, v := range []string{"GOMAXPROCS", "A", "GOMEMLIMIT"} {
					if r.IntN(3) == 0 {
						env = append(env, object{"name": v, "value": one(r, "1", "off", "2GiB")})
					}
				}
				c["env"] = env
			}
			if r.IntN(6) == 0 {
				c["envFrom"] = []any{object{"secretRef": object{"name": "s"}}}
			}
			if r.IntN(4) == 0 {
				c["resizePolicy"] = []any{object{"resourceName": one(r, "cpu", "memory"), "restartPolicy": one(r, "NotRequired", "RestartContainer")}}
			}
			all = append(all, c)
		}
		return all
	}
	spec["containers"] = fill(1+r.IntN(3), false)
	if n := r.IntN(3); n > 0 {
		spec["initContainers"] = fill(n, true)
	}
	return object{"metadata": object{"name": "p", "labels": labels}, "spec": spec}
}

func randomResources(r *rand.Rand) object {
	o := object{}
	for _, of := range []string{"limits", "requests"} {
		amounts := object{}
		if r.IntN(3) > 0 {
			amounts["memory"] = one(r, "0", "63Mi", "64Mi", "100Mi", "512Mi", "1Gi", "1.5Gi", "1e9", "128974848000m", "4G", "129M", fmt.Sprint(r.Int64N(1<<31)))
		}
		if r.IntN(3) > 0 {
			amounts["cpu"] = one(r, "0", "1m", "250m", "1", "1500m", "2", "2.5", "64", "999999999n", fmt.Sprintf("%dm", r.IntN(20000)))
		}
		o[of] = amounts
	}
	return o
}

// owned returns a pod of a ReplicaSet of the Deployment web.
func owned(p object) object {
	meta := p["metadata"].(object)
	meta["ownerReferences"] = []any{object{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d4f7c9b6d", "uid": "1", "controller": true}}
	labels, _ := meta["labels"].(object)
	if labels == nil {
		labels = object{}
		meta["labels"] = labels
	}
	labels["pod-template-hash"] = "5d4f7c9b6d"
	return p
}

// FuzzFit: an API server accepts the answer to any review, and the patch applies, so the pod is
// never refused.
func FuzzFit(f *testing.F) {
	random := rand.New(rand.NewPCG(5, 5))
	for range 20 {
		pod := randomPod(random)
		f.Add(question(f, "web", pod))
		f.Add(question(f, "web", owned(randomPod(random))))
		// A value that was added, and a limit that has changed since.
		pod, _ = fitted(f, &Reviewer{Config: configured(f, "")}, "shop", ByNamespace, pod)
		pod["spec"].(object)["containers"].([]any)[0].(object)["resources"] = object{"limits": object{"memory": "2Gi"}}
		f.Add(question(f, "web", pod))
	}
	for _, text := range recorded(f) {
		f.Add(text)
	}
	f.Add([]byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		// Like a client that matches names exactly.
		asked := func() object {
			var all object
			_ = json.Unmarshal(text, &all) // nothing is patched then
			request, _ := all["request"].(object)
			return request
		}
		config := configs[len(text)%len(configs)]
		if len(text)%2 == 1 {
			config = "mode: observe\n" + config
		}
		r := &Reviewer{Config: configured(t, config)}
		for _, by := range []OptIn{ByPod, ByNamespace} {
			got, _ := r.Fit(text, by)
			if again, _ := r.Fit(text, by); !bytes.Equal(got, again) {
				t.Fatalf("two answers: %s\n%s", got, again)
			}
			var a answered
			if err := json.Unmarshal(got, &a); err != nil || a.Response == nil || !a.Response.Allowed {
				t.Fatalf("%v: %s", err, got)
			}
			if len(a.Response.Patch) == 0 {
				continue
			}
			request := asked()
			if uid, _ := request["uid"].(string); a.Response.UID != uid {
				t.Fatalf("patched: %s", got)
			}
			if _, err := apply(request["object"], a.Response.Patch); err != nil {
				t.Fatalf("%v: %s", err, a.Response.Patch)
			}
		}
	})
}

// recorded returns reviews of a real API server, by name. e2e/cluster/webhook records them.
func recorded(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded question, %v", err)
	}
	all := map[string][]byte{}
	for _, f := range files {
		if all[strings.TrimSuffix(filepath.Base(f), ".json")], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestRecorded(t *testing.T) {
	r := &Reviewer{Config: configured(t, "")}
	for name, want := range map[string]string{
		"bare": "a GOMEMLIMIT=460MiB (pod-memory-share)",
		"web":  "cart GOMAXPROCS (pod-procs-reference); cart GOMEMLIMIT=460MiB (pod-memory-share)",
		"mesh": "cart GOMAXPROCS (pod-procs-reference); cart GOMEMLIMIT=460MiB (pod-memory-share); mesh-init GOMAXPROCS (pod-procs-reference); mesh-init GOMEMLIMIT=921MiB (pod-memory-share); vault-agent GOMAXPROCS (pod-procs-reference); vault-agent GOMEMLIMIT=115MiB (pod-memory-share)",
		"many": "c9 GOMEMLIMIT=460MiB (pod-memory-share)",
		"out":  "",
	} {
		question := recorded(t)[name]
		var q struct{ Request struct{ UID string } }
		if err := json.Unmarshal(question, &q); err != nil {
			t.Fatal(err)
		}
		text, outcome := r.Fit(question, ByPod)
		a := must(t, text, q.Request.UID)
		if said := string(a.Response.Patch); outcome != Patched && want != "" || !strings.Contains(said, want) || want == "" && said != "" {
			t.Errorf("%s: %s, %s", name, outcome, said)
		}
	}
	if text, outcome := r.Fit(recorded(t)["resize"], ByPod); outcome != Other {
		t.Errorf("resize: %s, %s", outcome, text)
	}
}

func BenchmarkFit(b *testing.B) {
	r := &Reviewer{Config: configured(b, "")}
	for name, question := range recorded(b) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(question)))
			b.ReportAllocs()
			for b.Loop() {
				r.Fit(question, ByPod)
			}
		})
	}
}
