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

// agents: there is one agent on each node.
func (r *rollout) agents(t *testing.T) {
	if n := len(r.list(t, "/api/v1/namespaces/snug/pods?labelSelector=app.kubernetes.io/component%3Dagent")); n != nodes {
		t.Errorf("%d agents on %d nodes", n, nodes)
	}
	r.untouched(t)
}

// untouched: no pod was replaced, and none has anything of snug.
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

// linted: snug lint finds the mistake in the fleet.
func (r *rollout) linted(t *testing.T) { r.prints(t, `\bgomemlimit-divisor\b`) }

// prints fails unless the output of the last command matches.
func (r *rollout) prints(t *testing.T, pattern string) {
	t.Helper()
	if !regexp.MustCompile(pattern).MatchString(r.said) {
		t.Errorf("no match of %q in\n%s", pattern, r.said)
	}
}

// operator defines the kinds of the Prometheus operator with arbitrary content; the chart's test
// has the real ones.
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

// inForceIn waits, as the page says, until only the new pods of the webhook run. Then it waits
// until a new pod of the namespace would have an annotation with this prefix; "" = no annotation.
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

// observing: new pods of every namespace are annotated, and running pods are unchanged.
func (r *rollout) observing(t *testing.T) {
	r.inForceIn(t, "cart", "observed: ")
	r.inForceIn(t, "legacy", "observed: ")
	r.untouched(t)
}

// released is the release of a team that does not know about snug. It is repeated if the API server
// continued without the webhook meanwhile.
func (r *rollout) released(t *testing.T) {
	for again := true; again; {
		before := r.failedOpen(t)
		r.kubectl(t, "--namespace", "cart", "rollout", "restart", "deployment/web")
		r.kubectl(t, "--namespace", "cart", "rollout", "status", "deployment/web")
		r.settled(t)
		again = r.failedOpen(t) != before
	}
}

// observed: what the pods would get is counted, and they get nothing.
func (r *rollout) observed(t *testing.T) {
	for _, w := range r.rows {
		if w.key() == "cart.web" {
			r.prints(t, fmt.Sprintf(`(?m)^ *%d cart +a GOMEMLIMIT=460MiB \(pod-memory-share\)$`, w.pods))
		}
	}
	r.have(t)
}

// tried: --try on running pods predicts the additions of all pods, and snug's own get none.
func (r *rollout) tried(t *testing.T) {
	want := 0
	for _, w := range r.rows {
		if w.spec == one { // given once opted in
			want += w.pods
		} else {
			before := strings.SplitAfter(r.before[w.key()], "}")
			for i, container := range strings.SplitAfter(w.stored, "}") {
				if i < len(before) && container != before[i] {
					want += w.pods
				}
			}
		}
	}
	m := regexp.MustCompile(`: ([0-9]+) of [0-9]+ containers would be given something(?:, ([0-9]+) more)?`).FindStringSubmatch(r.said)
	if m == nil {
		t.Fatalf("the output is %s", r.said)
	}
	now, _ := strconv.Atoi(m[1])
	more, _ := strconv.Atoi(m[2])
	if now+more != want {
		t.Errorf("%d and %d, want %d: %s", now, more, want, r.said)
	}
}

func (r *rollout) reasons(t *testing.T) {
	r.prints(t, `(?m)^ *[0-9]+ \(pod-memory-share\)$`)
	r.prints(t, `(?m)^ *[0-9]+ \(pod-env-opaque\)$`)
}

// notOptedIn: pods that are not opted in get nothing.
func (r *rollout) notOptedIn(t *testing.T) {
	r.inForceIn(t, "cart", "")
	r.inForceIn(t, "legacy", "")
	r.have(t)
}

func (r *rollout) counted(t *testing.T) {
	for _, w := range r.rows {
		if w.key() == "cart.web" {
			r.prints(t, fmt.Sprintf(`(?m)^ *%d a GOMEMLIMIT=460MiB \(pod-memory-share\)$`, w.pods))
		}
	}
}

func (r *rollout) empty(t *testing.T) {
	if r.said != "" {
		t.Errorf("not empty:\n%s", r.said)
	}
}

// gone: all pods are as before, and nothing of snug is left, except labels of namespaces and
// annotations of pods, which have no effect.
func (r *rollout) gone(t *testing.T) {
	r.empty(t)
	r.have(t)
	r.inForceIn(t, "cart", "")
	r.Until(t, "namespace snug is gone", func() bool { return !r.Get(t, "/api/v1/namespaces/snug").OK() })
	for _, kind := range strings.Fields(r.kubectl(t, "api-resources", "--verbs=list", "--output", "name")) {
		switch kind {
		case "events", "events.events.k8s.io":
			continue // events describe the past
		}
		for line := range strings.Lines(r.kubectl(t, "get", kind, "--all-namespaces", "--ignore-not-found", "--output", "name", "--show-managed-fields=false")) {
			if strings.Contains(line, "snug") {
				t.Errorf("left behind: %s", line)
			}
		}
	}
}

// made returns the number of the rows' pods created since a time.
func (r *rollout) made(t *testing.T, since time.Time) int {
	t.Helper()
	n := 0
	for _, pods := range r.pods(t) {
		for _, p := range pods {
			// creationTimestamp has a resolution of one second.
			if at, err := time.Parse(time.RFC3339, fmt.Sprint(p["metadata"].(kube.Object)["creationTimestamp"])); err == nil && !at.Before(since.Truncate(time.Second)) {
				n++
			}
		}
	}
	return n
}
