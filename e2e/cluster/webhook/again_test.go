// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/hook"
	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// observed: a pod's annotation lists what it would be given, and the pod gets nothing.
func (l *lab) observed(t *testing.T) {
	config := l.config(t, "mode: observe\n")
	s := hook.NewService(t)
	hook.Register(t, l.Lab, l.exe, s, "--config", config)
	r := hook.Start(t, l.exe, l.at, s, "--config", config, "--secret", "observed")
	l.Until(t, "the webhook is called", func() bool {
		_, said := hook.Stored(kube.Must(t, l.dry(t, "in", "", one)).Object)
		return said != ""
	})
	for _, c := range []struct{ in, labels, spec, said string }{
		{"in", "", one, "observed: a GOMEMLIMIT=460MiB (pod-memory-share)"},
		{"in", "gomaxprocs=enabled restart-on-resize=enabled", one, "observed: a GOMAXPROCS (pod-procs-reference); a GOMEMLIMIT=460MiB (pod-memory-share)"},
		{"in", "", "containers: [{name: a, image: x}]", "skipped: a GOMAXPROCS (pod-no-cpu-limit); a GOMEMLIMIT (pod-no-memory-limit)"},
		{"in", "inject=disabled", one, ""},
		{"neutral", "", one, ""},
	} {
		if line, said := hook.Stored(kube.Must(t, l.create(t, c.in, c.labels, c.spec)).Object); line != "a{}" || said != c.said {
			t.Errorf("in %s with %q: %s, %s", c.in, c.labels, line, said)
		}
	}
	if metrics := r.Get("/metrics"); strings.Contains(metrics, `snug_webhook_reviews_total{outcome="observed",path="fit/namespace"} 0`) || !strings.Contains(metrics, `{outcome="patched",path="fit/namespace"} 0`) {
		t.Errorf("metrics %s", metrics)
	}
}

// config writes a configuration to a file and returns its path.
func (l *lab) config(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "snug.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// dry returns the pod that would be stored.
func (l *lab) dry(t *testing.T, in, labels, spec string) kube.Answer {
	t.Helper()
	return l.Create(t, "/api/v1/namespaces/"+in+"/pods?dryRun=All", l.manifest(in, labels, spec))
}

// limiter registers a webhook like that of a VerticalPodAutoscaler: it sets the memory limit of the
// first container of each pod in the namespace "in". By its name it is called after snug's.
func (l *lab) limiter(t *testing.T, memory string) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Request struct {
				UID    string
				Object struct {
					Spec struct {
						Containers []struct {
							Resources struct{ Limits struct{ Memory string } }
						}
					}
				}
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		patch := []byte("[]")
		if c := q.Request.Object.Spec.Containers; len(c) > 0 && c[0].Resources.Limits.Memory != memory {
			patch = fmt.Appendf(nil, `[{"op":"add","path":"/spec/containers/0/resources","value":{"limits":{"memory":%q,"cpu":"1500m"},"requests":{"memory":%[1]q,"cpu":"1"}}}]`, memory)
		}
		fmt.Fprintf(w, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":%q,"allowed":true,"patchType":"JSONPatch","patch":%q}}`, q.Request.UID, base64.StdEncoding.EncodeToString(patch))
	}))
	t.Cleanup(server.Close)
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	const path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
	kube.Must(t, l.Create(t, path, fmt.Sprintf(`metadata: {name: vpa-%s}
webhooks:
- name: vpa.snug.dev
  clientConfig: {url: "%s", caBundle: %s}
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: in}}
`, strings.ToLower(memory), server.URL, ca)))
	pod := "containers: [{name: a, image: x}]"
	limit := func() any {
		c := hook.List(kube.Must(t, l.dry(t, "in", "inject=disabled", pod)).Object["spec"].(kube.Object)["containers"])[0]
		limits, _ := c["resources"].(kube.Object)["limits"].(kube.Object)
		return limits["memory"]
	}
	t.Cleanup(func() {
		l.Delete(t, path+"/vpa-"+strings.ToLower(memory))
		l.Until(t, "the limit is unchanged", func() bool { return limit() == nil })
	})
	l.Until(t, "the limit is changed", func() bool { return limit() == memory })
}

