// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/programs"
)

// TestPolicy installs the output of `snug policy` on a server and checks what happens to pods.
func TestPolicy(t *testing.T) {
	gate.Need(t, "kube")
	p := policies{Lab: Start(t), snug: filepath.Join(t.TempDir(), "snug")}
	if err := programs.BuildTool(programs.Root(t), p.snug); err != nil {
		t.Fatal(err)
	}
	p.namespaces(t)
	before := p.checked(t)
	t.Run("the default", p.byDefault)
	t.Run("every knob turned", p.turned)
	t.Run("denied", p.denied)
	t.Run("observed", p.observed)
	t.Run("invalid labels", p.mislabelled)
	t.Run("another policy comes later", p.later)
	t.Run("resizes", p.resizes)
	t.Run("large pods", p.large)
	t.Run("random pods", p.random)
	p.noErrors(t, before)
}

// policies is a server with the namespaces of the tests, and the tool.
type policies struct {
	*Lab
	snug string
}

// tool runs snug and returns its output.
func (p *policies) tool(t *testing.T, args ...string) string {
	t.Helper()
	var said strings.Builder
	cmd := exec.Command(p.snug, args...)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("snug %s: %v\n%s%s", strings.Join(args, " "), err, out, &said)
	}
	return string(out)
}

// The namespaces of the tests.
const (
	in      = "in"          // opted in
	out     = "out"         // opted out
	neutral = "neutral"     // neither
	limited = "limited"     // opted in, with a LimitRange
	apart   = "apart"       // opted in; for configurations that exclude it
	system  = "kube-system" // excluded by default; its label says otherwise
)

// namespaceLabels maps the namespaces to their values of snug.dev/inject.
var namespaceLabels = map[string]string{in: "enabled", out: "disabled", neutral: "", limited: "enabled", apart: "enabled", system: "enabled"}

func (p *policies) namespaces(t *testing.T) {
	t.Helper()
	p.Until(t, "namespace "+system, func() bool { return p.Get(t, "/api/v1/namespaces/"+system).OK() })
	for name, label := range namespaceLabels {
		labels := Object{"metadata": Object{"name": name, "labels": Object{"snug.dev/inject": label}}}
		if label == "" {
			labels = Object{"metadata": Object{"name": name}}
		}
		if name == system {
			Must(t, p.Patch(t, "/api/v1/namespaces/"+name, labels))
			continue
		}
		Must(t, p.Create(t, "/api/v1/namespaces", labels))
	}
	Must(t, p.Create(t, "/api/v1/namespaces/"+limited+"/limitranges", limitRange))
}

// apply puts the policies of a configuration in force until the test ends; "" = the default. flags are
// more flags of snug policy.
func (p *policies) apply(t *testing.T, config string, flags ...string) {
	t.Helper()
	args := append([]string{"policy"}, flags...)
	if config != "" {
		file := filepath.Join(t.TempDir(), "snug.yaml")
		if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, file)
	}
	text := p.tool(t, args...)
	// Cleanups run in reverse order, so this one runs after the policies are deleted.
	t.Cleanup(func() { p.settled(t, "") })
	p.Apply(t, text)
	p.settled(t, text)
}

var policyName = regexp.MustCompile(`(?m)^kind: \w+Policy\nmetadata:\n  name: (\S+)$`)

// settled waits until exactly the policies of a text are in force. Each of them changes or warns of
// something that no other does.
func (p *policies) settled(t *testing.T, text string) {
	t.Helper()
	want := []string{}
	for _, m := range policyName.FindAllStringSubmatch(text, -1) {
		want = append(want, m[1][strings.LastIndexByte(m[1], '-')+1:])
	}
	slices.Sort(want)
	p.Until(t, fmt.Sprintf("policies in force are %v", want), func() bool { return slices.Equal(p.inForce(t), want) })
}

// The policy fit changes the first pod; the policy values warns of the second.
const (
	fitting = `metadata: {name: fit, labels: {snug.dev/inject: enabled}}
spec: {containers: [{name: a, image: x, resources: {limits: {memory: 1Gi}}}]}`
	wrong = `metadata: {name: wrong, labels: {snug.dev/inject: enabled}}
spec: {containers: [{name: a, image: x, env: [{name: GOMEMLIMIT, value: 1Gi}]}]}`
	// The policy resize warns of a resize of this pod. No other policy applies to it.
	stale = `metadata: {name: stale, labels: {snug.dev/inject: enabled}}
spec: {containers: [{name: a, image: x, env: [{name: GOMEMLIMIT, value: 900MiB}], resources: {limits: {memory: 1Gi}}}]}`
)

// inForce returns the policies that are in force now, by the ends of their names.
func (p *policies) inForce(t *testing.T) []string {
	t.Helper()
	const pods = "/api/v1/namespaces/neutral/pods"
	names := []string{}
	if a := Must(t, p.Create(t, pods+"?dryRun=All", fitting)); len(env(containers(a.Object)[0])) > 0 || note(a.Object, "observed") != "" {
		names = append(names, "fit")
	}
	if p.Get(t, pods+"/stale").Code == http.StatusNotFound {
		Must(t, p.Create(t, pods, stale))
	}
	if a := p.Patch(t, pods+"/stale/resize?dryRun=All", resized("containers", "a", Object{"memory": "2Gi"})); len(complaints(Must(t, a))) > 0 {
		names = append(names, "resize")
	}
	if a := p.Create(t, pods+"?dryRun=All", wrong); len(complaints(a)) > 0 {
		names = append(names, "values")
	}
	return names
}

// resized returns a patch for a pod's resize subresource, with new limits of a container and equal
// requests.
func resized(of, container string, limits Object) Object {
	return Object{"spec": Object{of: []any{Object{"name": container, "resources": Object{"limits": limits, "requests": limits}}}}}
}

