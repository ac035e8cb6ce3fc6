// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/gate"
)

// everything enables all parts of the chart.
const everything = `webhook: {enabled: true, autoscaling: {enabled: true}}
policy: {enabled: true}
networkPolicy: {enabled: true, apiServers: [192.0.2.1/32, "2001:db8::/64"], readers: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]}
monitoring: {serviceMonitor: {enabled: true}, prometheusRule: {enabled: true}, dashboard: {enabled: true}}
`

func TestLint(t *testing.T) {
	gate.Need(t, "chart")
	each(t, func(t *testing.T, h client) {
		for _, values := range []string{"", everything} {
			h.run(t, values, "lint", "--strict", folder, "-f", "-")
		}
	})
}

var (
	agentBare    = []string{"ServiceAccount/snug-agent", "Service/snug-agent", "DaemonSet/snug-agent"}
	agentNames   = []string{"ClusterRole/snug-agent", "ClusterRoleBinding/snug-agent"}
	webhookPod   = []string{"PodDisruptionBudget/snug-webhook", "ServiceAccount/snug-webhook", "ConfigMap/snug-config", "Service/snug-webhook", "Deployment/snug-webhook", "MutatingWebhookConfiguration/snug-webhook"}
	webhookRole  = []string{"Role/snug-webhook", "RoleBinding/snug-webhook"}
	webhookCert  = []string{"Secret/snug-webhook", "ClusterRole/snug-webhook", "ClusterRoleBinding/snug-webhook"}
	webhookBare  = slices.Concat(webhookPod, webhookRole, webhookCert)
	webhookFacts = []string{"ConfigMap/snug-facts"}
	policyFit    = []string{"ServiceAccount/snug-policy", "MutatingAdmissionPolicy/snug-fit", "MutatingAdmissionPolicyBinding/snug-fit"}
	policyResize = []string{"ValidatingAdmissionPolicy/snug-resize", "ValidatingAdmissionPolicyBinding/snug-resize"}
	policyValues = []string{"ValidatingAdmissionPolicy/snug-values", "ValidatingAdmissionPolicyBinding/snug-values"}
)

