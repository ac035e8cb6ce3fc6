// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/gate"
)

// rights: each account has the rights that it needs, and not those listed as refused.
func (l *lab) rights(t *testing.T) {
	h := newHelm(t, "helm4", l.kubeconfig)
	h.run(t, everything, "install", release, folder, "-n", namespace, "-f", "-")
	defer h.run(t, "", "uninstall", release, "-n", namespace)
	all := []struct {
		right
		want bool
	}{
		{right{"snug-agent", "list", "", "pods", "", ""}, true},
		{right{"snug-agent", "watch", "", "pods", "", ""}, true},
		{right{"snug-agent", "get", "", "pods", "other", "a"}, false},
		{right{"snug-agent", "delete", "", "pods", "other", "a"}, false},
		{right{"snug-agent", "list", "", "secrets", "", ""}, false},
		{right{"snug-agent", "get", "", "secrets", namespace, "snug-webhook"}, false},
		{right{"snug-agent", "list", "", "nodes", "", ""}, false},
		{right{"snug-webhook", "get", "", "secrets", namespace, "snug-webhook"}, true},
		{right{"snug-webhook", "update", "", "secrets", namespace, "snug-webhook"}, true},
		{right{"snug-webhook", "get", "", "secrets", namespace, "another"}, false},
		{right{"snug-webhook", "list", "", "secrets", namespace, ""}, false},
		{right{"snug-webhook", "create", "", "secrets", namespace, ""}, false},
		{right{"snug-webhook", "get", "", "secrets", "other", "snug-webhook"}, false},
		{right{"snug-webhook", "update", "", "configmaps", namespace, "snug-facts"}, true},
		{right{"snug-webhook", "update", "", "configmaps", namespace, "snug-config"}, false},
		{right{"snug-webhook", "create", "", "configmaps", namespace, ""}, false},
		{right{"snug-webhook", "patch", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "", "snug-webhook"}, true},
		{right{"snug-webhook", "patch", "admissionregistration.k8s.io", "validatingwebhookconfigurations", "", "snug-webhook"}, false},
		{right{"snug-webhook", "patch", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "", "another"}, false},
		{right{"snug-webhook", "update", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "", "snug-webhook"}, false},
		{right{"snug-webhook", "delete", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "", "snug-webhook"}, false},
		{right{"snug-webhook", "list", "", "pods", "", ""}, false},
		{right{"snug-webhook", "create", "", "pods", "other", ""}, false},
	}
	for _, c := range all {
		if c.want {
			l.Until(t, c.String(), func() bool { return l.may(t, c.right) })
		}
	}
	for _, c := range all {
		if got := l.may(t, c.right); got != c.want {
			t.Errorf("%s: %v", c, got)
		}
	}
}

// right is a right of an account of the release.
type right struct{ account, verb, group, resource, namespace, name string }

func (r right) String() string {
	return fmt.Sprintf("%s may %s %s %s in %q", r.account, r.verb, r.resource, r.name, r.namespace)
}

// may returns the server's decision on a right. New roles and bindings take effect after a delay.
func (l *lab) may(t *testing.T, r right) bool {
	t.Helper()
	return l.allowed(t, namespace+":"+r.account, r)
}

// allowed is may for an account of any namespace, "snug:snug-agent".
func (l *lab) allowed(t *testing.T, account string, r right) bool {
	t.Helper()
	answer := l.must(t, http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", kube.Object{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": kube.Object{
			"user": "system:serviceaccount:" + account, "groups": []string{"system:serviceaccounts", "system:authenticated"},
			"resourceAttributes": kube.Object{"verb": r.verb, "group": r.group, "resource": r.resource, "namespace": r.namespace, "name": r.name},
		}})
	return of(answer, "status", "allowed") == true
}

