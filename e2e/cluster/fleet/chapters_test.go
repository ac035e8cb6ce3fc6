// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/hook"
)

// agents: one on each node.
func (r *rollout) agents(t *testing.T) {
	if n := len(r.list(t, "/api/v1/namespaces/snug/pods?labelSelector=app.kubernetes.io/component%3Dagent")); n != nodes {
		t.Errorf("%d agents on %d nodes", n, nodes)
	}
	r.untouched(t)
}

// untouched: no pod has been made anew, and none has anything of ours.
func (r *rollout) untouched(t *testing.T) {
	t.Helper()
	all := r.pods(t)
	for _, w := range r.rows {
		if len(all[w.key()]) != w.pods {
			t.Errorf("%s has %d pods", w.key(), len(all[w.key()]))
		}
		for _, p := range all[w.key()] {
			if line, said := hook.Stored(p); line != r.before[w.key()] || said != "" {
				t.Errorf("%s: %s, %s", name(p), line, said)
			}
		}
	}
}

// linted: what is wrong in the fleet is found.
func (r *rollout) linted(t *testing.T) { r.says(t, `\bgomemlimit-divisor\b`) }

// says fails unless the last command has printed what matches.
func (r *rollout) says(t *testing.T, pattern string) {
	t.Helper()
	if !regexp.MustCompile(pattern).MatchString(r.said) {
		t.Errorf("nothing like %q in\n%s", pattern, r.said)
	}
}