// TestObjects: exactly the enabled objects are rendered, and rendering again gives the same text.
func TestObjects(t *testing.T) {
	gate.Need(t, "chart")
	all := func(lists ...[]string) []string { return slices.Concat(lists...) }
	monitors := "monitoring: {serviceMonitor: {enabled: true}}\n"
	each(t, func(t *testing.T, h client) {
		for _, c := range []struct {
			name, values string
			want         []string
		}{
			{"the defaults", "", agentBare},
			{"an agent with names from the API", "agent: {names: api}", all(agentBare, agentNames)},
			{"the same, as older charts say it", "agent: {names: true}", all(agentBare, agentNames)},
			{"no agent", "agent: {enabled: false}", nil},
			{"an agent without names", "agent: {names: false}", agentBare},
			{"an agent that asks who asks", "agent: {auth: true}\nwebhook: {enabled: true}", all(agentBare, []string{"ClusterRoleBinding/snug-agent-auth", "ClusterRole/snug-reader"}, webhookBare)},
			{"a webhook that learns", "webhook: {enabled: true}", all(agentBare, agentNames, webhookBare, webhookFacts)},
			{"a webhook that does not learn", "webhook: {enabled: true, learn: false}", all(agentBare, webhookBare)},
			{"a webhook and agents without names", "agent: {names: none}\nwebhook: {enabled: true}", all(agentBare, webhookBare)},
			{"only a webhook", "agent: {enabled: false}\nwebhook: {enabled: true}", webhookBare},
			{"policies", "agent: {enabled: false}\npolicy: {enabled: true}", all(policyFit, policyResize, policyValues)},
			{"policies without warnings", "agent: {enabled: false}\npolicy: {enabled: true}\nconfig: {check: off, resize: \"off\"}", policyFit},
			{"monitors of enabled parts", "agent: {names: false}\n" + monitors, all(agentBare, []string{"ServiceMonitor/snug-agent"})},
			{"monitors without parts", "agent: {enabled: false}\n" + monitors, nil},
			{"a webhook in a namespace of its own", "webhook: {enabled: true, namespace: web}\nagent: {enabled: false}", all(webhookBare, []string{"Namespace/web"})},
			{"a webhook in the namespace of the release", "webhook: {enabled: true, namespace: snug}\nagent: {enabled: false}", webhookBare},
			{"a certificate that the webhook does not make", "webhook: {enabled: true, certificate: {secretName: tls}}", all(agentBare, agentNames, webhookPod, webhookRole, webhookFacts)},
			{"a webhook that asks nobody", "webhook: {enabled: true, learn: false, certificate: {secretName: tls}}", all(agentBare, webhookPod)},
			{"network policies of enabled parts", "networkPolicy: {enabled: true}\nwebhook: {enabled: true}\nagent: {enabled: false}", all(webhookBare, []string{"NetworkPolicy/snug-webhook"})},
			{"everything", everything, all(agentBare, agentNames, webhookBare, webhookFacts, policyFit, policyResize, policyValues,
				[]string{"ServiceMonitor/snug-agent", "ServiceMonitor/snug-webhook", "PrometheusRule/snug", "ConfigMap/snug-dashboard", "NetworkPolicy/snug-agent", "NetworkPolicy/snug-webhook", "HorizontalPodAutoscaler/snug-webhook"})},
		} {
			text := h.template(t, c.values)
			got := titles(documents(t, text))
			slices.Sort(got)
			want := slices.Sorted(slices.Values(c.want))
			if !slices.Equal(got, want) {
				t.Errorf("%s:\ngot  %q\nwant %q", c.name, got, want)
			}
			if again := h.template(t, c.values); again != text {
				t.Errorf("%s: rendering again gives a different text", c.name)
			}
			if strings.Contains(text, "helm.sh/hook") {
				t.Errorf("%s: a hook, which only Helm runs", c.name)
			}
		}
	})
}

// TestState: the agent keeps what it has seen in a volume of its pod, unless a value says otherwise.
func TestState(t *testing.T) {
	gate.Need(t, "chart")
	each(t, func(t *testing.T, h client) {
		for _, c := range []struct{ values, volume string }{
			{"", "emptyDir: {sizeLimit: 16Mi}"},
			{"agent: {state: emptyDir}", "emptyDir: {sizeLimit: 16Mi}"},
			{"agent: {state: /var/lib/snug-agent}", `hostPath: {path: "/var/lib/snug-agent", type: DirectoryOrCreate}`},
			{`agent: {state: ""}`, ""},
		} {
			text := h.template(t, c.values)
			for _, part := range []string{"- --state=/state\n", "- {name: state, mountPath: /state}\n", "- name: state\n        " + c.volume + "\n"} {
				if n, want := strings.Count(text, part), min(1, len(c.volume)); n != want {
					t.Errorf("%q: %d times %q, want %d", c.values, n, part, want)
				}
			}
		}
	})
}

