// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// kinds are those whose values are looked at.
var kinds = []string{"Pod", "ReplicationController", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob"}

// wrapped is an object of a kind that makes a pod.
func wrapped(kind string, pod object) object {
	if kind == "Pod" {
		return pod
	}
	meta := pod["metadata"].(object)
	selected := object{"app": "x"}
	template := object{"metadata": object{"labels": selected}, "spec": pod["spec"]}
	o := object{"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": object{"selector": object{"matchLabels": selected}, "template": template}}
	switch kind {
	case "ReplicationController":
		o["apiVersion"], o["spec"] = "v1", object{"selector": selected, "template": template}
	case "Job":
		o["apiVersion"], o["spec"] = "batch/v1", object{"template": template}
	case "CronJob":
		o["apiVersion"], o["spec"] = "batch/v1", object{"schedule": "0 0 * * *", "jobTemplate": object{"spec": object{"template": template}}}
	}
	return o
}

// mistakes are variables of the container a, and what of the message about them
// has to be there; "" = they are good. Its limits are 1Gi and 2.
var mistakes = []struct{ name, env, said string }{
	{"a suffix of Kubernetes", set("GOMEMLIMIT", "512Mi"), "a: GOMEMLIMIT=512Mi; sizes end in B, KiB, MiB, GiB or TiB (snug explain gomemlimit-malformed)"},
	{"a power of ten", set("GOMEMLIMIT", "512MB"), "a: GOMEMLIMIT=512MB;"},
	{"a share", set("GOMEMLIMIT", "90%"), "a: GOMEMLIMIT=90%;"},
	{"a space", set("GOMEMLIMIT", "512 MiB"), "a: GOMEMLIMIT=512 MiB;"},
	{"a fraction", set("GOMEMLIMIT", "0.5GiB"), "a: GOMEMLIMIT=0.5GiB;"},
	{"mebibytes counted as bytes", reference("GOMEMLIMIT", "limits.memory", "1Mi"), "a: divisor 1Mi; write divisor \"1\" (snug explain gomemlimit-divisor)"},
	{"mebibytes of a request", reference("GOMEMLIMIT", "requests.memory", "1Mi"), "a: divisor 1Mi; write divisor \"1\" (snug explain gomemlimit-divisor)"},
	{"the whole limit", set("GOMEMLIMIT", "1GiB"), "a: GOMEMLIMIT=1GiB; nine tenths of the limit leave room (snug explain gomemlimit-at-limit)"},
	{"the whole limit in bytes", set("GOMEMLIMIT", "1073741824"), "(snug explain gomemlimit-at-limit)"},
	{"more than the limit", set("GOMEMLIMIT", "1025MiB"), "(snug explain gomemlimit-at-limit)"},
	{"thousandths of a core", set("GOMAXPROCS", "1500m"), "a: GOMAXPROCS=1500m; write a whole number (snug explain gomaxprocs-malformed)"},
	{"no Ps", set("GOMAXPROCS", "0"), "a: GOMAXPROCS=0; write"},
	{"less than none", set("GOMAXPROCS", "-1"), "a: GOMAXPROCS=-1; write"},
	{"a part of a P", set("GOMAXPROCS", "2.5"), "a: GOMAXPROCS=2.5; write"},
	{"thousandths counted as Ps", reference("GOMAXPROCS", "limits.cpu", "1m"), "a: divisor 1m; write divisor \"1\" (snug explain gomaxprocs-divisor)"},
	{"the last of two", set("GOMEMLIMIT", "400MiB") + ", " + set("GOMEMLIMIT", "400M"), "a: GOMEMLIMIT=400M;"},

	{"no variables", "", ""},
	{"sizes of Go", set("GOMEMLIMIT", "1023MiB") + ", " + set("GOMAXPROCS", "2"), ""},
	{"bytes", set("GOMEMLIMIT", "400000000B"), ""},
	{"off", set("GOMEMLIMIT", "off"), ""},
	{"empty", set("GOMEMLIMIT", "") + ", " + set("GOMAXPROCS", ""), ""},
	{"without a value", "{name: GOMEMLIMIT}, {name: GOMAXPROCS}", ""},
	{"filled in later", set("GOMEMLIMIT", "$(A)MiB") + ", " + set("GOMAXPROCS", "$(B)"), ""},
	{"references", reference("GOMEMLIMIT", "limits.memory", "1") + ", " + reference("GOMAXPROCS", "limits.cpu", "0"), ""},
	{"from elsewhere", "{name: GOMEMLIMIT, valueFrom: {configMapKeyRef: {name: c, key: k}}}, {name: GOMAXPROCS, valueFrom: {fieldRef: {fieldPath: metadata.name}}}", ""},
	{"the first of two", set("GOMEMLIMIT", "400M") + ", " + set("GOMEMLIMIT", "400MiB"), ""},
	{"other variables", set("MEMLIMIT", "1Gi") + ", " + set("PROCS", "1500m"), ""},
}

func set(name, value string) string { return `{name: ` + name + `, value: "` + value + `"}` }

func reference(name, resource, divisor string) string {
	return `{name: ` + name + `, valueFrom: {resourceFieldRef: {resource: ` + resource + `, divisor: "` + divisor + `"}}}`
}

func withEnv(container, env string) string {
	return `{containers: [{name: ` + container + `, image: x, env: [` + env + `], resources: {limits: {memory: 1Gi, cpu: 2}}}]}`
}

// values: each mistake is complained of in whatever makes the pod, once, and
// nothing else is.
func (l *lab) values(t *testing.T) {
	every := func(int) bool { return true }
	some := func(i int) bool { return mistakes[i].name == "a share" || mistakes[i].name == "sizes of Go" }
	for _, c := range []struct {
		config, operation string
		kinds             []string
		which             func(i int) bool
	}{
		{"", "CREATE", []string{"Pod", "Deployment", "CronJob"}, every},
		{"", "CREATE", kinds, some},
		{"", "UPDATE", kinds, some},
		{turned, "CREATE", kinds, some},
	} {
		var objects []object
		want := map[string]string{}
		for i, m := range mistakes {
			for _, kind := range c.kinds {
				if c.which(i) {
					o := wrapped(kind, pod(t, fmt.Sprintf("%s-%d", strings.ToLower(kind), i), neutral, "", withEnv("a", m.env)))
					objects = append(objects, o)
					if kind != "Pod" || c.operation == "CREATE" { // a pod's variables cannot change
						want[title(o)] = m.said
					}
				}
			}
		}
		o := l.apply(t, l.policies(t, c.config), c.operation, objects)
		// The command takes an object for its own old one: nothing has changed, and so
		// nothing is looked at.
		changed := c.operation == "CREATE"
		if exit := map[bool]int{true: 1, false: 0}[changed]; o.exit != exit {
			t.Errorf("exit code %d, want %d", o.exit, exit)
		}
		for _, r := range o.results {
			if !strings.HasSuffix(r.policy, "-values") {
				continue
			}
			said, once := want[r.object]
			if !once {
				t.Errorf("%s %s: looked at twice, or not to be looked at: %s", c.operation, r.object, r.message)
			}
			delete(want, r.object)
			if !changed {
				if r.outcome != "skip" {
					t.Errorf("%s %s: %s, and nothing has changed", c.operation, r.object, r.outcome)
				}
				continue
			}
			if said == "" && r.outcome != "pass" || said != "" && (r.outcome != "fail" || !strings.Contains(r.message, said)) {
				t.Errorf("%s %s: %s %q, want %q", c.operation, r.object, r.outcome, r.message, said)
			}
		}
		for of := range want {
			t.Errorf("%s %s was not looked at", c.operation, of)
		}
	}
}

var explained = regexp.MustCompile(`snug explain ([a-z-]+)`)

// mislabelled are labels of pods, and what of the message about them has to be there; ""
// = they are good.
var mislabelled = []struct{ namespace, labels, said string }{
	{in, "inject=true", "snug.dev/inject=true; write enabled or disabled (snug explain pod-label-wrong)"},
	{in, "inject=", "snug.dev/inject=;"},
	{in, "gomaxprocs=yes restart-on-resize=1", "snug.dev/gomaxprocs=yes, snug.dev/restart-on-resize=1;"},
	{strange, "gomaxprocs=yes", "snug.dev/gomaxprocs=yes, snug.dev/inject=true of the namespace;"},
	{strange, "", "snug.dev/inject=true of the namespace;"},
	{strange, "inject=enabled", ""},
	{strange, "inject=disabled gomaxprocs=yes", ""},
	{out, "gomaxprocs=yes", ""},
	{in, "gomaxprocs=enabled restart-on-resize=disabled", ""},
	{neutral, "", ""},
}

// labels: one that says nothing is complained of, in whatever makes the pod.
func (l *lab) labels(t *testing.T) {
	var objects []object
	want := map[string]string{}
	for i, m := range mislabelled {
		for _, kind := range []string{"Pod", "Deployment", "CronJob"} {
			p := pod(t, fmt.Sprintf("%s-%d", strings.ToLower(kind), i), m.namespace, m.labels, plain)
			o := wrapped(kind, p)
			if kind != "Pod" {
				template := o["spec"].(object)
				if kind == "CronJob" {
					template = template["jobTemplate"].(object)["spec"].(object)
				}
				meta := p["metadata"].(object)
				template["template"].(object)["metadata"] = object{"labels": meta["labels"]}
				if meta["labels"] == nil {
					template["template"].(object)["metadata"] = object{}
				}
				delete(meta, "labels")
			}
			objects, want[title(o)] = append(objects, o), m.said
		}
	}
	for _, r := range l.apply(t, l.policies(t, ""), "CREATE", objects).results {
		if !strings.HasSuffix(r.policy, "-values") {
			continue
		}
		said, once := want[r.object]
		delete(want, r.object)
		if !once || said == "" && r.outcome != "pass" || said != "" && (r.outcome != "fail" || !strings.Contains(r.message, said)) {
			t.Errorf("%s: %s %q, want %q", r.object, r.outcome, r.message, said)
		}
	}
	for of := range want {
		t.Errorf("%s was not looked at", of)
	}
}

// everyMessage: there is no message that no mistake brings about.
func (l *lab) everyMessage(t *testing.T) {
	_, policy, _ := strings.Cut(l.policies(t, ""), "name: snug-values\n")
	var words []string
	for _, m := range mistakes {
		words = append(words, m.said)
	}
	for _, m := range mislabelled {
		words = append(words, m.said)
	}
	tried := strings.Join(words, "\n")
	ids := explained.FindAllStringSubmatch(policy, -1)
	if len(ids) == 0 {
		t.Fatalf("no message:\n%s", policy)
	}
	for _, id := range ids {
		if !strings.Contains(tried, id[1]) {
			t.Errorf("no mistake brings about %s", id[1])
		}
	}
}

// whoseValues: mistakes of those who are left alone are theirs.
func (l *lab) whoseValues(t *testing.T) {
	bad := set("GOMEMLIMIT", "1Gi")
	owned := func(controller bool) object {
		p := pod(t, fmt.Sprintf("owned-%t", controller), neutral, "", withEnv("a", bad))
		p["metadata"].(object)["ownerReferences"] = []any{object{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": controller}}
		return p
	}
	made := wrapped("Job", pod(t, "made", neutral, "", withEnv("a", bad)))
	made["metadata"].(object)["ownerReferences"] = []any{object{"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "uid": "u", "controller": true}}
	objects := []object{
		pod(t, "opted-in", in, "", withEnv("a", bad)),
		pod(t, "opted-out", neutral, "inject=disabled", withEnv("a", bad)),
		pod(t, "namespace-opted-out", out, "", withEnv("a", bad)),
		pod(t, "in-where-namespace-is-out", out, "inject=enabled", withEnv("a", bad)),
		wrapped("Deployment", pod(t, "workload-opted-out", in, "inject=disabled", withEnv("a", bad))),
		pod(t, "excluded", system, "", withEnv("a", bad)),
		pod(t, "excluded-if-turned", apart, "", withEnv("a", bad)),
		pod(t, "container-excluded-if-turned", neutral, "", withEnv("proxy", bad)),
		pod(t, "init", neutral, "", `{initContainers: [{name: i, image: x, env: [`+bad+`]}], containers: [{name: a, image: x}]}`),
		owned(true), owned(false), made,
	}
	for config, want := range map[string][]string{
		"":     {"container-excluded-if-turned", "excluded-if-turned", "in-where-namespace-is-out", "init", "opted-in", "owned-false"},
		turned: {"excluded", "in-where-namespace-is-out", "init", "opted-in", "owned-false"},
	} {
		o := l.apply(t, l.policies(t, config), "CREATE", objects)
		var got []string
		for _, r := range o.results {
			if r.outcome == "fail" {
				_, name, _ := strings.Cut(r.object, "/")
				got = append(got, name)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("complaints about %q, want %q, by\n%s", got, want, config)
		}
	}
}
