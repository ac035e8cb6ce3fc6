// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/hook"
	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// lab is an API server on which the chart is installed.
type lab struct {
	*kube.Lab
	*cluster
	snug       string
	kubeconfig string
}

// TestInstall: the server accepts the chart's objects, installing them again changes nothing, and
// uninstalling removes all.
func TestInstall(t *testing.T) {
	gate.Need(t, "chart")
	server := kube.Start(t)
	l := &lab{Lab: server, cluster: newCluster(t, server.Access(t)), snug: hook.Tool(t), kubeconfig: server.Kubeconfig(t)}
	l.must(t, http.MethodPost, "/api/v1/namespaces", object("v1", "Namespace", namespace))
	l.operator(t)
	t.Run("strict", l.strict)
	t.Run("gitops", l.gitops)
	for _, name := range kubebuild.Helms {
		t.Run(name, func(t *testing.T) { l.life(t, newHelm(t, name, l.kubeconfig)) })
	}
	t.Run("older", l.older)
	t.Run("rights", l.rights)
	t.Run("podsecurity", l.podSecurity)
	t.Run("kubectl", l.kubectl)
}

// strict: the server knows every field and warns of nothing.
func (l *lab) strict(t *testing.T) {
	h := newHelm(t, "helm4", "")
	more := strings.Replace(everything, "webhook: {", "webhook: {certificate: {secretName: a, annotations: {b: c}}, extraArgs: [--drain=1s], extraEnv: [{name: A, value: b}], topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}], ", 1)
	for _, values := range []string{everything, more + "agent: {extraArgs: [--listen=:9464], extraEnv: [{name: A, value: b}], auth: true, memory: false, names: false, maxUnavailable: 1, priorityClassName: system-node-critical, affinity: {nodeAffinity: {}}, podAnnotations: {a: b}, appArmorProfile: Unconfined, seLinuxOptions: {type: spc_t}}\nconfig: {mode: observe, inject: all, check: deny, requestFactor: 2}\nimagePullSecrets: [{name: x}]"} {
		for _, o := range documents(t, h.template(t, values)) {
			code, got := l.ask(t, http.MethodPost, l.collection(t, o)+"?dryRun=All&fieldValidation=Strict", o)
			if code != http.StatusCreated || meta(got)["warnings"] != nil {
				t.Errorf("%s: %d %v %v", title(o), code, got["message"], meta(got)["warnings"])
			}
		}
	}
}

// life: installation, use, reinstallation, upgrade, rollback and removal.
func (l *lab) life(t *testing.T, h client) {
	if found := l.mentions(t, release); !slices.Equal(found, before) {
		t.Fatalf("before the installation there is %q", found)
	}
	said := h.run(t, everything, "install", release, folder, "-n", namespace, "-f", "-")
	if !strings.Contains(said, "port-forward ds/snug-agent") || strings.Contains(said, "WARNING") {
		t.Errorf("helm prints %s", said)
	}
	all := documents(t, h.template(t, everything))
	l.asRendered(t, all)

	l.writeFact(t)
	r := l.webhook(t, all)
	kept := l.kept(t)
	l.asRendered(t, all)
	l.appliedAgain(t, all)
	for _, step := range []struct {
		name, values string
		args         []string
	}{
		{"the same again", everything, []string{"upgrade", release, folder, "-n", namespace, "-f", "-"}},
		{"more replicas", strings.Replace(everything, "webhook: {", "webhook: {replicas: 3, ", 1), []string{"upgrade", release, folder, "-n", namespace, "-f", "-"}},
		{"a rollback", everything, []string{"rollback", release, "1", "-n", namespace}},
	} {
		h.run(t, step.values, step.args...)
		if now := l.kept(t); !reflect.DeepEqual(now, kept) {
			t.Errorf("%s: the webhook's data has changed: %s", step.name, difference("", now, kept))
		}
		l.asRendered(t, documents(t, h.template(t, step.values)))
	}
	for values, want := range map[string]string{
		"agent: {names: node}":    "WARNING: the webhook learns nothing from agents, because agent.names is not api",
		"agent: {auth: true}":     "WARNING: the webhook learns nothing from agents, because agent.auth is true",
		"agent: {enabled: false}": "WARNING: the webhook learns nothing from agents, because agent.enabled is false",
	} {
		if said := h.run(t, "webhook: {enabled: true}\n"+values, "upgrade", release, folder, "-n", namespace, "--dry-run", "-f", "-"); !strings.Contains(said, want) {
			t.Errorf("%s: helm prints %s", values, said)
		}
	}
	// Disabled parts are removed.
	less := "policy: {enabled: true}\nconfig: {check: off}\n"
	h.run(t, less, "upgrade", release, folder, "-n", namespace, "-f", "-")
	want := titles(documents(t, h.template(t, less)))
	for _, found := range l.mentions(t, release) {
		if !slices.Contains(want, found) && !slices.Contains(before, found) && !strings.HasPrefix(found, "Secret/sh.helm.release.") && !strings.HasPrefix(found, "ServiceCIDR/") {
			t.Errorf("disabled, but exists: %s", found)
		}
	}
	r.Stop(t)
	h.run(t, "", "uninstall", release, "-n", namespace)
	l.gone(t)
}

