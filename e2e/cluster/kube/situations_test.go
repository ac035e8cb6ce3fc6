// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// byDefault: an opted-in container gets a GOMEMLIMIT of nine tenths of its limit.
func (p *policies) byDefault(t *testing.T) {
	p.apply(t, "")
	const plain = `containers: [{name: a, image: x, resources: {limits: {memory: 512Mi, cpu: 1500m}}}]`
	p.check(t, []situation{
		{"a namespace that is opted in", in, "", plain, "a{GOMEMLIMIT=460MiB}", nil},
		{"a namespace without a label", neutral, "", plain, "a{}", nil},
		{"a namespace that is opted out", out, "", plain, "a{}", nil},
		{"an excluded namespace, opted in", system, "", plain, "a{}", nil},
		{"an excluded namespace, a pod opted in", system, "inject=enabled", plain, "a{}", nil},
		{"a pod opted in", neutral, "inject=enabled", plain, "a{GOMEMLIMIT=460MiB}", nil},
		{"a pod opted in where its namespace is out", out, "inject=enabled", plain, "a{GOMEMLIMIT=460MiB}", nil},
		{"a pod opted out where its namespace is in", in, "inject=disabled", plain, "a{}", nil},
		{"an invalid label", in, "inject=perhaps", plain, "a{}", []string{"snug.dev/inject=perhaps"}},
		{"an invalid label for a program that needs GOMAXPROCS", in, "gomaxprocs=true", plain, "a{GOMEMLIMIT=460MiB}", []string{"snug.dev/gomaxprocs=true"}},
		{"a program that needs GOMAXPROCS", in, "gomaxprocs=enabled", plain, "a{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=460MiB}", nil},
		{"a program that needs GOMAXPROCS, without a CPU limit", in, "gomaxprocs=enabled",
			`containers: [{name: a, image: x, resources: {limits: {memory: 512Mi}, requests: {cpu: 2}}}]`, "a{GOMAXPROCS=4 GOMEMLIMIT=460MiB}", nil},
		{"any program, with a small CPU request and no limit", in, "", `containers: [{name: a, image: x, resources: {requests: {cpu: 10m}}}]`, "a{GOMAXPROCS=2}", nil},
		{"one core, which a reference would make 1", in, "gomaxprocs=enabled restart-on-resize=enabled", `containers: [{name: a, image: x, resources: {limits: {cpu: 1}}}]`, "a{GOMAXPROCS=2}", nil},
		{"half a core", in, "gomaxprocs=enabled", `containers: [{name: a, image: x, resources: {limits: {cpu: 500m}}}]`, "a{GOMAXPROCS<limits.cpu/1}", nil},
		{"Windows by its os", in, "gomaxprocs=enabled", "os: {name: windows}, " + plain, "a{}", nil},
		{"Windows by its nodes", in, "gomaxprocs=enabled", "nodeSelector: {kubernetes.io/os: windows}, " + plain, "a{}", nil},
		{"Linux", in, "", "os: {name: linux}, nodeSelector: {kubernetes.io/os: linux}, " + plain, "a{GOMEMLIMIT=460MiB}", nil},
		{"no limits", in, "gomaxprocs=enabled", `containers: [{name: a, image: x}]`, "a{}", nil},

		{"variables already set", in, "gomaxprocs=enabled",
			`containers: [{name: a, image: x, env: [{name: GOMAXPROCS, value: "3"}, {name: A, value: b}, {name: GOMEMLIMIT, value: 100MiB}], resources: {limits: {memory: 512Mi, cpu: 1500m}}}]`,
			"a{GOMAXPROCS=3 A=b GOMEMLIMIT=100MiB}", nil},
		{"one of them already set", in, "gomaxprocs=enabled",
			`containers: [{name: a, image: x, env: [{name: GOMEMLIMIT, value: "off"}], resources: {limits: {memory: 512Mi, cpu: 1500m}}}]`,
			"a{GOMEMLIMIT=off GOMAXPROCS<limits.cpu/1}", nil},
		{"a variable without a value", in, "",
			`containers: [{name: a, image: x, env: [{name: GOMEMLIMIT}], resources: {limits: {memory: 512Mi}}}]`, "a{GOMEMLIMIT=<nil>}", nil},
		{"other variables stay before", in, "",
			`containers: [{name: a, image: x, env: [{name: A, value: b}, {name: GOGC, value: "50"}], resources: {limits: {memory: 512Mi}}}]`,
			"a{A=b GOGC=50 GOMEMLIMIT=460MiB}", nil},
		{"an empty env", in, "", `containers: [{name: a, image: x, env: [], resources: {limits: {memory: 512Mi}}}]`, "a{GOMEMLIMIT=460MiB}", nil},
		{"an envFrom that may set it", in, "gomaxprocs=enabled",
			`containers: [{name: a, image: x, envFrom: [{configMapRef: {name: c}}], resources: {limits: {memory: 512Mi, cpu: 1}}}]`, "a{}", nil},
		{"an envFrom beside a variable", in, "",
			`containers: [{name: a, image: x, env: [{name: A, value: b}], envFrom: [{secretRef: {name: c}}], resources: {limits: {memory: 512Mi}}}]`, "a{A=b}", nil},

		{"containers of every kind", in, "",
			`initContainers: [{name: i, image: x, resources: {limits: {memory: 256Mi}}}, {name: s, image: x, restartPolicy: Always, env: [{name: A, value: b}], resources: {limits: {memory: 64Mi}}}],
       containers: [{name: a, image: x}, {name: b, image: x, resources: {limits: {memory: 1Gi}}}, {name: c, image: x, resources: {limits: {memory: 512Mi}}}]`,
			"i{GOMEMLIMIT=230MiB} s{A=b GOMEMLIMIT=56MiB} a{} b{GOMEMLIMIT=921MiB} c{GOMEMLIMIT=460MiB}", nil},
		{"a LimitRange's limits", limited, "gomaxprocs=enabled",
			`initContainers: [{name: i, image: x}], containers: [{name: a, image: x}, {name: b, image: x, resources: {limits: {memory: 1Gi}}}]`,
			"i{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=270MiB} a{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=270MiB} b{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=921MiB}", nil},
		{"a pod's limits and one container", in, "gomaxprocs=enabled",
			`resources: {limits: {memory: 1Gi, cpu: 2}}, initContainers: [{name: i, image: x}], containers: [{name: a, image: x}]`,
			"i{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=921MiB} a{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=921MiB}", nil},
		{"a pod's limits that containers share", in, "",
			`resources: {limits: {memory: 1Gi, cpu: 2}}, containers: [{name: a, image: x}, {name: b, image: x, resources: {limits: {memory: 512Mi}}}]`, "a{} b{GOMEMLIMIT=460MiB}", nil},
		{"a pod's limits that a sidecar shares", in, "",
			`resources: {limits: {memory: 1Gi}}, initContainers: [{name: s, image: x, restartPolicy: Always}], containers: [{name: a, image: x}]`, "s{} a{}", nil},
		{"a pod's empty resources", in, "", `resources: {}, containers: [{name: a, image: x, resources: {limits: {memory: 512Mi}}}]`, "a{GOMEMLIMIT=460MiB}", nil},

		{"thousandths of a byte", in, "", memory("128974848000m"), "a{GOMEMLIMIT=110MiB}", nil},
		{"a fraction of a suffix", in, "", memory("0.5Gi"), "a{GOMEMLIMIT=460MiB}", nil},
		{"a fraction of a byte", in, "", memory("0.1Gi"), "a{GOMEMLIMIT=92MiB}", nil},
		{"half a byte", in, "", memory("123456789.5"), "a{GOMEMLIMIT=105MiB}", nil},
		{"an exponent", in, "", memory("1e9"), "a{GOMEMLIMIT=858MiB}", nil},
		{"an exponent that is no multiple of 3", in, "", memory("4E8"), "a{GOMEMLIMIT=343MiB}", nil},
		{"powers of ten", in, "", memory("500M"), "a{GOMEMLIMIT=429MiB}", nil},
		{"a small limit", in, "", memory("67108863"), "a{}", nil},
		{"the smallest limit", in, "", memory("64Mi"), "a{GOMEMLIMIT=56MiB}", nil},
		{"where a tenth exceeds 8 MiB", in, "", memory("90Mi"), "a{GOMEMLIMIT=81MiB}", nil},
		{"almost zero", in, "", memory("100n"), "a{}", nil},
		{"zero", in, "", memory("0"), "a{}", nil},
		{"more than int64", in, "gomaxprocs=enabled", memory("100E"), "a{}", nil},
		{"the largest number", in, "", memory("9223372036854775807"), "a{}", nil},

		{"a restart", in, "gomaxprocs=enabled restart-on-resize=enabled", plain, "a{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=460MiB cpu:RestartContainer}", nil},
		{"a restart only for what was added", in, "restart-on-resize=enabled", plain, "a{GOMEMLIMIT=460MiB}", nil},
		{"nothing to restart for", in, "restart-on-resize=enabled", `containers: [{name: a, image: x, resources: {limits: {cpu: 1}}}]`, "a{}", nil},
		{"a restart of a pod that never restarts", in, "restart-on-resize=enabled", plain + ", restartPolicy: Never", "a{GOMEMLIMIT=460MiB}", nil},
		{"a restart of a pod that restarts on failure", in, "restart-on-resize=enabled", plain + ", restartPolicy: OnFailure", "a{GOMEMLIMIT=460MiB}", nil},
		{"an existing resizePolicy", in, "gomaxprocs=enabled restart-on-resize=enabled",
			`containers: [{name: a, image: x, resizePolicy: [{resourceName: memory, restartPolicy: NotRequired}], resources: {limits: {memory: 512Mi, cpu: 1500m}}}]`,
			"a{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=460MiB memory:NotRequired cpu:RestartContainer}", nil},
		{"a restart of init containers and sidecars", in, "restart-on-resize=enabled",
			`initContainers: [{name: i, image: x, resources: {limits: {memory: 256Mi}}}, {name: s, image: x, restartPolicy: Always, resources: {limits: {memory: 256Mi}}}], containers: [{name: a, image: x}]`,
			"i{GOMEMLIMIT=230MiB} s{GOMEMLIMIT=230MiB} a{}", nil},
		{"a sidecar in a pod that never restarts", in, "restart-on-resize=enabled",
			`restartPolicy: Never, initContainers: [{name: s, image: x, restartPolicy: Always, resources: {limits: {memory: 256Mi}}}], containers: [{name: a, image: x}]`,
			"s{GOMEMLIMIT=230MiB} a{}", nil},

		{"a size that Go cannot parse", neutral, "", withEnv("GOMEMLIMIT", "512Mi"), "a{GOMEMLIMIT=512Mi}", []string{"gomemlimit-malformed"}},
		{"a share", neutral, "", withEnv("GOMEMLIMIT", "90%"), "a{GOMEMLIMIT=90%}", []string{"gomemlimit-malformed"}},
		{"a size of Go", neutral, "", withEnv("GOMEMLIMIT", "400MiB"), "a{GOMEMLIMIT=400MiB}", nil},
		{"a size filled in later", neutral, "", withEnv("GOMEMLIMIT", "$(A)MiB"), "a{GOMEMLIMIT=$(A)MiB}", nil},
		{"the whole limit", neutral, "", withEnv("GOMEMLIMIT", "1GiB"), "a{GOMEMLIMIT=1GiB}", []string{"gomemlimit-at-limit"}},
		{"a reference to the whole limit", neutral, "",
			`containers: [{name: a, image: x, env: [{name: GOMEMLIMIT, valueFrom: {resourceFieldRef: {resource: limits.memory}}}], resources: {limits: {memory: 1Gi}}}]`,
			"a{GOMEMLIMIT<limits.memory/0}", []string{"gomemlimit-at-limit"}},
		{"a reference to the whole limit, in bytes", neutral, "",
			`containers: [{name: a, image: x, env: [{name: GOMEMLIMIT, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1}}}], resources: {limits: {memory: 1Gi}}}]`,
			"a{GOMEMLIMIT<limits.memory/1}", []string{"gomemlimit-at-limit"}},
		{"mebibytes counted as bytes", neutral, "",
			`containers: [{name: a, image: x, env: [{name: GOMEMLIMIT, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}], resources: {limits: {memory: 1Gi}}}]`,
			"a{GOMEMLIMIT<limits.memory/1Mi}", []string{"gomemlimit-divisor"}},
		{"thousandths counted as Ps", neutral, "",
			`containers: [{name: a, image: x, env: [{name: GOMAXPROCS, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}}], resources: {limits: {cpu: 1}}}]`,
			"a{GOMAXPROCS<limits.cpu/1m}", []string{"gomaxprocs-divisor"}},
		{"a number that Go ignores", neutral, "", withEnv("GOMAXPROCS", "1500m"), "a{GOMAXPROCS=1500m}", []string{"gomaxprocs-malformed"}},
		{"no Ps", neutral, "", withEnv("GOMAXPROCS", "0"), "a{GOMAXPROCS=0}", []string{"gomaxprocs-malformed"}},
		{"two mistakes", neutral, "",
			`containers: [{name: a, image: x, env: [{name: GOMAXPROCS, value: "1.5"}, {name: GOMEMLIMIT, value: 1G}]}]`,
			"a{GOMAXPROCS=1.5 GOMEMLIMIT=1G}", []string{"gomemlimit-malformed", "gomaxprocs-malformed"}},
		{"a mistake in an init container", neutral, "",
			`initContainers: [{name: i, image: x, env: [{name: GOMEMLIMIT, value: 1G}]}], containers: [{name: a, image: x}]`, "i{GOMEMLIMIT=1G} a{}", []string{"i: GOMEMLIMIT=1G"}},
		{"a mistake in a namespace opted out", out, "", withEnv("GOMEMLIMIT", "512Mi"), "a{GOMEMLIMIT=512Mi}", nil},
		{"a mistake in an excluded namespace", system, "", withEnv("GOMEMLIMIT", "512Mi"), "a{GOMEMLIMIT=512Mi}", nil},
	})
	t.Run("workloads", p.workloads)
	t.Run("annotated", p.annotated)
}

