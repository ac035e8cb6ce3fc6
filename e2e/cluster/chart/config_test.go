// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/hook"
)

// TestConfig: from the same configuration, the chart and the tool make the same policies, webhook
// registration and webhook configuration.
func TestConfig(t *testing.T) {
	gate.Need(t, "chart")
	snug := hook.Tool(t)
	configs := []string{
		"{}",
		"mode: observe\n",
		"inject: all\n",
		"name: team\nmode: observe\ninject: all\nmemory: 99%-100MiB\nround: floor\nminProcs: 2\nrequestFactor: 1.5\nenvFrom: add\nexclude: {namespaces: [infra], containers: [proxy, agent]}\ncheck: deny\nresize: off\n",
		"memory: 75%\n",
		"check: off\nresize: off\nexclude: {namespaces: [], containers: []}\n",
		"check: \"off\"\nround: nearest\nexclude: {namespaces: [snug]}\n",
		"memory: 90%\nminProcs: 8192\n",
		"memory: 100%\nrequestFactor: 2\n",
		"memory: 1%-1\nrequestFactor: 0.000001\n",
		"memory: 33.333333%-999999TiB\nrequestFactor: 1000\nround: nearest\n",
		"name: \"42\"\nexclude: {namespaces: [\"7\", \"null\"], containers: [\"1e3\", \"off\"]}\n",
	}
	// A fixed seed.
	r := rand.New(rand.NewPCG(8, 8))
	for range 25 {
		configs = append(configs, random(t, r))
	}
	// Cached: the tool's output does not depend on Helm's release.
	said := map[string][]kube.Object{}
	says := func(config string, args ...string) []kube.Object {
		key := fmt.Sprint(args, config)
		if said[key] == nil {
			said[key] = documents(t, tool(t, snug, config, args...))
		}
		return said[key]
	}
	each(t, func(t *testing.T, h client) {
		for _, config := range configs {
			values := "webhook: {enabled: true}\npolicy: {enabled: true}\nconfig:\n  " + strings.ReplaceAll(strings.TrimSpace(config), "\n", "\n  ")
			var policies, registration []kube.Object
			var own []string
			for _, o := range documents(t, h.template(t, values, "templates/policy.yaml", "templates/webhook.yaml")) {
				switch kind := text(o["kind"]); {
				case strings.Contains(kind, "AdmissionPolicy"):
					unbound(t, o)
					policies = append(policies, o)
				case strings.HasSuffix(kind, "WebhookConfiguration"):
					registration = append(registration, o)
				case kind == "ConfigMap":
					own = append(own, fmt.Sprint(of(o, "data", "config.yaml")))
				}
			}
			same(t, config, "policies", policies, says(config, "policy", "-"))
			same(t, config, "registration", registration, says(config, "webhook", "--register", "--namespace", namespace, "--config", "-"))
			// The webhook's configuration file is equivalent.
			if len(own) != 1 {
				t.Fatalf("%s: %d configurations", config, len(own))
			}
			same(t, config, "policies of the webhook's configuration", says(own[0], "policy", "-"), says(config, "policy", "-"))
		}
	})
}

// unbound removes what ties a policy to the release's namespace: the tool knows none.
func unbound(t *testing.T, o kube.Object) {
	t.Helper()
	spec := of(o, "spec").(kube.Object)
	key, want := "paramKind", kube.Object{"apiVersion": "v1", "kind": "ServiceAccount"}
	if strings.HasSuffix(text(o["kind"]), "Binding") {
		key, want = "paramRef", kube.Object{"name": "snug-policy", "namespace": namespace, "parameterNotFoundAction": "Allow"}
	}
	if !reflect.DeepEqual(spec[key], want) {
		t.Errorf("%s: %s %v", title(o), key, spec[key])
	}
	delete(spec, key)
}

// random returns a random configuration, in which any key may be missing.
func random(t *testing.T, r *rand.Rand) string {
	t.Helper()
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	memory := fmt.Sprint(1+r.IntN(99), "%")
	switch r.IntN(4) {
	case 0:
		memory = fmt.Sprintf("%.*f%%", 1+r.IntN(6), 1+98*r.Float64())
	case 1:
		memory += fmt.Sprint("-", 1+r.IntN(2000), pick("", "B", "k", "K", "Ki", "KiB", "M", "Mi", "MB", "MiB", "G", "GiB", "TB"))
	case 2:
		memory = "default"
	}
	// Up to six decimals, without trailing zeros.
	factor := strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.*f", 1+r.IntN(6), 4*r.Float64()), "0"), ".")
	c := kube.Object{
		"name":          pick("snug", "a", "team-1", strings.Repeat("x", 40)),
		"mode":          pick("enforce", "observe"),
		"inject":        pick("labelled", "all"),
		"memory":        memory,
		"round":         pick("ceil", "floor", "nearest"),
		"minProcs":      []any{"default", 1, 2, 1 + r.IntN(4)}[r.IntN(4)],
		"requestFactor": &yaml.Node{Kind: yaml.ScalarNode, Value: factor},
		"envFrom":       pick("leave", "add"),
		"exclude": kube.Object{
			"namespaces": []string{"kube-system", "infra", "snug"}[:r.IntN(4)],
			"containers": []string{"proxy", "agent"}[:r.IntN(3)],
		},
		"check":  pick("warn", "deny", "off"),
		"resize": pick("warn", "off"),
	}
	for _, key := range slices.Sorted(maps.Keys(c)) {
		if r.IntN(4) == 0 {
			delete(c, key)
		}
	}
	text, err := yaml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// tool runs the tool with a configuration on its standard input.
func tool(t *testing.T, snug, config string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), snug, args...)
	cmd.Stdin = strings.NewReader(config)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("snug %s: %v\n%s\n%s", strings.Join(args, " "), err, said.Bytes(), config)
	}
	return string(out)
}

// same compares objects after sorting them, because Helm sorts by kind.
func same(t *testing.T, config, what string, g, w []kube.Object) {
	t.Helper()
	for _, all := range [][]kube.Object{g, w} {
		slices.SortFunc(all, func(a, b kube.Object) int { return strings.Compare(title(a), title(b)) })
	}
	if len(w) == 0 || len(g) != len(w) {
		t.Errorf("%s of\n%s\nare %q, want the tool's %q", what, config, titles(g), titles(w))
		return
	}
	for i := range w {
		if !reflect.DeepEqual(g[i], w[i]) {
			t.Errorf("%s of\n%s: %s differs: %s", what, config, title(w[i]), difference("", g[i], w[i]))
		}
	}
}

// difference describes the first difference between two values.
func difference(at string, got, want any) string {
	switch w := want.(type) {
	case kube.Object:
		g, _ := got.(kube.Object)
		for key := range w {
			if !reflect.DeepEqual(g[key], w[key]) {
				return difference(at+"."+key, g[key], w[key])
			}
		}
	case []any:
		g, _ := got.([]any)
		for i := range min(len(g), len(w)) {
			if !reflect.DeepEqual(g[i], w[i]) {
				return difference(fmt.Sprint(at, "[", i, "]"), g[i], w[i])
			}
		}
	}
	return fmt.Sprintf("%s\ngot  %v\nwant %v", at, got, want)
}