// changed: if another webhook changes a limit, variables derived from it are corrected, and the
// annotation lists them once.
func (l *lab) changed(t *testing.T) {
	s := hook.NewService(t)
	hook.Register(t, l.Lab, l.exe, s)
	hook.Start(t, l.exe, l.at, s, "--secret", "changed")
	l.inForce(t)
	for memory, want := range map[string]string{"1Gi": "921MiB", "128Mi": "115MiB"} {
		t.Run(memory, func(t *testing.T) {
			l.limiter(t, memory)
			said := "added: a GOMEMLIMIT=" + want + " (pod-memory-share)"
			for name, spec := range map[string]string{
				"one container":                one,
				"without a limit":              "containers: [{name: a, image: x}]",
				"a variable before":            "containers: [{name: a, image: x, env: [{name: A, value: b}], resources: {limits: {memory: 512Mi}}}]",
				"a variable of its own":        "containers: [{name: a, image: x, env: [{name: GOMEMLIMIT, value: 460MiB}], resources: {limits: {memory: 512Mi}}}]",
				"the same as it is at the end": "containers: [{name: a, image: x, resources: {limits: {memory: " + memory + "}}}]",
			} {
				line, got := hook.Stored(kube.Must(t, l.dry(t, "in", "", spec)).Object)
				wantLine, wantSaid := "a{GOMEMLIMIT="+want+"}", said
				switch name {
				case "a variable before":
					wantLine = "a{A=b GOMEMLIMIT=" + want + "}"
				case "a variable of its own":
					wantLine, wantSaid = "a{GOMEMLIMIT=460MiB}", "skipped: a GOMAXPROCS (pod-procs-follow); a GOMEMLIMIT (pod-env-set)"
				}
				if line != wantLine || name != "a variable of its own" && got != wantSaid || strings.Contains(got, "added") == (name == "a variable of its own") {
					t.Errorf("%s: %s, %s; want %s, %s", name, line, got, wantLine, wantSaid)
				}
			}
		})
	}
}