func memory(limit string) string {
	return `containers: [{name: a, image: x, resources: {limits: {memory: "` + limit + `"}}}]`
}

func withEnv(name, value string) string {
	return `containers: [{name: a, image: x, env: [{name: ` + name + `, value: "` + value + `"}], resources: {limits: {memory: 1Gi, cpu: 2}}}]`
}

// workloads: policies check workloads when they are created and changed, but not the pods that they
// create.
func (p *policies) workloads(t *testing.T) {
	const template = `metadata: {labels: {app: x}}, spec: {restartPolicy: RESTART, containers: [{name: a, image: x, env: [{name: GOMEMLIMIT, value: VALUE}]}]}`
	for _, w := range []struct{ kind, collection, spec, restart string }{
		{"ReplicationController", "/api/v1/namespaces/neutral/replicationcontrollers", "selector: {app: x}, template: {TEMPLATE}", "Always"},
		{"Deployment", "/apis/apps/v1/namespaces/neutral/deployments", "selector: {matchLabels: {app: x}}, template: {TEMPLATE}", "Always"},
		{"ReplicaSet", "/apis/apps/v1/namespaces/neutral/replicasets", "selector: {matchLabels: {app: x}}, template: {TEMPLATE}", "Always"},
		{"DaemonSet", "/apis/apps/v1/namespaces/neutral/daemonsets", "selector: {matchLabels: {app: x}}, template: {TEMPLATE}", "Always"},
		{"StatefulSet", "/apis/apps/v1/namespaces/neutral/statefulsets", "serviceName: x, selector: {matchLabels: {app: x}}, template: {TEMPLATE}", "Always"},
		{"Job", "/apis/batch/v1/namespaces/neutral/jobs", "template: {TEMPLATE}", "Never"},
		{"CronJob", "/apis/batch/v1/namespaces/neutral/cronjobs", "schedule: 0 0 * * *, jobTemplate: {spec: {template: {TEMPLATE}}}", "Never"},
	} {
		t.Run(w.kind, func(t *testing.T) {
			object := func(value string) string {
				text := fmt.Sprintf("metadata: {name: x}\nspec: {%s}\n", w.spec)
				return strings.NewReplacer("RESTART", w.restart, "VALUE", value).Replace(strings.ReplaceAll(text, "TEMPLATE", template))
			}
			if said := complaints(Must(t, p.Create(t, w.collection+"?dryRun=All", object("400MiB")))); len(said) > 0 {
				t.Errorf("a correct one: %q", said)
			}
			a := Must(t, p.Create(t, w.collection, object("400MB")))
			t.Cleanup(func() { p.Delete(t, w.collection+"/x") })
			if said := complaints(a); len(said) != 1 || !strings.Contains(said[0], "gomemlimit-malformed") {
				t.Errorf("created: %q", said)
			}
			changed := Must(t, p.Patch(t, w.collection+"/x", Object{"metadata": Object{"labels": Object{"a": "b"}}}))
			if said := complaints(changed); len(said) > 0 {
				t.Errorf("a change of labels: %q", said)
			}
		})
	}
	made := strings.Replace(wrong, "labels:", "ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: u, controller: true}], labels:", 1)
	if said := complaints(Must(t, p.Create(t, "/api/v1/namespaces/neutral/pods?dryRun=All", made))); len(said) > 0 {
		t.Errorf("a pod of a ReplicaSet: %q", said)
	}
}