// TestRules checks all rules of the roles; rights asks a server about some of them.
func TestRules(t *testing.T) {
	gate.Need(t, "chart")
	const pods = `{"apiGroups":[""],"resources":["pods"],"verbs":["list","watch"]}`
	const secret = `{"apiGroups":[""],"resourceNames":["snug-webhook"],"resources":["secrets"],"verbs":["get","update"]}`
	const facts = `{"apiGroups":[""],"resourceNames":["snug-facts"],"resources":["configmaps"],"verbs":["get","update"]}`
	const own = `{"apiGroups":["admissionregistration.k8s.io"],"resourceNames":["%s-webhook"],"resources":["mutatingwebhookconfigurations"],"verbs":["get","patch"]}`
	each(t, func(t *testing.T, h client) {
		for _, c := range []struct {
			values string
			want   map[string]string
		}{
			{"", map[string]string{}},
			{"agent: {names: api}", map[string]string{"ClusterRole/snug-agent": "[" + pods + "]"}},
			{"agent: {names: false}", map[string]string{}},
			{"agent: {names: false, auth: true}", map[string]string{"ClusterRole/snug-reader": `[{"nonResourceURLs":["/","/findings","/metrics","/needs"],"verbs":["get"]}]`}},
			{everything, map[string]string{
				"ClusterRole/snug-agent": "[" + pods + "]", "Role/snug-webhook": "[" + secret + "," + facts + "]", "ClusterRole/snug-webhook": "[" + fmt.Sprintf(own, "snug") + "]",
			}},
			{"agent: {enabled: false}\nwebhook: {enabled: true}\nconfig: {name: team}", map[string]string{
				"Role/snug-webhook": "[" + secret + "]", "ClusterRole/snug-webhook": "[" + fmt.Sprintf(own, "team") + "]",
			}},
		} {
			got, bound := map[string]string{}, map[string]bool{}
			for _, o := range documents(t, h.template(t, c.values)) {
				switch kind := text(o["kind"]); {
				case strings.HasSuffix(kind, "Role"):
					rules, err := json.Marshal(o["rules"])
					if err != nil {
						t.Fatal(err)
					}
					got[title(o)] = string(rules)
					if title(o) == "ClusterRole/snug-reader" { // for users to bind
						bound[title(o)] = true
					}
					if len(o) != 4 { // aggregationRule would add rules
						t.Errorf("%s: %v", title(o), o)
					}
				case strings.HasSuffix(kind, "RoleBinding"):
					subjects, err := json.Marshal(o["subjects"])
					if err != nil {
						t.Fatal(err)
					}
					name := text(of(o, "roleRef", "name"))
					if name == "system:auth-delegator" { // Kubernetes has it
						name = "snug-agent"
					} else {
						bound[text(of(o, "roleRef", "kind"))+"/"+name] = true
					}
					if want := fmt.Sprintf(`[{"kind":"ServiceAccount","name":%q,"namespace":%q}]`, name, namespace); string(subjects) != want {
						t.Errorf("%s: to %s", title(o), subjects)
					}
				}
			}
			if !maps.Equal(got, c.want) {
				t.Errorf("%s:\ngot  %q\nwant %q", c.values, got, c.want)
			}
			for role := range bound {
				if got[role] == "" {
					t.Errorf("%s: bound to %s, which is not in the chart", c.values, role)
				}
			}
			if len(bound) != len(got) {
				t.Errorf("%s: %d of %d are bound", c.values, len(bound), len(got))
			}
		}
	})
}

// podSecurity: the webhook's pods are allowed where the level restricted is enforced. The agent's
// pods need the level privileged, for three reasons only.
func (l *lab) podSecurity(t *testing.T) {
	for _, level := range []string{"restricted", "baseline", "privileged"} {
		o := object("v1", "Namespace", level)
		meta(o)["labels"] = kube.Object{"pod-security.kubernetes.io/enforce": level}
		l.must(t, http.MethodPost, "/api/v1/namespaces", o)
	}
	h := newHelm(t, "helm4", "")
	for _, o := range documents(t, h.template(t, everything)) {
		if o["kind"] != "DaemonSet" && o["kind"] != "Deployment" {
			continue
		}
		pod := of(o, "spec", "template").(kube.Object)
		pod["apiVersion"], pod["kind"] = "v1", "Pod"
		meta(pod)["name"] = "a"
		for _, level := range []string{"restricted", "baseline", "privileged"} {
			code, got := l.ask(t, http.MethodPost, "/api/v1/namespaces/"+level+"/pods?dryRun=All&fieldValidation=Strict", pod)
			var broken []string
			if code != http.StatusCreated {
				broken = rules(text(got["message"]))
			}
			var want []string
			if o["kind"] == "DaemonSet" && level != "privileged" {
				want = []string{"host namespaces", "hostPath volumes", "non-default capabilities"}
			}
			if o["kind"] == "DaemonSet" && level == "restricted" {
				want = []string{"host namespaces", "restricted volume types", "runAsNonRoot != true", "runAsUser=0", "unrestricted capabilities"}
			}
			if !slices.Equal(broken, want) {
				t.Errorf("%s with %s enforced: %d %q, want %q\n%v", title(o), level, code, broken, want, got["message"])
			}
		}
	}
}

// rules returns the sorted names of the violated rules in a message of Pod Security:
//
//	pods "a" is forbidden: violates PodSecurity "baseline:latest": RULE (why), RULE (why)
func rules(message string) []string {
	_, message, found := strings.Cut(message, `:latest": `)
	if !found {
		return []string{message}
	}
	var names []string
	for part := range strings.SplitSeq(message, "), ") {
		name, _, _ := strings.Cut(part, " (")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
