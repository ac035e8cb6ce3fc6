// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// randomPods is the number of random pods per configuration.
const randomPods = 300

// given is a container in the output of `snug policy --try --json`.
type given struct {
	Object, Container string
	OptedIn           *bool `json:"opted_in"`
	Env               []struct {
		Name            string
		Value, Resource *string
	}
	RestartOn []string `json:"restart_on"`
}

// random: of random pods, the server stores what the tool predicts without a server.
func (p *policies) random(t *testing.T) {
	for i, config := range []string{"", nonDefault, "name: third\nmemory: 75%\nround: nearest\nminProcs: 1\nrequestFactor: 0.3\nexclude: {namespaces: [], containers: [b]}\ncheck: off\nresize: off\n"} {
		t.Run(fmt.Sprintf("configuration %d", i), func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, uint64(i)))
			var manifests strings.Builder
			manifests.WriteString(limitRange)
			p.apply(t, config)
			pods := make([]Object, randomPods)
			for j := range pods {
				pods[j] = randomPod(r, fmt.Sprintf("random-%d", j))
				text, err := json.Marshal(pods[j])
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&manifests, "\n---\n%s\n", text)
			}
			dir := t.TempDir()
			file := filepath.Join(dir, "pods.yaml")
			args := []string{"policy", "--json", "--try", file}
			if err := os.WriteFile(file, []byte(manifests.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			if config != "" {
				args = append(args, filepath.Join(dir, "snug.yaml"))
				if err := os.WriteFile(args[len(args)-1], []byte(config), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			var says struct{ Containers []given }
			if err := json.Unmarshal([]byte(p.tool(t, args...)), &says); err != nil {
				t.Fatal(err)
			}
			byPod := map[string][]given{}
			for _, g := range says.Containers {
				byPod[g.Object] = append(byPod[g.Object], g)
			}

			refused, gifts := 0, 0
			for _, pod := range pods {
				meta := pod["metadata"].(Object)
				want, n := p.expected(t, pod, byPod[fmt.Sprintf("Pod %v/%v", meta["namespace"], meta["name"])], strings.Contains(config, "inject: all"))
				gifts += n
				path := fmt.Sprintf("/api/v1/namespaces/%v/pods?dryRun=All", meta["namespace"])
				a := p.Create(t, path, pod)
				if !a.OK() {
					refused++
					// The pod itself must be invalid, not what snug added to it.
					without := Object{"metadata": Object{"name": meta["name"], "labels": Object{"snug.dev/inject": "disabled"}}, "spec": pod["spec"]}
					if p.Create(t, path, without).OK() {
						t.Errorf("refused because of what was added: %s\n%s", a.Message(), show(pod))
					}
					continue
				}
				if got := stored(a.Object); got != want {
					t.Errorf("\nstored %s\nwant   %s\n%s", got, want, show(pod))
				}
			}
			t.Logf("%d pods, %d refused, %d additions", randomPods, refused, gifts)
			if refused > randomPods/2 || gifts < randomPods/4 {
				t.Errorf("%d of %d pods were refused, %d additions: too few for a test", refused, randomPods, gifts)
			}
		})
	}
}

// limitRange belongs to the namespace limited; the tool gets it as a manifest.
const limitRange = `apiVersion: v1
kind: LimitRange
metadata: {name: defaults, namespace: limited}
spec: {limits: [{type: Container, default: {memory: 300Mi, cpu: 1200m}, defaultRequest: {memory: 100Mi, cpu: 100m}}]}`

// expected returns the pod as it should be stored, and the number of additions.
func (p *policies) expected(t *testing.T, pod Object, says []given, all bool) (string, int) {
	t.Helper()
	labelled := namespaceLabels[fmt.Sprint(pod["metadata"].(Object)["namespace"])]
	n := 0
	var line []string
	for _, c := range containers(pod) {
		i := slices.IndexFunc(says, func(g given) bool { return g.Container == c["name"] })
		if i < 0 {
			t.Fatalf("no prediction for container %v of\n%s", c["name"], show(pod))
		}
		g := says[i]
		// null means that the labels of the namespace decide, which the tool does not see.
		if in := g.OptedIn; in == nil && (labelled == "enabled" || all && labelled != "disabled") || in != nil && *in {
			variables, resize := list(c["env"]), list(c["resizePolicy"])
			for _, e := range g.Env {
				switch {
				case e.Value == nil:
					variables = append(variables, Object{"name": e.Name, "valueFrom": Object{"resourceFieldRef": Object{"resource": *e.Resource, "divisor": "1"}}})
				case !replace(variables, e.Name, *e.Value):
					variables = append(variables, Object{"name": e.Name, "value": *e.Value})
				}
			}
			for _, r := range g.RestartOn {
				resize = append(resize, Object{"resourceName": r, "restartPolicy": "RestartContainer"})
			}
			n += len(g.Env) + len(g.RestartOn)
			c = Object{"name": c["name"], "env": anys(variables), "resizePolicy": anys(resize)}
		}
		line = append(line, stored(Object{"spec": Object{"containers": []any{c}}}))
	}
	return strings.Join(line, " "), n
}

// copied is a GOMEMLIMIT in pods whose annotation says that snug has added it.
const copied = "99MiB"

// replace replaces that value of a variable, and reports whether there was one.
func replace(variables []Object, name, with string) (found bool) {
	for i, v := range variables {
		if v["name"] == name && v["value"] == copied {
			variables[i], found = Object{"name": name, "value": with}, true // not in the pod
		}
	}
	return found
}