// gone waits until nothing of the release is left.
func (l *lab) gone(t *testing.T) {
	t.Helper()
	var left []string
	defer func() {
		if t.Failed() {
			t.Logf("there is %q, want %q", left, before)
		}
	}()
	l.Until(t, "nothing is left", func() bool {
		left = l.mentions(t, release)
		return slices.Equal(left, before)
	})
}

// before lists the objects that mention the release's name before the installation.
var before = []string{"Namespace/" + namespace}

// webhook starts the webhook with the rights of the installed account and its arguments, except
// those about its pod.
func (l *lab) webhook(t *testing.T, all []kube.Object) *hook.Replica {
	t.Helper()
	var args []string
	config := filepath.Join(t.TempDir(), "config.yaml")
	for _, o := range all {
		switch title(o) {
		case "ConfigMap/snug-config":
			if err := os.WriteFile(config, []byte(text(of(o, "data", "config.yaml"))), 0o600); err != nil {
				t.Fatal(err)
			}
		case "Deployment/snug-webhook":
			for _, arg := range of(o, "spec", "template", "spec", "containers").([]any)[0].(kube.Object)["args"].([]any)[1:] {
				args = append(args, strings.Replace(fmt.Sprint(arg), "/etc/snug/config.yaml", config, 1))
			}
		}
	}
	// No agents run here, and the webhook must notice that. No endpoint needs time to drain.
	args = append(args, "--agents=127.0.0.1:1", "--drain=0s")
	r := hook.Start(t, l.snug, l.as(t, "snug-webhook"), hook.NewService(t), args...)
	l.Until(t, "the webhook has the stored fact", func() bool { return strings.Contains(r.Get("/metrics"), "\nsnug_webhook_facts 1\n") })
	return r
}