// operator makes the kinds of the Prometheus operator, with any content: the test of the
// chart has the real ones.
func (r *rollout) operator(t *testing.T) {
	for plural, kind := range map[string]string{"servicemonitors": "ServiceMonitor", "prometheusrules": "PrometheusRule"} {
		kube.Must(t, r.Create(t, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", fmt.Sprintf(`
metadata: {name: %[1]s.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  names: {plural: %[1]s, kind: %[2]s}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`, plural, kind)))
		r.Until(t, "the kind "+kind, func() bool { return r.Get(t, "/apis/monitoring.coreos.com/v1/"+plural).OK() })
	}
}

// inForceIn waits until a pod of a namespace, were it created, would be annotated so; "" =
// not at all; and, as the page has it, until the webhook has its new pods alone.
func (r *rollout) inForceIn(t *testing.T, namespace, want string) {
	t.Helper()
	r.Until(t, "old replicas are gone", func() bool {
		webhooks := r.list(t, "/api/v1/namespaces/snug/pods?labelSelector=app.kubernetes.io/component%3Dwebhook")
		deployment := r.Get(t, "/apis/apps/v1/namespaces/snug/deployments/snug-webhook")
		if !deployment.OK() {
			return len(webhooks) == 0
		}
		status, meta := deployment.Object["status"].(kube.Object), deployment.Object["metadata"].(kube.Object)
		return len(webhooks) == 2 && status["updatedReplicas"] == 2.0 && status["availableReplicas"] == 2.0 && status["observedGeneration"] == meta["generation"]
	})
	r.Until(t, fmt.Sprintf("pods in %s are annotated %q", namespace, want), func() bool {
		a := kube.Must(t, r.Create(t, "/api/v1/namespaces/"+namespace+"/pods?dryRun=All", probe(0)))
		line, said := hook.Stored(a.Object)
		return (want == "") == (said == "") && strings.HasPrefix(said, want) && strings.Contains(line, "GOMEMLIMIT=") == (want == "added: ")
	})
}

// observing: new pods are annotated, in every namespace, and those that run are as before.
func (r *rollout) observing(t *testing.T) {
	r.inForceIn(t, "cart", "observed: ")
	r.inForceIn(t, "legacy", "observed: ")
	r.untouched(t)
}

// released is the release of a team that knows nothing of all this; and again where the API
// server did without the webhook meanwhile.
func (r *rollout) released(t *testing.T) {
	for again := true; again; {
		before := r.failedOpen(t)
		r.kubectl(t, "--namespace", "cart", "rollout", "restart", "deployment/web")
		r.kubectl(t, "--namespace", "cart", "rollout", "status", "deployment/web")
		r.settled(t)
		again = r.failedOpen(t) != before
	}
}

// observed: what they would get is counted, and they have nothing of it.
func (r *rollout) observed(t *testing.T) {
	for _, w := range r.rows {
		if w.key() == "cart.web" {
			r.says(t, fmt.Sprintf(`(?m)^ *%d cart +a GOMEMLIMIT=460MiB \(pod-memory-share\)$`, w.pods))
		}
	}
	r.have(t)
}

// tried: what --try says of pods that run is what everybody is to have, snug's own pods too.
func (r *rollout) tried(t *testing.T) {
	want := len(r.list(t, "/api/v1/namespaces/snug/pods"))
	for _, w := range r.rows {
		if w.spec == one { // given, by whoever says so
			want += w.pods
		} else {
			want += w.pods * (strings.Count(w.stored, "GOMEMLIMIT") - strings.Count(r.before[w.key()], "GOMEMLIMIT"))
		}
	}
	m := regexp.MustCompile(`: ([0-9]+) of [0-9]+ containers would be given something(?:, ([0-9]+) more)?`).FindStringSubmatch(r.said)
	if m == nil {
		t.Fatalf("it says %s", r.said)
	}
	now, _ := strconv.Atoi(m[1])
	more, _ := strconv.Atoi(m[2])
	if now+more != want {
		t.Errorf("%d and %d, want %d: %s", now, more, want, r.said)
	}
}

func (r *rollout) reasons(t *testing.T) {
	r.says(t, `(?m)^ *[0-9]+ \(pod-memory-share\)$`)
	r.says(t, `(?m)^ *[0-9]+ \(pod-env-opaque\)$`)
}

// nobody: who has not said so is given nothing.
func (r *rollout) nobody(t *testing.T) {
	r.inForceIn(t, "cart", "")
	r.inForceIn(t, "legacy", "")
	r.have(t)
}

func (r *rollout) counted(t *testing.T) {
	for _, w := range r.rows {
		if w.key() == "cart.web" {
			r.says(t, fmt.Sprintf(`(?m)^ *%d a GOMEMLIMIT=460MiB \(pod-memory-share\)$`, w.pods))
		}
	}
}

func (r *rollout) nothing(t *testing.T) {
	if r.said != "" {
		t.Errorf("something is left:\n%s", r.said)
	}
}

// gone: all pods are what they were, and nothing that has anything to do with snug is left
// but labels of namespaces and annotations of pods, both of which nobody reads.
func (r *rollout) gone(t *testing.T) {
	r.nothing(t)
	r.have(t)
	r.inForceIn(t, "cart", "")
	r.Until(t, "the namespace is gone", func() bool { return !r.Get(t, "/api/v1/namespaces/snug").OK() })
	for _, kind := range strings.Fields(r.kubectl(t, "api-resources", "--verbs=list", "--output", "name")) {
		switch kind {
		case "events", "events.events.k8s.io":
			continue // they say what has been
		}
		for line := range strings.Lines(r.kubectl(t, "get", kind, "--all-namespaces", "--ignore-not-found", "--output", "name", "--show-managed-fields=false")) {
			if strings.Contains(line, "snug") {
				t.Errorf("left: %s", line)
			}
		}
	}
}

// made is how many of the rows' pods have been made since a time.
func (r *rollout) made(t *testing.T, since time.Time) int {
	t.Helper()
	n := 0
	for _, pods := range r.pods(t) {
		for _, p := range pods {
			// In whole seconds.
			if at, err := time.Parse(time.RFC3339, fmt.Sprint(p["metadata"].(kube.Object)["creationTimestamp"])); err == nil && !at.Before(since.Truncate(time.Second)) {
				n++
			}
		}
	}
	return n
}