func anys(of []Object) []any {
	all := make([]any, len(of))
	for i, o := range of {
		all[i] = o
	}
	return all
}

func show(pod Object) string {
	text, _ := json.Marshal(pod)
	return string(text)
}

// Amounts, sensible and odd.
var (
	memories = []string{"512Mi", "1Gi", "0.5Gi", "1.5Gi", "64Mi", "63Mi", "67108863", "67108864", "67108865", "128974848000m", "128974848001m", "1e9", "4E8", "500M", "0.1Gi",
		"12.5M", "160Mi", "167772161", "123456789.5", "1500m", "100n", "0", "3Ti", "1Pi", "1Ei", "1152921504606846975", "1152921504606846977", "7Ei", "100E", "9223372036854775807", "1e30"}
	cpus = []string{"1", "2", "0.5", "250m", "1500m", "1.001", "2.0005", "999m", "1u", "1e1", "3500m", "64", "0", "1e-3", "0.1", "10k", "1M", "5E", "1999999u"}
)

// randomPod returns a random pod. The server refuses some of them.
func randomPod(r *rand.Rand, name string) Object {
	chance := func(percent int) bool { return r.IntN(100) < percent }
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	amount := func(of []string) string {
		if chance(60) { // a sensible one
			return of[r.IntN(6)]
		}
		return pick(of...)
	}
	resources := func() Object {
		o, limits, requests := Object{}, Object{}, Object{}
		if chance(75) {
			limits["memory"] = amount(memories)
			if chance(20) {
				limits["memory"] = fmt.Sprint(r.Int64N(1 << (10 + r.IntN(40))))
			}
		}
		if chance(60) {
			limits["cpu"] = amount(cpus)
		} else if chance(60) {
			requests["cpu"] = amount(cpus)
		}
		if chance(15) {
			requests["memory"] = pick("1Mi", "10M", "1")
		}
		if len(limits) > 0 || chance(10) {
			o["limits"] = limits
		}
		if len(requests) > 0 || chance(10) {
			o["requests"] = requests
		}
		return o
	}
	container := func(name string) Object {
		c := Object{"name": name, "image": "x"}
		if chance(90) {
			c["resources"] = resources()
		}
		var env []any
		for range r.IntN(4) {
			switch r.IntN(5) {
			case 0:
				env = append(env, Object{"name": "GOMEMLIMIT", "value": pick("100MiB", "off", "512Mi", "1")})
			case 1:
				env = append(env, Object{"name": "GOMAXPROCS", "value": pick("1", "8", "1500m")})
			case 2:
				env = append(env, Object{"name": pick("GOMAXPROCS", "GOMEMLIMIT", "LIMIT"),
					"valueFrom": Object{"resourceFieldRef": Object{"resource": pick("limits.cpu", "limits.memory"), "divisor": "1"}}})
			default:
				env = append(env, Object{"name": pick("A", "GOGC", "GOMEMLIMITS", "gomaxprocs"), "value": "1"})
			}
		}
		if env != nil || chance(10) {
			c["env"] = env
		}
		if chance(10) {
			c["envFrom"] = []any{Object{pick("configMapRef", "secretRef"): Object{"name": "x"}}}
		}
		if chance(10) {
			c["resizePolicy"] = []any{Object{"resourceName": pick("cpu", "memory"), "restartPolicy": pick("NotRequired", "NotRequired", "RestartContainer")}}
		}
		return c
	}
	labels := Object{"app": "x"}
	if chance(40) {
		labels["snug.dev/inject"] = pick("enabled", "enabled", "disabled", "perhaps", "")
	}
	if chance(60) {
		labels["snug.dev/gomaxprocs"] = pick("enabled", "enabled", "disabled")
	}
	if chance(40) {
		labels["snug.dev/restart-on-resize"] = pick("enabled", "enabled", "false")
	}
	spec := Object{}
	if chance(20) {
		spec["restartPolicy"] = pick("Always", "Never", "OnFailure")
	}
	if chance(20) {
		spec["resources"] = Object{"limits": []Object{{"memory": "4Gi"}, {"cpu": "100"}, {"memory": "900M", "cpu": "2500m"}}[r.IntN(3)]}
	} else if chance(3) {
		spec["resources"] = Object{}
	}
	switch r.IntN(16) {
	case 0:
		spec["os"] = Object{"name": pick("linux", "windows")}
	case 1:
		spec["nodeSelector"] = Object{"disk": "ssd", "kubernetes.io/os": pick("linux", "windows")}
	}
	var init, main []any
	if chance(30) {
		for _, n := range []string{"i", "s", "j"}[:1+r.IntN(3)] {
			c := container(n)
			if n == "s" || chance(20) {
				c["restartPolicy"] = "Always"
			}
			init = append(init, c)
		}
		spec["initContainers"] = init
	}
	for _, n := range []string{"a", "b", "proxy", "agent"}[:1+r.IntN(4)] {
		main = append(main, container(n))
	}
	spec["containers"] = main
	meta := Object{"name": name, "namespace": pick(in, in, out, neutral, limited, system, apart), "labels": labels}
	if a := main[0].(Object); chance(15) && a["env"] == nil {
		a["env"] = []any{Object{"name": "GOMEMLIMIT", "value": copied}}
		meta["annotations"] = Object{"snug.dev/added": "a GOMEMLIMIT=" + copied + " (pod-memory-share); gone GOMEMLIMIT=1MiB (pod-memory-share)"}
	}
	return Object{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
}