// TestTemplatesAreDeterministic: no template uses the cluster, the time or random values.
func TestTemplatesAreDeterministic(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(folder, "templates", "*"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no templates", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"lookup ", "rand", "genCA", "genSigned", "genSelf", "uuidv4", "{{ now", "(now)", "htpasswd", "getHostByName", ".Capabilities", ".Release.Revision", ".Release.IsInstall", ".Release.IsUpgrade"} {
			if strings.Contains(string(text), word) {
				t.Errorf("%s has %q", path, word)
			}
		}
	}
}

// TestRefusals: an invalid value causes one error, which names the value.
func TestRefusals(t *testing.T) {
	gate.Need(t, "chart")
	each(t, func(t *testing.T, h client) {
		for values, where := range map[string]string{
			"agnet: {enabled: true}":                                                  "agnet",
			"agent: {enable: true}":                                                   "enable",
			"agent: {enabled: maybe}":                                                 "/agent/enabled",
			"agent: {interval: 15}":                                                   "/agent/interval",
			"agent: {interval: 2h}":                                                   "/agent/interval",
			"agent: {interval: 500ms}":                                                "/agent/interval",
			"agent: {maxUnavailable: 0}":                                              "/agent/maxUnavailable",
			"agent: {maxUnavailable: 10}":                                             "",
			"agent: {appArmorProfile: unconfined}":                                    "/agent/appArmorProfile",
			"agent: {appArmorProfile: RuntimeDefault}":                                "",
			"agent: {seLinuxOptions: {types: spc_t}}":                                 "types",
			"webhook: {podAnnotations: {checksum/config: a}}":                         "checksum",
			"webhook: {podAnnotations: {checksum/other: a}}":                          "",
			"agent: {resources: {limit: {memory: 1Gi}}}":                              "limit",
			"agent: {resources: {limits: {memory: 1Gb}}}":                             "/agent/resources/limits/memory",
			"agent: {resources: {limits: {cpu: 1.5}}}":                                "",
			"agent: {podLabels: {app.kubernetes.io/name: other}}":                     "/agent/podLabels",
			"webhook: {replicas: 0}":                                                  "/webhook/replicas",
			"webhook: {tolerations: {operator: Exists}}":                              "/webhook/tolerations",
			"webhook: {namespace: Web}":                                               "/webhook/namespace",
			"webhook: {autoscaling: {enabled: true, cpu: 0}}":                         "/webhook/autoscaling/cpu",
			"webhook: {autoscaling: {maxReplicas: 1}}":                                "/webhook/autoscaling/maxReplicas",
			"webhook: {certificate: {secretName: TLS}}":                               "/webhook/certificate/secretName",
			"webhook: {certificate: {secret: tls}}":                                   "secret",
			"webhook: {extraArgs: [drain=1s]}":                                        "/webhook/extraArgs/0",
			"webhook: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone}]}": "whenUnsatisfiable",
			"agent: {state: var/lib}":                                                 "/agent/state",
			"agent: {state: emptyDir}":                                                "",
			"agent: {extraEnv: [{value: a}]}":                                         "/agent/extraEnv/0",
			"networkPolicy: {apiServers: [192.0.2.1]}":                                "/networkPolicy/apiServers/0",
			"networkPolicy: {readers: [{}]}":                                          "/networkPolicy/readers/0",
			"networkPolicy: {readers: [{selector: {}}]}":                              "selector",
			"image: {digest: latest}":                                                 "/image/digest",
			"image: {pullPolicy: Sometimes}":                                          "/image/pullPolicy",
			"config: {memory: 90}":                                                    "/config/memory",
			"config: {memory: 101%}":                                                  "/config/memory",
			"config: {memory: 0.5%}":                                                  "/config/memory",
			"config: {memory: 400MiB}":                                                "/config/memory",
			"config: {memory: 100%-1.5GiB}":                                           "/config/memory",
			"config: {memory: 99.5%-100MB}":                                           "",
			"config: {round: up}":                                                     "/config/round",
			"config: {minProcs: least}":                                               "/config/minProcs",
			"config: {minProcs: default}":                                             "",
			"config: {minProcs: 0}":                                                   "/config/minProcs",
			"config: {requestFactor: -1}":                                             "/config/requestFactor",
			"config: {requestFactor: 1001}":                                           "/config/requestFactor",
			"config: {mode: dry}":                                                     "/config/mode",
			"config: {inject: true}":                                                  "/config/inject",
			"config: {check: on}":                                                     "/config/check",
			"config: {resize: deny}":                                                  "/config/resize",
			"config: {name: Snug}":                                                    "/config/name",
			"config: {name: null}":                                                    "name",
			"config: {exclude: {namespaces: kube-system}}":                            "/config/exclude/namespaces",
			"config: {exclude: {namespaces: [a, a]}}":                                 "/config/exclude/namespaces",
			"config: {exclude: {pods: []}}":                                           "pods",
			"monitoring: {serviceMonitor: true}":                                      "/monitoring/serviceMonitor",
			"global: {anything: of a parent}":                                         "",
		} {
			_, err := h.try(t, values, "template", release, folder, "-n", namespace, kubeVersion, "-f", "-")
			switch {
			case where == "" && err != nil:
				t.Errorf("%s: %v", values, err)
			case where != "" && err == nil:
				t.Errorf("%s: accepted", values)
			case err != nil && (!strings.Contains(slashed(err.Error()), slashed(where)) || strings.Count(err.Error(), "\n- ") != 1):
				t.Errorf("%s: want one error about %s: %v", values, where, err)
			}
		}
	})
}

// slashed normalizes the paths in messages of all releases of Helm.
func slashed(text string) string { return strings.TrimPrefix(strings.ReplaceAll(text, ".", "/"), "/") }

// TestSettings: values reach their fields.
func TestSettings(t *testing.T) {
	gate.Need(t, "chart")
	each(t, func(t *testing.T, h client) {
		container := func(values, kind string) kube.Object {
			for _, o := range documents(t, h.template(t, values)) {
				if o["kind"] == kind {
					return of(o, "spec", "template", "spec", "containers").([]any)[0].(kube.Object)
				}
			}
			t.Fatalf("no %s of %s", kind, values)
			return nil
		}
		for _, c := range []struct {
			name, values, kind string
			args               []any
			image              string
			added              any
		}{
			{"the agent", "", "DaemonSet", []any{"agent", "--root=/host", "--interval=15s", "--names=node", "--state=/state"}, "ghcr.io/snug-go/snug:v0.1.0", []any{"SYS_PTRACE"}},
			{"an agent beside a webhook that learns", "webhook: {enabled: true}", "DaemonSet", []any{"agent", "--root=/host", "--interval=15s", "--names=api", "--state=/state"}, "ghcr.io/snug-go/snug:v0.1.0", []any{"SYS_PTRACE"}},
			{"an agent that reads no memory", "agent: {memory: false, names: false, interval: 1m}\nimage: {tag: v9}", "DaemonSet",
				[]any{"agent", "--root=/host", "--interval=1m", "--no-mem", "--state=/state"}, "ghcr.io/snug-go/snug:v9", nil},
			{"the webhook", "webhook: {enabled: true}\nimage: {repository: other.example/snug}", "Deployment",
				[]any{"webhook", "--config=/etc/snug/config.yaml", "--namespace=snug", "--agents=snug-agent.snug.svc:9464"}, "other.example/snug:v0.1.0", nil},
			{"a webhook without agents", "webhook: {enabled: true}\nagent: {enabled: false}\nimage: {digest: 'sha256:" + strings.Repeat("0a", 32) + "'}", "Deployment",
				[]any{"webhook", "--config=/etc/snug/config.yaml", "--namespace=snug"}, "ghcr.io/snug-go/snug@sha256:" + strings.Repeat("0a", 32), nil},
			{"a webhook apart, with a certificate of another program", "webhook: {enabled: true, namespace: web, certificate: {secretName: tls}, extraArgs: [--drain=1s]}", "Deployment",
				[]any{"webhook", "--config=/etc/snug/config.yaml", "--namespace=web", "--agents=snug-agent.snug.svc:9464", "--cert-file=/etc/snug-tls/tls.crt", "--key-file=/etc/snug-tls/tls.key", "--drain=1s"}, "ghcr.io/snug-go/snug:v0.1.0", nil},
			{"an agent that keeps nothing", "agent: {state: ''}", "DaemonSet", []any{"agent", "--root=/host", "--interval=15s", "--names=node"}, "ghcr.io/snug-go/snug:v0.1.0", []any{"SYS_PTRACE"}},
			{"an agent with more flags", "agent: {names: false, auth: true, extraArgs: [--listen=:9464]}", "DaemonSet", []any{"agent", "--root=/host", "--interval=15s", "--auth", "--state=/state", "--listen=:9464"}, "ghcr.io/snug-go/snug:v0.1.0", []any{"SYS_PTRACE"}},
		} {
			got := container(c.values, c.kind)
			if !slices.Equal(got["args"].([]any), c.args) || got["image"] != c.image {
				t.Errorf("%s: %v of %v", c.name, got["args"], got["image"])
			}
			added, _ := of(got, "securityContext", "capabilities", "add").([]any)
			want, _ := c.added.([]any)
			if !slices.Equal(added, want) {
				t.Errorf("%s: capabilities %v", c.name, added)
			}
		}
		checksum := func(values string) any {
			for _, o := range documents(t, h.template(t, "webhook: {enabled: true}\n"+values)) {
				if o["kind"] == "Deployment" {
					return of(o, "spec", "template", "metadata", "annotations", "checksum/config")
				}
			}
			return nil
		}
		if one := checksum(""); one == nil || one != checksum("webhook: {enabled: true, replicas: 3}") || one == checksum("config: {mode: observe}") {
			t.Errorf("checksum of the configuration: %v", one)
		}
	})
}

// TestNeedsImage: if the default image is taken away, helm fails and asks for one.
func TestNeedsImage(t *testing.T) {
	gate.Need(t, "chart")
	each(t, func(t *testing.T, h client) {
		for set, needed := range map[string]bool{
			"agent.enabled=true":                             true,
			"agent.enabled=false,webhook.enabled=true":       true,
			"image.digest=sha256:" + strings.Repeat("0", 64): true,
			"agent.enabled=false,policy.enabled=true":        false,
			"agent.enabled=false,policy.checks=true":         false,
		} {
			_, err := h.try(t, "", "template", release, folder, "-n", namespace, kubeVersion, "--set", "image.repository=,"+set)
			if needed != (err != nil) || needed && !strings.Contains(err.Error(), "image.repository is empty; hint: ") {
				t.Errorf("%s: %v", set, err)
			}
		}
	})
}

// TestSecurity: the agent's AppArmor and SELinux settings.
func TestSecurity(t *testing.T) {
	gate.Need(t, "chart")
	each(t, func(t *testing.T, h client) {
		context := func(values string) kube.Object {
			for _, o := range documents(t, h.template(t, values)) {
				if o["kind"] == "DaemonSet" {
					return of(of(o, "spec", "template", "spec", "containers").([]any)[0], "securityContext").(kube.Object)
				}
			}
			t.Fatal("no agent")
			return nil
		}
		bare := context("")
		if bare["appArmorProfile"] != nil || bare["seLinuxOptions"] != nil {
			t.Errorf("by default: %v", bare)
		}
		got := context("agent: {appArmorProfile: Unconfined, seLinuxOptions: {type: spc_t, level: s0}}")
		want := maps.Clone(bare)
		want["appArmorProfile"], want["seLinuxOptions"] = kube.Object{"type": "Unconfined"}, kube.Object{"type": "spc_t", "level": "s0"}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

// TestOwnPods: neither policies nor webhook change snug's own pods, because these are opted out.
func TestOwnPods(t *testing.T) {
	gate.Need(t, "chart")
	each(t, func(t *testing.T, h client) {
		found := 0
		for _, o := range documents(t, h.template(t, "webhook: {enabled: true, podLabels: {team: a}}")) {
			if labels, ok := of(o, "spec", "template", "metadata", "labels").(kube.Object); ok {
				found++
				if labels["snug.dev/inject"] != "disabled" || labels["team"] == nil == (o["kind"] == "Deployment") {
					t.Errorf("%s: labels %v", title(o), labels)
				}
			}
		}
		if found != 2 {
			t.Errorf("%d pod templates", found)
		}
	})
}

// TestLabels: a label of the user overrides the chart's label of the same name. It must occur only
// once, because a duplicate key is invalid YAML.
func TestLabels(t *testing.T) {
	gate.Need(t, "chart")
	const own = "{app.kubernetes.io/instance: mine, release: prometheus}"
	each(t, func(t *testing.T, h client) {
		found := 0
		for _, o := range documents(t, h.template(t, "webhook: {enabled: true}\nmonitoring: {serviceMonitor: {enabled: true, labels: "+own+"}, prometheusRule: {enabled: true, labels: "+own+"}, dashboard: {enabled: true, labels: "+own+"}}")) {
			labels, _ := meta(o)["labels"].(kube.Object)
			if labels["release"] == nil {
				continue
			}
			found++
			if labels["app.kubernetes.io/instance"] != "mine" || labels["app.kubernetes.io/part-of"] != "snug" {
				t.Errorf("%s: %v", title(o), labels)
			}
		}
		if found != 4 {
			t.Errorf("%d objects", found)
		}
	})
}

// TestNumber: a release and a namespace may have a number as their name, and are rendered as
// strings.
func TestNumber(t *testing.T) {
	gate.Need(t, "chart")
	each(t, func(t *testing.T, h client) {
		for _, o := range documents(t, h.run(t, everything, "template", "42", folder, "-n", "42", kubeVersion, "-f", "-")) {
			for at, found := range words(title(o), o) {
				if _, ok := found.(string); !ok {
					t.Errorf("%s is %T", at, found)
				}
			}
		}
	})
}

// words returns all names, namespaces and labels in an object, by path.
func words(at string, o any) map[string]any {
	all := map[string]any{}
	switch o := o.(type) {
	case kube.Object:
		for key, value := range o {
			switch key {
			case "name", "namespace":
				all[at+"."+key] = value
			case "labels", "matchLabels", "annotations":
				for label, value := range value.(kube.Object) {
					all[at+"."+key+"."+label] = value
				}
			default:
				maps.Copy(all, words(at+"."+key, value))
			}
		}
	case []any:
		for i, value := range o {
			maps.Copy(all, words(fmt.Sprint(at, "[", i, "]"), value))
		}
	}
	return all
}

// TestAlerts: the alerts of installed parts are rendered, unchanged from their file.
func TestAlerts(t *testing.T) {
	gate.Need(t, "chart")
	file, err := os.ReadFile(filepath.Join(folder, "files", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	groups := map[any]kube.Object{}
	for _, g := range of(documents(t, string(file))[0], "groups").([]any) {
		groups[g.(kube.Object)["name"]] = g.(kube.Object)
	}
	each(t, func(t *testing.T, h client) {
		for values, want := range map[string][]string{
			"":                           {"snug-go", "snug-agent"},
			"webhook: {enabled: true}\n": {"snug-go", "snug-agent", "snug-webhook"},
			"webhook: {enabled: true}\nagent: {enabled: false}\n": {"snug-go", "snug-webhook"},
		} {
			for _, o := range documents(t, h.template(t, values+"monitoring: {prometheusRule: {enabled: true}}", "templates/monitoring.yaml")) {
				var names []string
				for _, g := range of(o, "spec", "groups").([]any) {
					name := text(of(g, "name"))
					names = append(names, name)
					if !reflect.DeepEqual(g, groups[name]) {
						t.Errorf("%q: %s: %s", values, name, difference("", g, groups[name]))
					}
				}
				if !slices.Equal(names, want) {
					t.Errorf("%q: %q, want %q", values, names, want)
				}
			}
		}
	})
}

// of returns the value at a path of an object; nil = none.
func of(o any, path ...string) any {
	for _, key := range path {
		m, _ := o.(kube.Object)
		o = m[key]
	}
	return o
}
