// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/hook"
)

// lab is a server with namespaces, and the tool.
type lab struct {
	*kube.Lab
	at   kube.Access
	exe  string
	next int
}

func newLab(t *testing.T) *lab {
	gate.Need(t, "kube")
	l := &lab{Lab: kube.Start(t), exe: hook.Tool(t)}
	l.at = l.Access(t)
	for name, label := range map[string]string{hook.Namespace: "enabled", "in": "enabled", "out": "disabled", "neutral": "", "limited": "enabled", "mislabelled": "false"} {
		o := kube.Object{"metadata": kube.Object{"name": name}}
		if label != "" {
			o["metadata"].(kube.Object)["labels"] = kube.Object{"snug.dev/inject": label}
		}
		kube.Must(t, l.Create(t, "/api/v1/namespaces", o))
	}
	l.Until(t, "namespace kube-system", func() bool { return l.Get(t, "/api/v1/namespaces/kube-system").OK() })
	kube.Must(t, l.Create(t, "/api/v1/namespaces/limited/limitranges", kube.Object{"metadata": kube.Object{"name": "defaults"},
		"spec": kube.Object{"limits": []any{kube.Object{"type": "Container", "default": kube.Object{"memory": "300Mi", "cpu": "1200m"}}}}}))
	return l
}

// create creates a pod and returns it as stored.
func (l *lab) create(t *testing.T, in, labels, spec string) kube.Answer {
	t.Helper()
	return l.Create(t, "/api/v1/namespaces/"+in+"/pods", l.manifest(in, labels, spec))
}

func (l *lab) manifest(in, labels, spec string) string {
	l.next++
	all := []string{}
	for s := range strings.FieldsSeq(labels) {
		k, v, _ := strings.Cut(s, "=")
		all = append(all, fmt.Sprintf("snug.dev/%s: %q", k, v))
	}
	return fmt.Sprintf("metadata: {name: pod-%d, labels: {%s}}\nspec: {%s}\n", l.next, strings.Join(all, ", "), spec)
}

const one = "containers: [{name: a, image: x, resources: {limits: {memory: 512Mi, cpu: 1500m}}}]"

// inForce waits until the server calls both pod webhooks, the one selected by the namespace and the
// one selected by the pod.
func (l *lab) inForce(t *testing.T) {
	t.Helper()
	l.Until(t, "the webhook is called", func() bool {
		for in, labels := range map[string]string{"in": "", "neutral": "inject=enabled"} {
			a := l.Create(t, "/api/v1/namespaces/"+in+"/pods?dryRun=All", l.manifest(in, labels, one))
			if line, _ := hook.Stored(kube.Must(t, a).Object); line == "a{}" {
				return false
			}
		}
		return true
	})
}

// TestWebhook checks pods that are created through a webhook.
func TestWebhook(t *testing.T) {
	l := newLab(t)
	t.Run("the default", l.byDefault)
	t.Run("all", l.all)
	t.Run("a certificate from files", l.files)
	t.Run("facts from agents", l.learned)
	t.Run("observed", l.observed)
	t.Run("another webhook changes limits", l.changed)
	t.Run("with the policies", l.beside)
	t.Run("killed and started again", l.killed)
	t.Run("two replicas, restarted in turn", l.rolled)
	t.Run("two replicas, certificate renewal", l.renewed)
	t.Run("applied twice", l.applied)
}