// complaints returns the messages of validating policies, from warnings or from the reason of a
// refusal. It skips the server's own warnings.
func complaints(a Answer) []string {
	var all []string
	for _, w := range append(slices.Clone(a.Warnings), a.Message()) {
		if strings.Contains(w, "ValidatingAdmissionPolicy '") {
			all = append(all, w)
		}
	}
	return all
}

// situation is a pod and its expected stored form.
type situation struct {
	name      string
	namespace string
	labels    string // snug's labels without their prefix: "inject=enabled gomaxprocs=enabled"
	spec      string // YAML
	want      string // in the form of stored
	complains []string
}

// manifest returns the pod as YAML.
func (s *situation) manifest(name string) string {
	labels := []string{}
	for l := range strings.FieldsSeq(s.labels) {
		k, v, _ := strings.Cut(l, "=")
		labels = append(labels, fmt.Sprintf("snug.dev/%s: %q", k, v))
	}
	return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: %s, labels: {%s}}\nspec: {%s}\n", name, s.namespace, strings.Join(labels, ", "), s.spec)
}

// check creates the pods of a table and compares their stored forms.
func (p *policies) check(t *testing.T, table []situation) {
	for i := range table {
		s := &table[i]
		t.Run(s.name, func(t *testing.T) {
			name := fmt.Sprintf("pod-%d", i)
			pods := "/api/v1/namespaces/" + s.namespace + "/pods"
			a := p.Create(t, pods, s.manifest(name))
			said := complaints(a)
			if len(said) != len(s.complains) {
				t.Errorf("%d complaints, want %d: %q", len(said), len(s.complains), said)
			}
			for j, want := range s.complains {
				if j < len(said) && !strings.Contains(said[j], want) {
					t.Errorf("complaint %q, want %s in it", said[j], want)
				}
			}
			if s.want == "refused" {
				if a.OK() {
					t.Errorf("stored %s, want a refusal", stored(a.Object))
				}
				return
			}
			Must(t, a)
			t.Cleanup(func() { p.Delete(t, pods+"/"+name) })
			got := Must(t, p.Get(t, pods+"/"+name)).Object
			if stored(got) != s.want {
				t.Errorf("\ngot  %s\nwant %s", stored(got), s.want)
			}
			p.checkCopy(t, pods, got)
		})
	}
}

// checkCopy creates a copy of a stored pod: snug must add nothing to it.
func (p *policies) checkCopy(t *testing.T, pods string, pod Object) {
	t.Helper()
	meta := pod["metadata"].(Object)
	copied := Object{"metadata": Object{"name": "copy", "labels": meta["labels"], "annotations": meta["annotations"]}, "spec": pod["spec"]}
	a := Must(t, p.Create(t, pods+"?dryRun=All", copied))
	if stored(a.Object) != stored(pod) {
		t.Errorf("a copy of\n%s\nbecomes\n%s", stored(pod), stored(a.Object))
	}
	if old, now := added(pod), added(a.Object); old != now {
		t.Errorf("in a copy, the annotation %q becomes %q", old, now)
	}
}

// stored returns in one line the parts of a pod that snug sets: each container with its env and
// resizePolicy, init containers first.
func stored(pod Object) string {
	var all []string
	for _, c := range containers(pod) {
		s := env(c)
		for _, r := range list(c["resizePolicy"]) {
			s = append(s, fmt.Sprintf("%v:%v", r["resourceName"], r["restartPolicy"]))
		}
		all = append(all, fmt.Sprintf("%v{%s}", c["name"], strings.Join(s, " ")))
	}
	return strings.Join(all, " ")
}

// added returns the annotation that lists what snug added.
func added(pod Object) string { return note(pod, "added") }

// containers returns a pod's containers, init containers first.
func containers(pod Object) []Object {
	spec := pod["spec"].(Object)
	return append(list(spec["initContainers"]), list(spec["containers"])...)
}

// env returns a container's variables: A=1, or A<limits.cpu/1 for a reference with its divisor.
func env(c Object) []string {
	var all []string
	for _, e := range list(c["env"]) {
		text := fmt.Sprintf("%v=%v", e["name"], e["value"])
		if from, ok := e["valueFrom"].(Object); ok {
			ref, _ := from["resourceFieldRef"].(Object)
			text = fmt.Sprintf("%v<%v/%v", e["name"], ref["resource"], ref["divisor"])
		}
		all = append(all, text)
	}
	return all
}

// checked returns the server's counters of policy checks, by series. A completed check is counted
// with its action; a failed validation is counted as "allow" with an error type.
func (p *policies) checked(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(string(Must(t, p.Get(t, "/metrics")).Text)) {
		if strings.HasPrefix(line, "apiserver_mutating_admission_policy_check_total{") || strings.HasPrefix(line, "apiserver_validating_admission_policy_check_total{") {
			at := strings.LastIndexByte(line, ' ')
			all[line[:at]] = line[at:]
		}
	}
	return all
}

// noErrors fails if a policy's expression had an error since before. Errors leave no other trace,
// because failing policies are ignored.
func (p *policies) noErrors(t *testing.T, before map[string]string) {
	t.Helper()
	seen := 0
	for series, n := range p.checked(t) {
		if n == before[series] {
			continue
		}
		seen++
		if !strings.Contains(series, `error_type="no_error"`) && (strings.Contains(series, "mutating") || strings.Contains(series, `enforcement_action="allow"`)) {
			t.Errorf("a policy's expression had an error: %s%s, was%s", series, n, before[series])
		}
	}
	if seen == 0 {
		t.Error("the server counted no checks of policies")
	}
}
