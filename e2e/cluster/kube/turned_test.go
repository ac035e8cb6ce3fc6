// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"strings"
	"testing"
)

// nonDefault is a configuration in which every value differs from the default.
const nonDefault = `name: team
inject: all
memory: 99%-100MiB
round: floor
minProcs: 2
requestFactor: 1.5
envFrom: add
exclude: {namespaces: [apart], containers: [proxy, agent]}
check: warn
resize: off
`

func (p *policies) turned(t *testing.T) {
	p.apply(t, nonDefault)
	const plain = `containers: [{name: a, image: x, resources: {limits: {memory: 512Mi, cpu: 3500m}}}]`
	p.check(t, []situation{
		{"a namespace without a label", neutral, "", plain, "a{GOMEMLIMIT=406MiB}", nil},
		{"a namespace that is opted in", in, "", plain, "a{GOMEMLIMIT=406MiB}", nil},
		{"a namespace that is opted out", out, "", plain, "a{}", nil},
		{"a pod opted in where its namespace is out", out, "inject=enabled", plain, "a{GOMEMLIMIT=406MiB}", nil},
		{"an invalid label", neutral, "inject=false", plain, "a{}", []string{"snug.dev/inject=false"}},
		{"an empty label", neutral, "inject=", plain, "a{}", []string{"snug.dev/inject="}},
		{"a pod opted out", neutral, "inject=disabled", plain, "a{}", nil},
		{"a namespace no longer excluded", system, "", plain, "a{GOMEMLIMIT=406MiB}", nil},
		{"a namespace that is excluded", apart, "inject=enabled", plain, "a{}", nil},
		{"rounded down", neutral, "gomaxprocs=enabled", plain, "a{GOMAXPROCS=3 GOMEMLIMIT=406MiB}", nil},
		{"the smallest number", neutral, "gomaxprocs=enabled", `containers: [{name: a, image: x, resources: {limits: {cpu: 500m}}}]`, "a{GOMAXPROCS=2}", nil},
		{"from a request", neutral, "", `containers: [{name: a, image: x, resources: {requests: {cpu: 2500m}}}]`, "a{GOMAXPROCS=3}", nil},
		{"from a small request", neutral, "", `containers: [{name: a, image: x, resources: {requests: {cpu: 10m}}}]`, "a{GOMAXPROCS=2}", nil},
		{"a request and a limit", neutral, "", `containers: [{name: a, image: x, resources: {requests: {cpu: 1}, limits: {cpu: 4}}}]`, "a{}", nil},
		{"a LimitRange's request", limited, "", `containers: [{name: a, image: x}]`, "a{GOMEMLIMIT=197MiB}", nil},
		{"an envFrom", neutral, "", `containers: [{name: a, image: x, envFrom: [{configMapRef: {name: c}}], resources: {limits: {memory: 512Mi}}}]`, "a{GOMEMLIMIT=406MiB}", nil},
		{"excluded containers", neutral, "gomaxprocs=enabled",
			`initContainers: [{name: agent, image: x, restartPolicy: Always, resources: {limits: {memory: 512Mi}}}],
       containers: [{name: a, image: x, resources: {limits: {memory: 512Mi}}}, {name: proxy, image: x, resources: {limits: {memory: 512Mi, cpu: 1}}}]`,
			"agent{} a{GOMEMLIMIT=406MiB} proxy{}", nil},
		{"a mistake in an excluded container", neutral, "", `containers: [{name: proxy, image: x, env: [{name: GOMEMLIMIT, value: 1G}]}]`, "proxy{GOMEMLIMIT=1G}", nil},
		{"a mistake", neutral, "", `containers: [{name: a, image: x, env: [{name: GOMEMLIMIT, value: 1G}]}]`, "a{GOMEMLIMIT=1G}", []string{"gomemlimit-malformed"}},
		{"a share that is too small", neutral, "", memory("101Mi"), "a{}", nil},
		{"the smallest share", neutral, "", memory("150Mi"), "a{GOMEMLIMIT=48MiB}", nil},
		{"a restart", neutral, "restart-on-resize=enabled gomaxprocs=enabled", plain, "a{GOMAXPROCS=3 GOMEMLIMIT=406MiB}", nil},
	})
}