// annotated: a pod has an annotation with what it was given and why, and keeps its other
// annotations. An update gives an existing pod nothing, because its env is immutable and a policy
// that changed it would cause the update to be refused.
func (p *policies) annotated(t *testing.T) {
	const pods = "/api/v1/namespaces/in/pods"
	pod := `metadata: {name: annotated, annotations: {b: c}, labels: {snug.dev/gomaxprocs: enabled}}
spec: {containers: [{name: a, image: x, resources: {limits: {memory: 512Mi, cpu: 2}}}, {name: b, image: x}]}`
	a := Must(t, p.Create(t, pods, pod))
	t.Cleanup(func() { p.Delete(t, pods+"/annotated") })
	if got, want := added(a.Object), "a GOMAXPROCS (pod-procs-reference); a GOMEMLIMIT=460MiB (pod-memory-share)"; got != want {
		t.Errorf("annotation %q, want %q", got, want)
	}
	if got := a.Object["metadata"].(Object)["annotations"].(Object)["b"]; got != "c" {
		t.Errorf("the pod's own annotation is %v", got)
	}

	// Copied from another pod: the true part is corrected, the other one is removed.
	twin := `metadata: {name: copied, annotations: {snug.dev/added: "a GOMEMLIMIT=1MiB (pod-memory-share); b GOMEMLIMIT=1MiB (pod-memory-share)"}}
spec: {containers: [{name: a, image: x, env: [{name: GOMEMLIMIT, value: 1MiB}], resources: {limits: {memory: 512Mi}}}, {name: b, image: x}]}`
	a = Must(t, p.Create(t, pods+"?dryRun=All", twin))
	if got, want := added(a.Object), "a GOMEMLIMIT=460MiB (pod-memory-share)"; got != want || stored(a.Object) != "a{GOMEMLIMIT=460MiB} b{}" {
		t.Errorf("a copy: %s, annotation %q, want %q", stored(a.Object), got, want)
	}

	a = Must(t, p.Create(t, pods+"?dryRun=All", strings.NewReplacer("annotated", "nothing", "memory: 512Mi, cpu: 2", "memory: 63Mi").Replace(pod)))
	if got, want := note(a.Object, "skipped"), "a GOMAXPROCS (pod-no-cpu-limit); a GOMEMLIMIT (pod-memory-small); b GOMAXPROCS (pod-no-cpu-limit); b GOMEMLIMIT (pod-no-memory-limit)"; got != want || added(a.Object) != "" {
		t.Errorf("nothing to add: %q, want %q", got, want)
	}

	// With no room for the annotation, the pod gets nothing, so that the server does not refuse it.
	full := strings.NewReplacer("annotated", "full", "b: c", "b: "+strings.Repeat("c", 262100)).Replace(pod)
	a = Must(t, p.Create(t, pods+"?dryRun=All", full))
	if got := stored(a.Object); got != "a{} b{}" || added(a.Object) != "" {
		t.Errorf("no room for the annotation: %s %q", got, added(a.Object))
	}
	// At which size that begins, the tool and the server agree to the byte.
	seen := map[bool]bool{}
	for _, size := range []int{261900, 261920, 261921, 261922, 261923, 261924, 261925, 261940} {
		near := strings.NewReplacer("annotated", "near", "b: c", "b: "+strings.Repeat("c", size), "{snug.dev/gom", "{snug.dev/inject: enabled, snug.dev/gom").Replace(pod)
		a = Must(t, p.Create(t, pods+"?dryRun=All", near))
		file := filepath.Join(t.TempDir(), "pod.yaml")
		if err := os.WriteFile(file, []byte("apiVersion: v1\nkind: Pod\n"+near), 0o644); err != nil {
			t.Fatal(err)
		}
		var says struct{ Containers []given }
		if err := json.Unmarshal([]byte(p.tool(t, "policy", "--json", "--try", file)), &says); err != nil || len(says.Containers) != 2 {
			t.Fatalf("%v, %+v", err, says)
		}
		gives := len(says.Containers[0].Env) > 0
		if gives != (added(a.Object) != "") {
			t.Errorf("annotations of %d bytes: the tool says %t, the server stores %s", size, gives, stored(a.Object))
		}
		seen[gives] = true
	}
	if len(seen) != 2 {
		t.Errorf("the bound is elsewhere: %v", seen)
	}

	out := strings.NewReplacer("annotated", "changed", "gomaxprocs: enabled", "inject: disabled").Replace(pod)
	a = Must(t, p.Create(t, pods, out))
	t.Cleanup(func() { p.Delete(t, pods+"/changed") })
	if added(a.Object) != "" {
		t.Errorf("a pod without additions has the annotation %q", added(a.Object))
	}
	a = Must(t, p.Patch(t, pods+"/changed", Object{"metadata": Object{"labels": Object{"snug.dev/inject": "enabled"}}}))
	if got := stored(a.Object); got != "a{} b{}" || added(a.Object) != "" {
		t.Errorf("opted in later: %s %q", got, added(a.Object))
	}
}
