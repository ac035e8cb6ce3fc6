// SPDX-License-Identifier: Apache-2.0

// Package fleet runs a cluster of some hundred pods on simulated nodes: a real API server,
// Kubernetes' own controllers and scheduler, and kwok instead of kubelets. It checks these pods
// while `snug webhook` is rolled and killed, and follows docs/rollout.md literally.
package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/daemon"
	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/hook"
	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// nodes is the number of nodes of a fleet, with 64 CPUs each, unless a test says another.
const nodes = 3

// deadline bounds the wait for what controllers do by themselves. It is many times the duration on
// a busy machine.
const deadline = 30 * time.Minute

// fleet is a cluster and the tool.
type fleet struct {
	*kube.Lab
	at     kube.Access
	config string // a kubeconfig, once needed
	exe    string
	kwok   *daemon.Process
}

// newFleet starts a cluster without workloads. flags are added to those of its API server.
func newFleet(t testing.TB, flags ...string) *fleet {
	t.Helper()
	return newFleetOf(t, nodes, flags...)
}

func newFleetOf(t testing.TB, nodes int, flags ...string) *fleet {
	t.Helper()
	gate.Need(t, "fleet")
	kwok := kubebuild.Command(t, "kwok")
	// With WatchList, a watch from the beginning, like kwok's, is a streamed list. Debian's etcd
	// does not support these, so the watch would end again and again.
	flags = append(flags, "--feature-gates", "WatchList=false")
	// A server of its own, with controllers and flags that differ between tests.
	f := &fleet{Lab: kube.StartWith(t, kube.Options{Controllers: true, Flags: flags}), exe: hook.Tool(t)}
	f.at = f.Access(t)
	for i := range nodes {
		capacity := kube.Object{"cpu": "64", "memory": "1Ti", "pods": "2000"}
		kube.Must(t, f.Create(t, "/api/v1/nodes", kube.Object{
			"metadata": kube.Object{"name": fmt.Sprintf("node-%d", i), "labels": kube.Object{"kubernetes.io/os": "linux"}},
			"status":   kube.Object{"capacity": capacity, "allocatable": capacity},
		}))
	}
	// A node whose lease is not renewed counts as dead within a minute.
	f.kwok = daemon.Start(t, t.TempDir(), kwok, "--kubeconfig", f.Kubeconfig(t), "--config", stageFile(t, t.TempDir()), "--manage-all-nodes", "--node-lease-duration-seconds", "40")
	f.Until(t, "the nodes are ready", func() bool {
		if err := f.kwok.Ended(); err != nil {
			t.Fatalf("kwok ended: %v\n%s", err, f.kwok.Log())
		}
		all := f.list(t, "/api/v1/nodes")
		return len(all) == nodes && !slices.ContainsFunc(all, func(n kube.Object) bool { return !ready(n) })
	})
	return f
}

// list returns the objects of a collection.
func (f *fleet) list(t testing.TB, collection string) []kube.Object {
	t.Helper()
	return hook.List(kube.Must(t, f.Get(t, collection)).Object["items"])
}

// namespaces makes the namespaces of the workloads, with or without their labels, and waits until
// pods can be created there.
func (f *fleet) namespaces(t testing.TB, labelled bool) {
	t.Helper()
	for name, label := range namespaces {
		labels := kube.Object{}
		if label != "" && labelled {
			labels["snug.dev/inject"] = label
		}
		kube.Must(t, f.Create(t, "/api/v1/namespaces", kube.Object{"metadata": kube.Object{"name": name, "labels": labels}}))
	}
	kube.Must(t, f.Create(t, "/api/v1/namespaces/limited/limitranges", kube.Object{"metadata": kube.Object{"name": "defaults"},
		"spec": kube.Object{"limits": []any{kube.Object{"type": "Container",
			"default": kube.Object{"memory": "300Mi", "cpu": "1200m"}, "defaultRequest": kube.Object{"memory": "30Mi", "cpu": "20m"}}}}}))
	for name := range maps.Keys(namespaces) {
		f.Until(t, "the account of "+name, func() bool {
			at := "/api/v1/namespaces/" + name
			return f.Get(t, at+"/serviceaccounts/default").OK() && f.Get(t, at+"/configmaps/kube-root-ca.crt").OK()
		})
	}
}

// leaving is the key of pods that are being deleted.
const leaving = "about to go"

// pods returns the current pods of the workloads by row. Pods that are being deleted are under the
// key leaving.
func (f *fleet) pods(t testing.TB) map[string][]kube.Object { return f.podsOf(t, "/api/v1/pods") }

func (f *fleet) podsOf(t testing.TB, collection string) map[string][]kube.Object {
	t.Helper()
	all := map[string][]kube.Object{}
	for _, p := range f.list(t, collection) {
		meta := p["metadata"].(kube.Object)
		labels, _ := meta["labels"].(kube.Object)
		row, ok := labels["row"].(string)
		if meta["deletionTimestamp"] != nil {
			row = leaving
		}
		if ok {
			all[row] = append(all[row], p)
		}
	}
	return all
}

// until waits until the pods of a collection meet a condition.
func (f *fleet) until(t testing.TB, what, collection string, yes func(map[string][]kube.Object) bool) {
	t.Helper()
	for end := time.Now().Add(deadline); ; time.Sleep(20 * time.Millisecond) {
		begin := time.Now()
		all := f.podsOf(t, collection)
		if yes(all) {
			return
		}
		time.Sleep(3 * time.Since(begin)) // leave CPU time to the processes under test
		if time.Now().After(end) {
			n := map[string]int{}
			for row, pods := range all {
				n[row] = len(pods)
			}
			t.Fatalf("not within %v: %s; pods: %v\n%s", deadline, what, n, f.kwok.Log())
		}
	}
}

// running reports whether a pod runs.
func running(pod kube.Object) bool {
	status, _ := pod["status"].(kube.Object)
	return status["phase"] == "Running"
}

// name returns the namespace and name of an object.
func name(o kube.Object) string {
	meta := o["metadata"].(kube.Object)
	return fmt.Sprint(meta["namespace"], "/", meta["name"])
}

// refused returns the events of controllers that could not create a pod.
func (f *fleet) refused(t testing.TB) []string {
	t.Helper()
	var all []string
	for _, e := range f.list(t, "/api/v1/events") {
		if e["reason"] == "FailedCreate" {
			all = append(all, name(e)+": "+fmt.Sprint(e["message"]))
		}
	}
	return all
}

// inForce waits until a new pod in an opted-in namespace would get variables.
func (f *fleet) inForce(t testing.TB) {
	t.Helper()
	f.Until(t, "pods get variables", func() bool {
		a := kube.Must(t, f.Create(t, "/api/v1/namespaces/cart/pods?dryRun=All", probe(0)))
		line, _ := hook.Stored(a.Object)
		return strings.Contains(line, "GOMEMLIMIT=")
	})
}
