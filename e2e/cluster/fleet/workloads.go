// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/cluster/kube"
)

// namespaces maps the namespaces of the workloads to their labels.
var namespaces = map[string]string{
	"cart": "enabled", "shop": "enabled", "pay": "enabled", "limited": "enabled", "misc": "", "legacy": "disabled",
}

// fate is the expected treatment of a workload's pods.
type fate string

const (
	given   fate = "given"   // gets variables, and an annotation that lists them
	skipped fate = "skipped" // opted in, but nothing is due; an annotation has the reason
	left    fate = "left"    // not opted in: nothing changes
)

// row is a workload.
type row struct {
	kind, in, name string
	pods           int    // of 500
	labels         string // of its pods, in YAML's flow style
	spec           string // of its pods
	fate           fate
	stored         string // expected form of its pods, as from hook.Stored
}

const (
	small   = "requests: {cpu: 20m, memory: 32Mi}, "
	limited = "resources: {" + small + "limits: {memory: 512Mi, cpu: 1500m}}"
	one     = "containers: [{name: a, image: x, " + limited + "}]"
)

// rows lists the workloads of a fleet: opted in by namespace and by pod, opted out by either, with
// variables already set, without limits, and of every kind that makes pods.
var rows = []row{
	// It starts within a minute. Only the last check waits for it.
	{"CronJob", "pay", "report", 2, "", one, given, "a{GOMEMLIMIT=460MiB}"},
	{"Deployment", "cart", "web", 120, "", one, given, "a{GOMEMLIMIT=460MiB}"},
	{"Deployment", "cart", "old", 40, "snug.dev/gomaxprocs: enabled", one, given, "a{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=460MiB}"},
	// A mistake: mebibytes taken as bytes.
	{"Deployment", "misc", "none", 30, "",
		"containers: [{name: a, image: x, env: [{name: GOMEMLIMIT, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}], " + limited + "}]", left, "a{GOMEMLIMIT<limits.memory/1Mi}"},
	{"Deployment", "shop", "mesh", 50, "",
		"initContainers: [{name: i, image: x, " + limited + "}, {name: s, image: x, restartPolicy: Always, resources: {" + small + "limits: {memory: 128Mi}}}], " +
			"containers: [{name: a, image: x, " + limited + "}, {name: proxy, image: x, env: [{name: GOMEMLIMIT, value: 70MiB}], resources: {" + small + "limits: {memory: 100Mi}}}]",
		given, "i{GOMEMLIMIT=460MiB} s{GOMAXPROCS=2 GOMEMLIMIT=115MiB} a{GOMEMLIMIT=460MiB} proxy{GOMEMLIMIT=70MiB GOMAXPROCS=2}"},
	{"Deployment", "cart", "set", 40, "", "containers: [{name: a, image: x, env: [{name: GOMEMLIMIT, value: 400MiB}], " + limited + "}]", skipped, "a{GOMEMLIMIT=400MiB}"},
	{"StatefulSet", "pay", "queue", 10, "", one, given, "a{GOMEMLIMIT=460MiB}"},
	{"Deployment", "cart", "unlimited", 40, "", "containers: [{name: a, image: x}]", skipped, "a{}"},
	{"Deployment", "shop", "from", 20, "", "containers: [{name: a, image: x, envFrom: [{configMapRef: {name: settings, optional: true}}], " + limited + "}]", skipped, "a{}"},
	{"StatefulSet", "pay", "db", 20, "", one, given, "a{GOMEMLIMIT=460MiB}"},
	{"Deployment", "shop", "out", 20, "snug.dev/inject: disabled", one, left, "a{}"},
	{"Deployment", "misc", "in", 40, "snug.dev/inject: enabled", one, given, "a{GOMEMLIMIT=460MiB}"},
	{"DaemonSet", "pay", "node", nodes, "", one, given, "a{GOMEMLIMIT=460MiB}"},
	{"Deployment", "legacy", "api", 20, "", one, left, "a{}"},
	{"Deployment", "legacy", "but", 10, "snug.dev/inject: enabled", one, given, "a{GOMEMLIMIT=460MiB}"},
	{"Job", "pay", "load", 15, "", one, given, "a{GOMEMLIMIT=460MiB}"},
	{"Deployment", "limited", "plain", 20, "", "containers: [{name: a, image: x}]", given, "a{GOMEMLIMIT=270MiB}"},
}