// beside: admission policies and the webhook with the same configuration. The policies run first,
// and work without the webhook. The webhook adds what only it knows.
func (l *lab) beside(t *testing.T) {
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"snug":"v1","kind":"agent","containers":[{"namespace":"in","workload":"Pod/old","container":"a","image":"x","image_digest":null,`+
			`"processes":[{"go_version":"go1.22.1","container_aware":false}]}],"other_containers":[{"namespace":"in","workload":"Pod/other","container":"a","image":"x"}]}`)
	}))
	t.Cleanup(agent.Close)
	const (
		procs = "a GOMAXPROCS (pod-procs-reference)"
		size  = "a GOMEMLIMIT=460MiB (pod-memory-share)"
	)
	for _, c := range []struct {
		mode string
		key  string
		none string               // the annotation if nothing is added
		want map[string][2]string // by pod name: its containers, and its annotation
	}{
		{"enforce", "added: ", "skipped: a GOMAXPROCS (pod-no-cpu-limit); a GOMEMLIMIT (pod-no-memory-limit)", map[string][2]string{
			"old":     {"a{GOMEMLIMIT=460MiB GOMAXPROCS<limits.cpu/1}", size + "; " + procs},
			"other":   {"a{GOMEMLIMIT=460MiB}", size},
			"unknown": {"a{GOMEMLIMIT=460MiB}", size},
		}},
		{"observe", "observed: ", "skipped: a GOMAXPROCS (pod-no-cpu-limit); a GOMEMLIMIT (pod-no-memory-limit)", map[string][2]string{
			"old":     {"a{}", procs + "; " + size},
			"unknown": {"a{}", size},
		}},
	} {
		t.Run(c.mode, func(t *testing.T) {
			config := l.config(t, "mode: "+c.mode+"\nname: beside\n")
			cmd := exec.Command(l.exe, "policy", config)
			cmd.Stderr = os.Stderr
			policies, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			ask := func(name, spec string) (line, said string) {
				t.Helper()
				return hook.Stored(kube.Must(t, l.Create(t, "/api/v1/namespaces/in/pods?dryRun=All", "metadata: {name: "+name+"}\nspec: {"+spec+"}\n")).Object)
			}
			t.Cleanup(func() {
				l.Until(t, "the policies are gone", func() bool { _, said := ask("unknown", one); return said == "" })
			})
			l.Apply(t, string(policies))
			l.Until(t, "the policies are in force", func() bool { _, said := ask("unknown", one); return said == c.key+size })

			s := hook.NewService(t)
			hook.Register(t, l.Lab, l.exe, s, "--config", config)
			r := hook.Start(t, l.exe, l.at, s, "--config", config, "--secret", "beside", "--facts", "beside", "--agents", agent.Listener.Addr().String())
			hook.Until(t, "the webhook has the facts", r.Said, func() bool { return strings.Contains(r.Get("/metrics"), "snug_webhook_facts 2\n") })
			const bare = "containers: [{name: a, image: x}]"
			if _, said := ask("unknown", bare); said != c.none {
				t.Errorf("policies alone, and nothing to add: %s", said)
			}
			l.Until(t, "the webhook is called", func() bool { _, said := ask("old", one); return strings.Contains(said, procs) })
			for range 5 {
				for name, want := range c.want {
					if line, said := ask(name, one); line != want[0] || said != c.key+want[1] {
						t.Errorf("%s: %s, %s\nwant %s, %s", name, line, said, want[0], c.key+want[1])
					}
				}
				if line, said := ask("unknown", bare); line != "a{}" || said != c.none {
					t.Errorf("nothing to add: %s, %s", line, said)
				}
				// The webhook, which knows more, writes the reasons last.
				if line, said := ask("other", bare); line != "a{}" || said != "skipped: a GOMAXPROCS (pod-not-go); a GOMEMLIMIT (pod-not-go)" {
					t.Errorf("nothing to add to another program: %s, %s", line, said)
				}
			}
			t.Run("a limit that another webhook changes", func(t *testing.T) {
				l.limiter(t, "1Gi")
				larger := strings.NewReplacer("460MiB", "921MiB")
				for name, want := range c.want {
					for _, spec := range []string{one, bare} {
						line, said := ask(name, spec)
						if line != larger.Replace(want[0]) || said != c.key+larger.Replace(want[1]) {
							t.Errorf("%s: %s, %s\nwant %s, %s", name, line, said, larger.Replace(want[0]), c.key+larger.Replace(want[1]))
						}
					}
				}
			})
			// The policies work without the webhook.
			r.Kill()
			if line, said := ask("old", one); said != c.key+size || line != c.want["unknown"][0] {
				t.Errorf("without the webhook: %s, %s", line, said)
			}
		})
	}
}

// applied: kubectl finds nothing to change when it applies the policies and the registration again.
func (l *lab) applied(t *testing.T) {
	kubectl, config := kubebuild.Command(t, "kubectl"), l.Kubeconfig(t)
	var manifests strings.Builder
	for _, args := range [][]string{{"policy"}, {"webhook", "--register", "--namespace", hook.Namespace}} {
		out, err := exec.Command(l.exe, args...).Output()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&manifests, "%s---\n", out)
	}
	run := func(verb string) string {
		cmd := exec.Command(kubectl, verb, "-f", "-")
		cmd.Env = []string{"KUBECONFIG=" + config, "HOME=" + filepath.Dir(config)}
		cmd.Stdin, cmd.Stderr = strings.NewReader(manifests.String()), os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("kubectl %s: %v\n%s", verb, err, out)
		}
		return string(out)
	}
	t.Cleanup(func() { run("delete") })
	first, again := run("apply"), run("apply")
	if lines := strings.Count(again, "\n"); lines != 7 || strings.Count(again, " unchanged\n") != lines || strings.Count(first, " created\n") != lines {
		t.Errorf("first %s\nagain %s", first, again)
	}
}
