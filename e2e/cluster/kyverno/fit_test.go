// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

const plain = `{containers: [{name: a, image: x, resources: {limits: {memory: 512Mi, cpu: 1500m}}}]}`

// situations are pods, and what they are given by the default and where every key
// is turned, as shown writes it.
var situations = []struct{ name, namespace, labels, spec, byDefault, turned string }{
	{"a namespace that is opted in", in, "", plain, "a{GOMEMLIMIT=460MiB}", "a{GOMEMLIMIT=406MiB}"},
	{"a namespace that says nothing", neutral, "", plain, "a{}", "a{GOMEMLIMIT=406MiB}"},
	{"a namespace that is opted out", out, "", plain, "a{}", "a{}"},
	{"an excluded namespace", system, "inject=enabled", plain, "a{}", "a{GOMEMLIMIT=406MiB}"},
	{"another excluded namespace", apart, "inject=enabled", plain, "a{GOMEMLIMIT=460MiB}", "a{}"},
	{"a pod opted in where its namespace is out", out, "inject=enabled", plain, "a{GOMEMLIMIT=460MiB}", "a{GOMEMLIMIT=406MiB}"},
	{"a pod opted out where its namespace is in", in, "inject=disabled", plain, "a{}", "a{}"},
	{"a word that is neither", in, "inject=perhaps", plain, "a{}", "a{}"},
	{"a label without a word", neutral, "inject=", plain, "a{}", "a{}"},
	{"a word of its namespace that is neither", strange, "", plain, "a{}", "a{}"},
	{"a pod opted in where its namespace's word is neither", strange, "inject=enabled", plain, "a{GOMEMLIMIT=460MiB}", "a{GOMEMLIMIT=406MiB}"},
	{"no limits", in, "gomaxprocs=enabled", `{containers: [{name: a, image: x}]}`, "a{}", "a{}"},
	{"a label that is not enabled", in, "gomaxprocs=true restart-on-resize=yes", plain, "a{GOMEMLIMIT=460MiB}", "a{GOMEMLIMIT=406MiB}"},

	{"a program that needs GOMAXPROCS", in, "gomaxprocs=enabled", plain, "a{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=460MiB}", "a{GOMAXPROCS=2 GOMEMLIMIT=406MiB}"},
	{"less than the least Ps", in, "gomaxprocs=enabled", cpu(`100m`), "a{GOMAXPROCS<limits.cpu/1}", "a{GOMAXPROCS=2}"},
	{"a fraction of more Ps", in, "gomaxprocs=enabled", cpu(`3999m`), "a{GOMAXPROCS<limits.cpu/1}", "a{GOMAXPROCS=3}"},
	{"a number", in, "gomaxprocs=enabled", cpu(`4`), "a{GOMAXPROCS<limits.cpu/1}", "a{GOMAXPROCS=4}"},
	{"a number with a fraction", in, "gomaxprocs=enabled", cpu(`2.5`), "a{GOMAXPROCS<limits.cpu/1}", "a{GOMAXPROCS=2}"},
	{"millionths of a core", in, "gomaxprocs=enabled", cpu(`5000000u`), "a{GOMAXPROCS<limits.cpu/1}", "a{GOMAXPROCS=5}"},
	{"more cores than there are", in, "gomaxprocs=enabled", cpu(`2M`), "a{}", "a{}"},
	{"cores requested", in, "", request(`1500m`), "a{}", "a{GOMAXPROCS=2}"},
	{"more cores requested", in, "gomaxprocs=enabled", request(`"3.4"`), "a{}", "a{GOMAXPROCS=5}"},
	{"nothing requested", in, "", request(`0`), "a{}", "a{}"},

	{"variables that are there", in, "gomaxprocs=enabled",
		`{containers: [{name: a, image: x, env: [{name: GOMAXPROCS, value: "3"}, {name: A, value: b}, {name: GOMEMLIMIT, value: 100MiB}], resources: {limits: {memory: 512Mi, cpu: 1500m}}}]}`,
		"a{GOMAXPROCS=3 A=b GOMEMLIMIT=100MiB}", "a{GOMAXPROCS=3 A=b GOMEMLIMIT=100MiB}"},
	{"one of them is there", in, "gomaxprocs=enabled restart-on-resize=enabled",
		`{containers: [{name: a, image: x, env: [{name: GOMEMLIMIT, value: "off"}], resources: {limits: {memory: 512Mi, cpu: 1500m}}}]}`,
		"a{GOMEMLIMIT=off GOMAXPROCS<limits.cpu/1 cpu:RestartContainer}", "a{GOMEMLIMIT=off GOMAXPROCS=2}"},
	{"a variable without a value", in, "", `{containers: [{name: a, image: x, env: [{name: GOMEMLIMIT}], resources: {limits: {memory: 512Mi}}}]}`,
		"a{GOMEMLIMIT=<nil>}", "a{GOMEMLIMIT=<nil>}"},
	{"an empty env", in, "", `{containers: [{name: a, image: x, env: [], resources: {limits: {memory: 512Mi}}}]}`, "a{GOMEMLIMIT=460MiB}", "a{GOMEMLIMIT=406MiB}"},
	{"an envFrom", in, "", `{containers: [{name: a, image: x, env: [{name: A, value: b}], envFrom: [{secretRef: {name: c}}], resources: {limits: {memory: 512Mi}}}]}`,
		"a{A=b}", "a{A=b GOMEMLIMIT=406MiB}"},
	{"an empty envFrom", in, "", `{containers: [{name: a, image: x, envFrom: [], resources: {limits: {memory: 512Mi}}}]}`, "a{GOMEMLIMIT=460MiB}", "a{GOMEMLIMIT=406MiB}"},

	{"containers of every kind", in, "gomaxprocs=enabled restart-on-resize=enabled",
		`{initContainers: [{name: i, image: x, resources: {limits: {memory: 256Mi, cpu: 1}}}, {name: s, image: x, restartPolicy: Always, env: [{name: A, value: b}], resources: {limits: {memory: 64Mi}}}],
		  containers: [{name: a, image: x}, {name: proxy, image: x, resources: {limits: {memory: 1Gi}}}, {name: c, image: x, resources: {limits: {memory: 512Mi, cpu: 8}}}]}`,
		"i{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=230MiB} s{A=b GOMEMLIMIT=48MiB} a{} proxy{GOMEMLIMIT=921MiB} c{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=460MiB cpu:RestartContainer}",
		"i{GOMAXPROCS=2 GOMEMLIMIT=153MiB} s{A=b} a{} proxy{} c{GOMAXPROCS=8 GOMEMLIMIT=406MiB}"},
	{"a pod's limits and one container", in, "gomaxprocs=enabled", `{resources: {limits: {memory: 1Gi, cpu: 2}}, initContainers: [{name: i, image: x}], containers: [{name: a, image: x}]}`,
		"i{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=921MiB} a{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=921MiB}", "i{GOMAXPROCS=2 GOMEMLIMIT=913MiB} a{GOMAXPROCS=2 GOMEMLIMIT=913MiB}"},
	{"a pod's limits that containers share", in, "gomaxprocs=enabled", `{resources: {limits: {memory: 1Gi, cpu: 4}}, containers: [{name: a, image: x}, {name: b, image: x, resources: {limits: {memory: 512Mi, cpu: 2}}}]}`,
		"a{GOMAXPROCS<limits.cpu/1} b{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=460MiB}", "a{GOMAXPROCS=4} b{GOMAXPROCS=2 GOMEMLIMIT=406MiB}"},
	{"a pod's limits that a sidecar shares", in, "", `{resources: {limits: {memory: 1Gi}}, initContainers: [{name: s, image: x, restartPolicy: Always}], containers: [{name: a, image: x}]}`, "s{} a{}", "s{} a{}"},
	{"a pod's empty resources", in, "", `{resources: {}, containers: [{name: a, image: x, resources: {limits: {memory: 512Mi}}}]}`, "a{GOMEMLIMIT=460MiB}", "a{GOMEMLIMIT=406MiB}"},

	{"thousandths of a byte", in, "", memory("128974848000m"), "a{GOMEMLIMIT=107MiB}", "a{}"},
	{"a fraction of a suffix", in, "", memory("0.5Gi"), "a{GOMEMLIMIT=460MiB}", "a{GOMEMLIMIT=406MiB}"},
	{"a fraction of a byte", in, "", memory("0.1Gi"), "a{GOMEMLIMIT=86MiB}", "a{}"},
	{"half a byte", in, "", memory("123456789.5"), "a{GOMEMLIMIT=101MiB}", "a{}"},
	{"an exponent", in, "", memory("1e9"), "a{GOMEMLIMIT=858MiB}", "a{GOMEMLIMIT=844MiB}"},
	{"an exponent that is no multiple of 3", in, "", memory("4E8"), "a{GOMEMLIMIT=343MiB}", "a{GOMEMLIMIT=277MiB}"},
	{"powers of ten", in, "", memory("500M"), "a{GOMEMLIMIT=429MiB}", "a{GOMEMLIMIT=372MiB}"},
	{"a small limit", in, "", memory("67108863"), "a{}", "a{}"},
	{"the least limit", in, "", memory("64Mi"), "a{GOMEMLIMIT=48MiB}", "a{}"},
	{"next to nothing", in, "", memory("100n"), "a{}", "a{}"},
	{"nothing", in, "", memory("0"), "a{}", "a{}"},
	{"more than there is", in, "", memory("100E"), "a{}", "a{}"},
	{"the largest number", in, "", memory("9223372036854775807"), "a{}", "a{}"},

	{"a restart", in, "gomaxprocs=enabled restart-on-resize=enabled", plain, "a{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=460MiB cpu:RestartContainer}",
		"a{GOMAXPROCS=2 GOMEMLIMIT=406MiB}"},
	{"nothing to restart for", in, "restart-on-resize=enabled", cpu(`1`), "a{}", "a{}"},
	{"a restart of a pod that never restarts", in, "restart-on-resize=enabled", `{restartPolicy: Never, containers: [{name: a, image: x, resources: {limits: {memory: 512Mi}}}]}`,
		"a{GOMEMLIMIT=460MiB}", "a{GOMEMLIMIT=406MiB}"},
	{"a resizePolicy that is there", in, "gomaxprocs=enabled restart-on-resize=enabled",
		`{containers: [{name: a, image: x, resizePolicy: [{resourceName: memory, restartPolicy: NotRequired}], resources: {limits: {memory: 512Mi, cpu: 1500m}}}]}`,
		"a{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=460MiB memory:NotRequired cpu:RestartContainer}", "a{GOMAXPROCS=2 GOMEMLIMIT=406MiB memory:NotRequired}"},
	{"a whole resizePolicy that is there", in, "gomaxprocs=enabled restart-on-resize=enabled",
		`{containers: [{name: a, image: x, resizePolicy: [{resourceName: memory, restartPolicy: RestartContainer}, {resourceName: cpu, restartPolicy: NotRequired}], resources: {limits: {memory: 512Mi, cpu: 1500m}}}]}`,
		"a{GOMAXPROCS<limits.cpu/1 GOMEMLIMIT=460MiB memory:RestartContainer cpu:NotRequired}", "a{GOMAXPROCS=2 GOMEMLIMIT=406MiB memory:RestartContainer cpu:NotRequired}"},
}

