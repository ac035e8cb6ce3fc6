// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/hook"
)

// TestApart: with webhook.namespace, everything of the webhook is in that namespace, and nothing
// else is.
func TestApart(t *testing.T) {
	gate.Need(t, "chart")
	each(t, func(t *testing.T, h client) {
		for _, o := range documents(t, h.template(t, apart("web"))) {
			if title(o) == "Namespace/web" {
				if got := of(o, "metadata", "labels", "pod-security.kubernetes.io/enforce"); got != "restricted" {
					t.Errorf("Pod Security %v", got)
				}
				continue
			}
			want := namespace
			if of(o, "metadata", "labels", "app.kubernetes.io/component") == "webhook" {
				want = "web"
			}
			if got := meta(o)["namespace"]; got != nil && got != want {
				t.Errorf("%s is in %v, want %s", title(o), got, want)
			}
			for _, s := range hook.List(o["subjects"]) {
				if of(s, "namespace") != want {
					t.Errorf("%s: %v, want %s", title(o), s, want)
				}
			}
			for _, w := range hook.List(o["webhooks"]) {
				if got := of(w, "clientConfig", "service", "namespace"); got != "web" {
					t.Errorf("%s: service in %v", title(o), got)
				}
			}
		}
	})
}

// apart is everything, with the webhook in a namespace of its own.
func apart(webhook string) string {
	return strings.Replace(everything, "webhook: {", "webhook: {namespace: "+webhook+", ", 1)
}

// TestCommonLabel: all objects have the label by which README.md removes them.
func TestCommonLabel(t *testing.T) {
	gate.Need(t, "chart")
	each(t, func(t *testing.T, h client) {
		for _, o := range documents(t, h.template(t, apart("web"))) {
			if of(o, "metadata", "labels", "app.kubernetes.io/part-of") != "snug" {
				t.Errorf("%s: %v", title(o), meta(o)["labels"])
			}
		}
	})
}

// TestNetworkPolicies: who reaches whom, by the rules of the Kubernetes documentation. No network
// of a cluster runs here.
func TestNetworkPolicies(t *testing.T) {
	gate.Need(t, "chart")
	const on = "networkPolicy: {enabled: true}\nwebhook: {enabled: true}\n"
	const known = "networkPolicy: {enabled: true, apiServers: [192.0.2.1/32], readers: [{podSelector: {}}]}\nwebhook:\n  enabled: true\n"
	const servers, readers = `{"ipBlock":{"cidr":"192.0.2.1/32"}}`, `{"podSelector":{}}`
	webhook := func(namespace string) string {
		return fmt.Sprintf(`{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":%q}},"podSelector":{"matchLabels":{"app.kubernetes.io/component":"webhook","app.kubernetes.io/instance":"snug","app.kubernetes.io/name":"snug"}}}`, namespace)
	}
	each(t, func(t *testing.T, h client) {
		for _, c := range []struct {
			name, values string
			want         map[string]string // "" = everybody
		}{
			{"without addresses", on, map[string]string{"agent 9464": webhook("snug"), "webhook 9443": ""}},
			{"without names and readers", on + "agent: {names: false}", map[string]string{"webhook 9443": "", "agent egress": "nobody"}},
			{"with addresses and readers", known, map[string]string{
				"agent 9464": readers + " " + servers + " " + webhook("snug"), "agent egress": servers, "webhook 9443": servers, "webhook 9465": readers,
			}},
			{"with a namespace of the webhook", known + "  namespace: web\n", map[string]string{
				"agent 9464": readers + " " + servers + " " + webhook("web"), "agent egress": servers, "webhook 9443": servers, "webhook 9465": readers,
			}},
		} {
			got := map[string]string{}
			for _, o := range documents(t, h.template(t, c.values, "templates/network.yaml")) {
				part := strings.TrimPrefix(text(meta(o)["name"]), "snug-")
				if of(o, "spec", "podSelector", "matchLabels", "app.kubernetes.io/component") != part {
					t.Errorf("%s: %s selects %v", c.name, title(o), of(o, "spec", "podSelector"))
				}
				for _, rule := range hook.List(of(o, "spec", "ingress")) {
					for _, port := range hook.List(of(rule, "ports")) {
						got[fmt.Sprint(part, " ", of(port, "port"))] = peers(t, of(rule, "from"))
					}
				}
				if slices.Contains(of(o, "spec", "policyTypes").([]any), any("Egress")) {
					got[part+" egress"] = "nobody"
					for _, rule := range hook.List(of(o, "spec", "egress")) {
						got[part+" egress"] = peers(t, of(rule, "to"))
					}
				}
			}
			if !maps.Equal(got, c.want) {
				t.Errorf("%s:\ngot  %v\nwant %v", c.name, got, c.want)
			}
		}
	})
}

// peers returns the peers of a rule as JSON; "" = everybody.
func peers(t *testing.T, of any) string {
	t.Helper()
	var all []string
	for _, p := range hook.List(of) {
		encoded, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(encoded))
	}
	return strings.Join(all, " ")
}