// denied: with check deny, the same mistakes are refused, and correct pods are not.
func (p *policies) denied(t *testing.T) {
	p.apply(t, "name: strict\ncheck: deny\n")
	p.check(t, []situation{
		{"a mistake", neutral, "", withEnv("GOMEMLIMIT", "512Mi"), "refused", []string{"gomemlimit-malformed"}},
		{"two mistakes", in, "", `containers: [{name: a, image: x, env: [{name: GOMAXPROCS, value: "1.5"}, {name: GOMEMLIMIT, value: 1G}]}]`, "refused", []string{"GOMEMLIMIT=1G"}},
		{"a mistake in a pod opted out", neutral, "inject=disabled", withEnv("GOMEMLIMIT", "512Mi"), "a{GOMEMLIMIT=512Mi}", nil},
		{"nothing wrong", in, "", memory("1Gi"), "a{GOMEMLIMIT=921MiB}", nil},
		{"a size of Go", in, "", withEnv("GOMEMLIMIT", "400MiB"), "a{GOMEMLIMIT=400MiB}", nil},
	})
}

// otherPolicy is a policy that is not snug's: it raises the first container's limit and adds a
// container.
const otherPolicy = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata:
  name: another
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  matchConditions:
  - {name: once, expression: '!object.spec.containers.exists(c, c.name == "late")'}
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: |-
        [JSONPatch{op: "add", path: "/spec/containers/0/resources", value: {"limits": {"memory": "1Gi"}, "requests": {"memory": "1Gi"}}},
         JSONPatch{op: "add", path: "/spec/containers/-", value: {"name": dyn("late"), "image": dyn("x"), "resources": dyn({"limits": {"memory": "256Mi"}})}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata:
  name: another
spec:
  policyName: another
`

// later: a container that another policy adds gets its variables too. If that policy changes a
// limit, up or down, variables that were derived from it are corrected. The order of the two
// policies does not matter, because the server does not guarantee one.
func (p *policies) later(t *testing.T) {
	p.apply(t, "")
	pods := "/api/v1/namespaces/in/pods?dryRun=All"
	t.Cleanup(func() {
		p.Until(t, "the other policy is gone", func() bool { return len(containers(Must(t, p.Create(t, pods, fitting)).Object)) == 1 })
	})
	p.Apply(t, otherPolicy)
	p.Until(t, "the other policy is in force", func() bool { return len(containers(Must(t, p.Create(t, pods, fitting)).Object)) == 2 })
	for i := range 20 {
		limit := 256 << (i % 5) // the other policy sets 1 GiB
		pod := fmt.Sprintf("metadata: {name: a}\nspec: {containers: [{name: a, image: x, resources: {limits: {memory: %dMi}}}]}", limit)
		a := Must(t, p.Create(t, pods, pod))
		const want = "a{GOMEMLIMIT=921MiB} late{GOMEMLIMIT=230MiB}"
		if got := stored(a.Object); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		said := added(a.Object)
		if strings.Count(said, "late GOMEMLIMIT=230MiB") != 1 || strings.Count(said, "a GOMEMLIMIT=921MiB") != 1 || strings.Count(said, "GOMEMLIMIT=") != 2 {
			t.Errorf("annotation %q", said)
		}
	}
}

// large: the server bounds the cost of an expression, and pods can be large.
func (p *policies) large(t *testing.T) {
	p.apply(t, "")
	for _, size := range []struct{ containers, env int }{{20, 100}, {300, 3}, {1, 1000}} {
		t.Run(fmt.Sprintf("%d containers with %d variables", size.containers, size.env), func(t *testing.T) {
			var variables, all []any
			for i := range size.env {
				variables = append(variables, Object{"name": fmt.Sprintf("VARIABLE_NUMBER_%d", i), "value": "https://service.namespace.svc.cluster.local"})
			}
			for i := range size.containers {
				of := variables
				if i == size.containers-1 {
					of = append(of[:len(of):len(of)], Object{"name": "GOMAXPROCS", "value": "1500m"})
				}
				all = append(all, Object{"name": fmt.Sprintf("c%d", i), "image": "x", "env": of, "resources": Object{"limits": Object{"memory": "512Mi", "cpu": "1500m"}}})
			}
			const pods = "/api/v1/namespaces/in/pods"
			a := Must(t, p.Create(t, pods, Object{"metadata": Object{"name": "large"}, "spec": Object{"containers": all}}))
			t.Cleanup(func() { p.Delete(t, pods+"/large") })
			for _, c := range containers(a.Object) {
				if e := env(c); e[len(e)-1] != "GOMEMLIMIT=460MiB" {
					t.Fatalf("the last variable of %v is %s", c["name"], e[len(e)-1])
				}
			}
			if said := complaints(a); len(said) != 1 || !strings.Contains(said[0], "gomaxprocs-malformed") {
				t.Errorf("complaints %q", said)
			}
			last := fmt.Sprintf("c%d", size.containers-1)
			r := Must(t, p.Patch(t, pods+"/large/resize", resized("containers", last, Object{"memory": "1Gi", "cpu": "1500m"})))
			if said := complaints(r); len(said) != 1 || !strings.Contains(said[0], "GOMEMLIMIT of "+last) {
				t.Errorf("resized: %q", said)
			}
		})
	}
}