func (l *lab) byDefault(t *testing.T) {
	s := hook.NewService(t)
	hook.Register(t, l.Lab, l.exe, s)
	r := hook.Start(t, l.exe, l.at, s)
	l.inForce(t)
	for _, c := range []struct{ name, in, labels, spec, want, said string }{
		{"by the namespace", "in", "", one, "a{GOMEMLIMIT=460MiB}", "added: a GOMEMLIMIT=460MiB (pod-memory-share)"},
		{"by the pod", "neutral", "inject=enabled", one, "a{GOMEMLIMIT=460MiB}", "added: a GOMEMLIMIT=460MiB (pod-memory-share)"},
		{"by the pod, opposite to its namespace", "out", "inject=enabled", one, "a{GOMEMLIMIT=460MiB}", ""},
		{"opposite to its namespace", "in", "inject=disabled", one, "a{}", ""},
		{"neither", "neutral", "", one, "a{}", ""},
		{"the namespace is opted out", "out", "", one, "a{}", ""},
		{"an excluded namespace", "kube-system", "inject=enabled", one, "a{}", ""},
		{"the webhook's own namespace", hook.Namespace, "inject=enabled", one, "a{}", ""},
		{"everything", "in", "gomaxprocs=enabled restart-on-resize=enabled", one, "a{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=460MiB cpu:RestartContainer}",
			"added: a GOMAXPROCS (pod-procs-reference); a GOMEMLIMIT=460MiB (pod-memory-share)"},
		{"containers of all kinds", "in", "gomaxprocs=enabled restart-on-resize=enabled",
			`initContainers: [{name: i, image: x, resources: {limits: {memory: 1Gi, cpu: 500m}}}, {name: s, image: x, restartPolicy: Always, env: [{name: A, value: b}], resources: {limits: {memory: 1Gi, cpu: 2}}}],
       containers: [{name: a, image: x, env: [{name: GOMAXPROCS, value: "7"}], resources: {limits: {memory: 512Mi, cpu: 1}}}]`,
			"i{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=921MiB} s{A=b GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=921MiB cpu:RestartContainer} a{GOMAXPROCS=7 GOMEMLIMIT=460MiB}", ""},
		{"a LimitRange", "limited", "", "containers: [{name: a, image: x}]", "a{GOMEMLIMIT=270MiB}", ""},
		{"the pod's limits", "in", "gomaxprocs=enabled", "resources: {limits: {memory: 1Gi, cpu: 1}}, containers: [{name: a, image: x}]", "a{GOMAXPROCS=2 GOMEMLIMIT=921MiB}", ""},
		{"nothing to add", "in", "", "containers: [{name: a, image: x}]", "a{}", "skipped: a GOMAXPROCS (pod-no-cpu-limit); a GOMEMLIMIT (pod-no-memory-limit)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := kube.Must(t, l.create(t, c.in, c.labels, c.spec))
			got, said := hook.Stored(a.Object)
			if got != c.want || c.said != "" && said != c.said || c.want == "a{}" && c.said == "" && said != "" {
				t.Errorf("stored %s, %s", got, said)
			}
			if len(a.Warnings) > 0 {
				t.Errorf("warnings %q", a.Warnings)
			}
		})
	}
	t.Run("large pods", l.large)
	metrics := r.Get("/metrics")
	const want = `snug_webhook_reviews_total{outcome="patched",path="fit/namespace"} `
	if _, after, ok := strings.Cut(metrics, want); !ok || strings.HasPrefix(after, "0\n") {
		t.Errorf("%s is not above 0", want)
	}
	for _, never := range []string{`outcome="unreadable",path="fit/pod"`, `outcome="unreadable",path="fit/namespace"`, `outcome="other",path="fit/pod"`} {
		if !strings.Contains(metrics, `snug_webhook_reviews_total{`+never+`} 0`) {
			t.Errorf("the counter of %s is not 0", never)
		}
	}
	r.Stop(t)
}

// large: pods may be as large as the server accepts.
func (l *lab) large(t *testing.T) {
	for _, size := range []struct{ containers, env int }{{300, 3}, {1, 8000}} {
		var all []any
		for i := range size.containers {
			var env []any
			for j := range size.env {
				env = append(env, kube.Object{"name": fmt.Sprintf("VARIABLE_NUMBER_%d", j), "value": strings.Repeat("x", 100)})
			}
			all = append(all, kube.Object{"name": fmt.Sprintf("c%d", i), "image": "x", "env": env, "resources": kube.Object{"limits": kube.Object{"memory": "512Mi", "cpu": "1"}}})
		}
		a := kube.Must(t, l.Create(t, "/api/v1/namespaces/in/pods", kube.Object{"metadata": kube.Object{"name": fmt.Sprintf("large-%d", size.containers)}, "spec": kube.Object{"containers": all}}))
		if line, _ := hook.Stored(a.Object); strings.Count(line, "GOMEMLIMIT=460MiB}") != size.containers {
			t.Errorf("%d containers with %d variables: %.300s", size.containers, size.env, line)
		}
	}
}