// as returns access with the rights of an account of the release.
func (l *lab) as(t *testing.T, account string) kube.Access {
	t.Helper()
	answer := l.must(t, http.MethodPost, "/api/v1/namespaces/"+namespace+"/serviceaccounts/"+account+"/token",
		kube.Object{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": kube.Object{}})
	at := l.cluster.Access
	at.TokenFile = filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(at.TokenFile, []byte(text(of(answer, "status", "token"))), 0o600); err != nil {
		t.Fatal(err)
	}
	return at
}

// fact is a fact in the webhook's format.
const fact = `[{"namespace":"shop","workload":"Deployment/web","container":"app","image":"registry.example/web:1","go":"1.22","blind":true,"first":%[1]d,"last":%[1]d}]` + "\n"

// writeFact writes a fact with the webhook's rights, because no agents run here.
func (l *lab) writeFact(t *testing.T) {
	t.Helper()
	c := *l.cluster
	c.Access = l.as(t, "snug-webhook")
	for _, verb := range []string{"get", "update"} {
		needed := right{"snug-webhook", verb, "", "configmaps", namespace, "snug-facts"}
		l.Until(t, needed.String(), func() bool { return l.may(t, needed) })
	}
	const path = "/api/v1/namespaces/" + namespace + "/configmaps/snug-facts"
	facts := c.must(t, http.MethodGet, path, nil)
	facts["data"] = kube.Object{"facts.json": fmt.Sprintf(fact, time.Now().Unix())}
	c.must(t, http.MethodPut, path, facts)
}

// kept returns the webhook's data, all of which must exist: its Secret, its facts and its CA.
func (l *lab) kept(t *testing.T) kube.Object {
	t.Helper()
	all := kube.Object{}
	for _, name := range []string{"secrets/snug-webhook", "configmaps/snug-facts"} {
		all[name] = of(l.must(t, http.MethodGet, "/api/v1/namespaces/"+namespace+"/"+name, nil), "data")
		if all[name] == nil {
			t.Errorf("%s has no data", name)
		}
	}
	o := l.must(t, http.MethodGet, "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/snug-webhook", nil)
	for _, w := range hook.List(o["webhooks"]) {
		bundle := text(of(w, "clientConfig", "caBundle"))
		if bundle == "" {
			t.Errorf("%v has no CA", w["name"])
		}
		all[text(w["name"])] = bundle
	}
	return all
}

// asRendered: the server stores every rendered value unchanged. ArgoCD compares these, and would
// correct any difference again and again.
func (l *lab) asRendered(t *testing.T, all []kube.Object) {
	t.Helper()
	for _, o := range all {
		live := l.live(t, o)
		if at := missing("", live, unmanaged(plain(t, o))); at != "" {
			t.Errorf("%s differs from its rendered form: %s", title(o), at)
		}
	}
}

// live returns an object as stored in the server.
func (l *lab) live(t *testing.T, o kube.Object) kube.Object {
	t.Helper()
	return unmanaged(l.must(t, http.MethodGet, l.path(t, o), nil))
}

// unmanaged removes a label: Helm overwrites app.kubernetes.io/managed-by with its own name.
func unmanaged(o kube.Object) kube.Object {
	labels, _ := meta(o)["labels"].(kube.Object)
	delete(labels, "app.kubernetes.io/managed-by")
	if len(labels) == 0 {
		delete(meta(o), "labels")
	}
	return o
}

// appliedAgain: applying the rendered objects once more changes nothing.
func (l *lab) appliedAgain(t *testing.T, all []kube.Object) {
	t.Helper()
	for _, o := range all {
		live := l.live(t, o)
		got := unmanaged(l.must(t, http.MethodPatch, l.path(t, o)+"?dryRun=All&force=true&fieldManager=argocd-controller&fieldValidation=Strict", o, "application/apply-patch+yaml"))
		for _, a := range []kube.Object{live, got} {
			for _, key := range []string{"managedFields", "resourceVersion", "warnings"} {
				delete(meta(a), key)
			}
		}
		if !reflect.DeepEqual(got, live) {
			t.Errorf("%s applied again: %s", title(o), difference("", got, live))
		}
	}
}

// missing describes the first value of want that differs in got; "" = none. Lists must have the
// same order.
func missing(at string, got, want any) string {
	switch w := want.(type) {
	case kube.Object:
		g, ok := got.(kube.Object)
		if !ok {
			return fmt.Sprintf("%s is %v", at, got)
		}
		for key := range w {
			if found := missing(at+"."+key, g[key], w[key]); found != "" {
				return found
			}
		}
	case []any:
		g, _ := got.([]any)
		if len(g) != len(w) {
			return fmt.Sprintf("%s is %v, not %v", at, got, want)
		}
		for i := range w {
			if found := missing(fmt.Sprint(at, "[", i, "]"), g[i], w[i]); found != "" {
				return found
			}
		}
	default:
		if !reflect.DeepEqual(got, want) {
			return fmt.Sprintf("%s is %v, not %v", at, got, want)
		}
	}
	return ""
}

// plain returns an object with the types of encoding/json.
func plain(t *testing.T, o kube.Object) kube.Object {
	t.Helper()
	encoded, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var p kube.Object
	if err := json.Unmarshal(encoded, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func object(version, kind, name string) kube.Object {
	return kube.Object{"apiVersion": version, "kind": kind, "metadata": kube.Object{"name": name}}
}