func memory(limit string) string {
	return `{containers: [{name: a, image: x, resources: {limits: {memory: "` + limit + `"}}}]}`
}

func cpu(limit string) string {
	return `{containers: [{name: a, image: x, resources: {limits: {cpu: ` + limit + `}}}]}`
}

func request(cores string) string {
	return `{containers: [{name: a, image: x, resources: {requests: {cpu: ` + cores + `}}}]}`
}

func (l *lab) fitByDefault(t *testing.T) {
	l.fit(t, "", false, func(i int) string { return situations[i].byDefault })
}

func (l *lab) fitTurned(t *testing.T) {
	l.fit(t, turned, true, func(i int) string { return situations[i].turned })
}

// fit compares what Kyverno makes of pods with what was worked out by hand, and
// with what the tool says they would be given: nothing else may change. everybody
// tells whether who says nothing is opted in.
func (l *lab) fit(t *testing.T, config string, everybody bool, want func(i int) string) {
	var pods []object
	for i, s := range situations {
		pods = append(pods, pod(t, fmt.Sprintf("pod-%d", i), s.namespace, s.labels, s.spec))
	}
	policies := l.policies(t, config)
	o := l.apply(t, policies, "CREATE", pods)
	given := l.try(t, config, pods)
	for i, s := range situations {
		t.Run(s.name, func(t *testing.T) {
			got := o.objects[title(pods[i])]
			if text := shown(got); text != want(i) {
				t.Errorf("\ngot  %s\nwant %s", text, want(i))
			}
			same(t, got, given.to(t, pods[i], everybody))
		})
	}
	// As when another webhook's change makes it look once more.
	var once []object
	for _, p := range pods {
		once = append(once, o.objects[title(p)])
	}
	o = l.apply(t, policies, "CREATE", once)
	for _, p := range once {
		same(t, o.objects[title(p)], p)
	}
}