// all: with inject: all, every pod is opted in unless it or its namespace is opted out.
func (l *lab) all(t *testing.T) {
	config := filepath.Join(t.TempDir(), "snug.yaml")
	if err := os.WriteFile(config, []byte("inject: all\nname: all-pods\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := hook.NewService(t)
	hook.Register(t, l.Lab, l.exe, s, "--config", config)
	hook.Start(t, l.exe, l.at, s, "--config", config, "--secret", "all-pods")
	l.inForce(t)
	for _, c := range []struct{ in, labels, want string }{
		{"neutral", "", "a{GOMEMLIMIT=460MiB}"},
		{"neutral", "inject=disabled", "a{}"},
		{"out", "", "a{}"},
		{"out", "inject=enabled", "a{GOMEMLIMIT=460MiB}"},
		{"out", "inject=maybe", "a{}"},
		{"neutral", "inject=false", "a{}"},
		{"in", "inject=", "a{}"},
		{"mislabelled", "", "a{}"},
		{"in", "", "a{GOMEMLIMIT=460MiB}"},
		{"mislabelled", "inject=enabled", "a{GOMEMLIMIT=460MiB}"},
		{"kube-system", "", "a{}"},
	} {
		if got, said := hook.Stored(kube.Must(t, l.create(t, c.in, c.labels, one)).Object); got != c.want {
			t.Errorf("in %s with %q: %s %s", c.in, c.labels, got, said)
		}
	}
}

// learned: what an agent reports decides on the next pod of the same workload, also in a replica
// that reaches no agent.
func (l *lab) learned(t *testing.T) {
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"snug":"v1","kind":"agent","containers":[{"namespace":"in","workload":"Pod/old","container":"a","image":"x","image_digest":null,`+
			`"processes":[{"go_version":"go1.26.8","container_aware":false}]}],"other_containers":[{"namespace":"in","workload":"StatefulSet/proxy","container":"a","image":"x"}]}`)
	}))
	defer agent.Close()
	s := hook.NewService(t)
	hook.Register(t, l.Lab, l.exe, s)
	r := hook.Start(t, l.exe, l.at, s, "--secret", "learned", "--agents", agent.Listener.Addr().String())
	l.inForce(t)
	const path = "/api/v1/namespaces/" + hook.Namespace + "/configmaps/snug-facts"
	hook.Until(t, "the facts are stored", r.Said, func() bool { return l.Get(t, path).OK() })
	check := func(t *testing.T) {
		for _, c := range []struct{ meta, want, said string }{
			{"name: old", "a{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=460MiB}", "added: a GOMAXPROCS (pod-procs-reference); a GOMEMLIMIT=460MiB (pod-memory-share)"},
			{"name: other", "a{GOMEMLIMIT=460MiB}", "added: a GOMEMLIMIT=460MiB (pod-memory-share)"},
			{"name: proxy-0, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: proxy, uid: u, controller: true}]", "a{}", "skipped: a GOMAXPROCS (pod-not-go); a GOMEMLIMIT (pod-not-go)"},
		} {
			a := kube.Must(t, l.Create(t, "/api/v1/namespaces/in/pods?dryRun=All", "metadata: {"+c.meta+"}\nspec: {"+one+"}\n"))
			if got, said := hook.Stored(a.Object); got != c.want || said != c.said {
				t.Errorf("%s: stored %s, %s", c.meta, got, said)
			}
		}
	}
	hook.Until(t, "the webhook has the facts", r.Said, func() bool { return strings.Contains(r.Get("/metrics"), "snug_webhook_facts 2\n") })
	check(t)
	r.Kill()
	agent.Close()
	// The webhook keeps the facts of an agent that does not respond.
	r = hook.Start(t, l.exe, l.at, s, "--secret", "learned", "--agents", agent.Listener.Addr().String())
	hook.Until(t, "the webhook has the facts", r.Said, func() bool { return strings.Contains(r.Get("/metrics"), "snug_webhook_facts 2\n") })
	check(t)
	if a := kube.Must(t, l.Get(t, path)); !strings.Contains(fmt.Sprint(a.Object["data"]), `"workload":"Pod/old"`) {
		t.Errorf("stored %v", a.Object["data"])
	}
}