// sized returns the rows of a fleet with this many pods.
func sized(pods int) []row {
	all := append([]row(nil), rows...)
	rest := pods
	largest := 0
	for i := range all {
		if r := &all[i]; r.kind != "DaemonSet" && r.kind != "CronJob" {
			r.pods = max(1, r.pods*pods/500)
		}
		rest -= all[i].pods
		if all[i].pods > all[largest].pods {
			largest = i
		}
	}
	all[largest].pods += rest
	return all
}

// unlabelled returns the rows of a cluster in which no workload uses snug's labels. fate is their
// treatment once the namespaces are labelled: those without a label change nothing, and neither do
// Jobs, whose pods already exist.
func unlabelled(pods int) []row {
	var all []row
	for _, r := range sized(pods) {
		if r.kind == "CronJob" {
			continue // its pods come and go
		}
		if strings.Contains(r.labels, "inject") {
			r.labels = ""
		}
		switch {
		case namespaces[r.in] != "enabled" || r.kind == "Job":
			r.fate = left
		case r.fate == left:
			r.fate, r.stored = given, "a{GOMEMLIMIT=460MiB}"
		}
		all = append(all, r)
	}
	return all
}

// key returns the value of the label row of a row's pods.
func (r *row) key() string { return r.in + "." + r.name }

// path returns the path of the workload's collection.
func (r *row) path() string {
	group := map[string]string{"Job": "/apis/batch/v1", "CronJob": "/apis/batch/v1"}[r.kind]
	if group == "" {
		group = "/apis/apps/v1"
	}
	return group + "/namespaces/" + r.in + "/" + strings.ToLower(r.kind) + "s"
}

// manifest returns the workload as YAML.
func (r *row) manifest() string {
	labels := "{row: " + r.key()
	if r.labels != "" {
		labels += ", " + r.labels
	}
	labels += "}"
	template := fmt.Sprintf("{metadata: {labels: %s}, spec: {%s}}", labels, r.spec)
	forever := fmt.Sprintf("{metadata: {labels: %s}, spec: {restartPolicy: OnFailure, %s}}", labels, r.spec)
	count := fmt.Sprintf("completions: %d, parallelism: %d", r.pods, r.pods)
	selector := "selector: {matchLabels: {row: " + r.key() + "}}"
	spec := map[string]string{
		"Deployment":  fmt.Sprintf("replicas: %d, %s, template: %s", r.pods, selector, template),
		"StatefulSet": fmt.Sprintf("replicas: %d, serviceName: none, podManagementPolicy: Parallel, %s, template: %s", r.pods, selector, template),
		"DaemonSet":   fmt.Sprintf("updateStrategy: {rollingUpdate: {maxUnavailable: 3}}, %s, template: %s", selector, template),
		"Job":         fmt.Sprintf("%s, template: %s", count, forever),
		// A running Job prevents the next one.
		"CronJob": fmt.Sprintf(`schedule: "* * * * *", concurrencyPolicy: Forbid, jobTemplate: {spec: {%s, template: %s}}`, count, forever),
	}[r.kind]
	return fmt.Sprintf("metadata: {name: %s}\nspec: {%s}\n", r.name, spec)
}

// create creates the workload.
func (f *fleet) create(t testing.TB, r *row) {
	t.Helper()
	a := f.Create(t, r.path(), r.manifest())
	if !a.OK() {
		t.Fatalf("%s: %d %s\n%s", r.key(), a.Code, a.Message(), r.manifest())
	}
	for _, w := range a.Warnings {
		// With the policies installed, the mistake causes a warning.
		if r.key() != "misc.none" || !strings.Contains(w, "gomemlimit-divisor") {
			t.Errorf("%s: %s", r.key(), w)
		}
	}
}

// probe returns a pod for dry runs.
func probe(n int) kube.Object {
	return kube.Object{"metadata": kube.Object{"name": fmt.Sprintf("probe-%d", n)}, "spec": kube.Object{
		"containers": []any{kube.Object{"name": "a", "image": "x", "resources": kube.Object{"limits": kube.Object{"memory": "512Mi", "cpu": "1"}}}}}}
}