// observed: pods are told what they would be given, in the words in which they would be
// told what they were, and are otherwise as they came.
func (l *lab) observed(t *testing.T) {
	var pods []object
	for i, s := range situations {
		pods = append(pods, pod(t, fmt.Sprintf("pod-%d", i), s.namespace, s.labels, s.spec))
	}
	given, noted := l.apply(t, l.policies(t, ""), "CREATE", pods), l.apply(t, l.policies(t, "mode: observe\n"), "CREATE", pods)
	some := 0
	for i, p := range pods {
		want := copied(t, p)
		if notes, ok := given.objects[title(p)]["metadata"].(object)["annotations"].(object); ok {
			want["metadata"].(object)["annotations"] = object{"snug.dev/observed": notes["snug.dev/added"]}
			some++
		}
		t.Run(situations[i].name, func(t *testing.T) { same(t, noted.objects[title(p)], want) })
	}
	if some < 10 {
		t.Errorf("%d pods would be given something", some)
	}
}

// annotation: what a pod was given before stays said, beside what others say.
func (l *lab) annotation(t *testing.T) {
	const added = "snug.dev/added"
	p := pod(t, "later", in, "", `{containers: [{name: a, image: x, env: [{name: GOMEMLIMIT, value: 460MiB}], resources: {limits: {memory: 512Mi}}}, {name: late, image: x, resources: {limits: {memory: 1Gi}}}]}`)
	p["metadata"].(object)["annotations"] = object{"team": "shop", added: "a GOMEMLIMIT=460MiB (pod-memory-share)"}
	o := l.apply(t, l.policies(t, ""), "CREATE", []object{p})
	got := o.objects[title(p)]["metadata"].(object)["annotations"]
	want := object{"team": "shop", added: "a GOMEMLIMIT=460MiB (pod-memory-share); late GOMEMLIMIT=921MiB (pod-memory-share)"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// workloads: Kyverno extends a policy to what makes pods unless it says otherwise.
// These do: a pod is changed when it is created, as a LimitRange has filled its
// limits in by then.
func (l *lab) workloads(t *testing.T) {
	var all []object
	for _, kind := range kinds {
		all = append(all, wrapped(kind, pod(t, "w", in, "inject=enabled gomaxprocs=enabled", plain)))
	}
	o := l.apply(t, l.policies(t, ""), "CREATE", all)
	for _, w := range all {
		got, ok := o.objects[title(w)]
		if want := w["kind"] == "Pod"; !ok || want == reflect.DeepEqual(got, w) {
			t.Errorf("%s: to be changed %t, is %v", title(w), want, got)
		}
	}
}

// tried is what `snug policy --try` says of containers: title and name.
type tried map[[2]string]given

type given struct {
	OptedIn *bool `json:"opted_in"`
	Env     []struct {
		Name            string
		Value, Resource *string
	}
	RestartOn []string                        `json:"restart_on"`
	Reasons   []struct{ Knob, Reason string } // the first of a knob is that of its value
}

// try asks the tool what pods would be given.
func (l *lab) try(t *testing.T, config string, pods []object) tried {
	t.Helper()
	var d struct {
		Containers []struct {
			Object, Container string
			given
		}
		Unknown []struct{ Field string }
	}
	printed := l.tool(t, config, "--try", file(t, "pods.yaml", encoded(t, pods...)), "--json")
	if err := json.Unmarshal(printed, &d); err != nil {
		t.Fatalf("%v: %s", err, printed)
	}
	for _, g := range d.Unknown {
		if g.Field != "opted_in" { // which is said of each container
			t.Fatalf("unknown %s: %s", g.Field, printed)
		}
	}
	all := tried{}
	for _, c := range d.Containers {
		all[[2]string{c.Object, c.Container}] = c.given
	}
	return all
}

// to adds to a pod what the tool says that it would be given; everybody tells
// whether who says nothing is opted in.
func (all tried) to(t *testing.T, pod object, everybody bool) object {
	t.Helper()
	p := copied(t, pod)
	meta := p["metadata"].(object)
	var said []string
	for _, list := range []string{"containers", "initContainers"} {
		containers, _ := p["spec"].(object)[list].([]any)
		for _, each := range containers {
			c := each.(object)
			g, ok := all[[2]string{title(p), c["name"].(string)}]
			if !ok {
				t.Fatalf("the tool says nothing of container %v of %s", c["name"], title(p))
			}
			// The tool does not know the namespace's labels.
			word := inject[meta["namespace"].(string)]
			if g.OptedIn == nil && word != "enabled" && !(word == "" && everybody) {
				continue
			}
			said = append(said, g.add(c)...)
		}
	}
	if len(said) > 0 {
		meta["annotations"] = object{"snug.dev/added": strings.Join(said, "; ")}
	}
	return p
}

// add gives a container what the tool says, and returns how the annotation has it.
func (g *given) add(c object) []string {
	var said []string
	env, _ := c["env"].([]any)
	for _, e := range g.Env {
		entry, text := object{"name": e.Name}, fmt.Sprint(c["name"], " ", e.Name)
		if e.Value != nil {
			entry["value"] = *e.Value
			text += "=" + *e.Value
		} else {
			entry["valueFrom"] = object{"resourceFieldRef": object{"resource": *e.Resource, "divisor": "1"}}
		}
		for _, r := range g.Reasons {
			if r.Knob == e.Name {
				text += " (" + r.Reason + ")"
				break
			}
		}
		env, said = append(env, entry), append(said, text)
	}
	if len(g.Env) > 0 {
		c["env"] = env
	}
	resize, _ := c["resizePolicy"].([]any)
	for _, r := range g.RestartOn {
		resize = append(resize, object{"resourceName": r, "restartPolicy": "RestartContainer"})
	}
	if len(g.RestartOn) > 0 {
		c["resizePolicy"] = resize
	}
	return said
}

// same compares objects, as JSON shows them.
func same(t *testing.T, got, want object) {
	t.Helper()
	g, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	w, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if string(g) != string(w) {
		t.Errorf("\ngot  %s\nwant %s", g, w)
	}
}

// shown are the variables and the resizePolicy of each container, init containers
// first.
func shown(pod object) string {
	var all []string
	spec, _ := pod["spec"].(object)
	for _, list := range []string{"initContainers", "containers"} {
		containers, _ := spec[list].([]any)
		for _, each := range containers {
			c := each.(object)
			var s []string
			env, _ := c["env"].([]any)
			for _, e := range env {
				e := e.(object)
				if from, ok := e["valueFrom"].(object); ok {
					ref := from["resourceFieldRef"].(object)
					s = append(s, fmt.Sprintf("%v<%v/%v", e["name"], ref["resource"], ref["divisor"]))
				} else {
					s = append(s, fmt.Sprintf("%v=%v", e["name"], e["value"]))
				}
			}
			resize, _ := c["resizePolicy"].([]any)
			for _, r := range resize {
				r := r.(object)
				s = append(s, fmt.Sprintf("%v:%v", r["resourceName"], r["restartPolicy"]))
			}
			all = append(all, fmt.Sprintf("%v{%s}", c["name"], strings.Join(s, " ")))
		}
	}
	return strings.Join(all, " ")
}
