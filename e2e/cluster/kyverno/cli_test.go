// SPDX-License-Identifier: Apache-2.0

// Package kyverno gives what `snug policy --for kyverno` prints to Kyverno's own
// command, which checks policies against Kyverno's schemas, compiles their
// expressions and applies them to objects with Kyverno's engine. No cluster is
// there: objects are as they are written, without defaults.
package kyverno

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/kubebuild"
	"github.com/snug-go/snug/e2e/internal/programs"
)

// object is an object of the API, as YAML has it.
type object = map[string]any

// The namespaces of the tests.
const (
	in      = "in"          // opted in
	out     = "out"         // opted out
	neutral = "neutral"     // neither
	apart   = "apart"       // opted in; excluded where every key is turned
	system  = "kube-system" // opted in; excluded by default
	strange = "strange"     // its label is neither enabled nor disabled
)

// inject are the namespaces' labels snug.dev/inject.
var inject = map[string]string{in: "enabled", out: "disabled", neutral: "", apart: "enabled", system: "enabled", strange: "true"}

// turned is a configuration in which every key says something else than the
// default.
const turned = `name: team
inject: all
memory: 99%-100MiB
round: floor
minProcs: 2
requestFactor: 1.5
envFrom: add
exclude:
  namespaces: [apart]
  containers: [proxy, agent]
check: deny
resize: off
`

// lab is the two commands.
type lab struct{ kyverno, snug string }

func TestPolicy(t *testing.T) {
	gate.Need(t, "kyverno")
	l := &lab{snug: filepath.Join(t.TempDir(), "snug")}
	if err := programs.BuildTool(programs.Root(t), l.snug); err != nil {
		t.Fatal(err)
	}
	l.kyverno = kubebuild.Command(t, "kyverno")
	t.Run("Kyverno takes what is printed", l.load)
	t.Run("fit by default", l.fitByDefault)
	t.Run("fit where every key is turned", l.fitTurned)
	t.Run("observed", l.observed)
	t.Run("what was given before stays said", l.annotation)
	t.Run("what makes pods is not changed", l.workloads)
	t.Run("values", l.values)
	t.Run("every message", l.everyMessage)
	t.Run("whose values", l.whoseValues)
	t.Run("labels", l.labels)
	t.Run("resize", l.resize)
}

// file writes a file of the test.
func file(t *testing.T, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// tool runs `snug policy` with a configuration, "" for the default.
func (l *lab) tool(t *testing.T, config string, args ...string) []byte {
	t.Helper()
	args = append([]string{"policy", file(t, "snug.yaml", []byte(config))}, args...)
	cmd := exec.Command(l.snug, args...)
	var said strings.Builder
	cmd.Stderr = &said
	printed, err := cmd.Output()
	if err != nil {
		t.Fatalf("snug %s: %v\n%s%s", strings.Join(args, " "), err, printed, &said)
	}
	return printed
}

// policies are the policies of a configuration, for Kyverno.
func (l *lab) policies(t *testing.T, config string) string {
	t.Helper()
	return string(l.tool(t, config, "--for", "kyverno"))
}

// outcome is what Kyverno made of objects.
type outcome struct {
	exit    int
	stdout  string
	stderr  string
	objects map[string]object // after mutation, by title
	results []result
}

// result is what a policy says of an object.
type result struct {
	policy, object string // the object's title
	outcome        string // pass, fail, error, skip
	message        string
}

// title is "Pod shop/cart", as the tool writes it.
func title(o object) string {
	meta := o["metadata"].(object)
	return fmt.Sprintf("%v %v/%v", o["kind"], meta["namespace"], meta["name"])
}

// surroundings tell Kyverno the labels of namespaces, and the operation.
func surroundings(t *testing.T, operation string) []byte {
	t.Helper()
	var namespaces []object
	for name, word := range inject {
		labels := object{"kubernetes.io/metadata.name": name}
		if word != "" {
			labels["snug.dev/inject"] = word
		}
		namespaces = append(namespaces, object{"name": name, "labels": labels})
	}
	return encoded(t, object{"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "Values", "metadata": object{"name": "values"},
		"globalValues": object{"request.operation": operation}, "namespaceSelector": namespaces})
}

// run has Kyverno apply policies to objects.
func (l *lab) run(t *testing.T, policies, operation string, objects []object, flags ...string) outcome {
	t.Helper()
	mutated := file(t, "mutated.yaml", nil)
	cmd := exec.Command(l.kyverno, append([]string{"apply", file(t, "policies.yaml", []byte(policies)),
		"--resource", file(t, "objects.yaml", encoded(t, objects...)), "--values-file", file(t, "values.yaml", surroundings(t, operation)),
		"--output", mutated, "--remove-color"}, flags...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+os.DevNull, "HOME="+t.TempDir())
	var printed, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &said
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	o := outcome{exit: cmd.ProcessState.ExitCode(), stdout: printed.String(), stderr: said.String(), objects: map[string]object{}}
	text, err := os.ReadFile(mutated)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range decoded(t, text) {
		o.objects[title(object)] = object
	}
	return o
}

// apply has Kyverno apply policies to objects, and report. Policies that cannot be
// applied end the test.
func (l *lab) apply(t *testing.T, policies, operation string, objects []object) outcome {
	t.Helper()
	o := l.run(t, policies, operation, objects, "--policy-report", "--output-format", "json")
	if o.stderr != "" {
		t.Fatal(o.stderr)
	}
	// The report follows what is meant for people.
	const begin = `{"kind":"ClusterReport"`
	if _, report, ok := strings.Cut(o.stdout, begin); ok {
		o.results = results(t, []byte(begin+report))
	}
	for _, r := range o.results {
		if r.outcome == "error" {
			t.Fatalf("%s of %s: %s, %s", r.policy, r.object, r.outcome, r.message)
		}
	}
	return o
}

func results(t *testing.T, report []byte) []result {
	t.Helper()
	var d struct {
		Results []struct {
			Policy, Result, Message string
			Resources               []struct{ Kind, Namespace, Name string }
		}
	}
	if err := json.Unmarshal(report, &d); err != nil {
		t.Fatalf("%v: %s", err, report)
	}
	all := make([]result, len(d.Results))
	for i, r := range d.Results {
		if len(r.Resources) != 1 {
			t.Fatalf("a result of %d objects: %s", len(r.Resources), report)
		}
		of := r.Resources[0]
		all[i] = result{r.Policy, fmt.Sprintf("%s %s/%s", of.Kind, of.Namespace, of.Name), r.Result, r.Message}
	}
	return all
}

func encoded(t *testing.T, objects ...object) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	for _, o := range objects {
		if err := enc.Encode(o); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func decoded(t *testing.T, text []byte) []object {
	t.Helper()
	var all []object
	for dec := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var o object
		if err := dec.Decode(&o); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if o != nil {
			all = append(all, o)
		}
	}
}

// pod is a pod with snug's labels, without their prefix ("inject=enabled
// gomaxprocs=enabled"), and a spec as YAML.
func pod(t *testing.T, name, namespace, labels, spec string) object {
	t.Helper()
	meta := object{"name": name, "namespace": namespace}
	if labels != "" {
		own := object{}
		for l := range strings.FieldsSeq(labels) {
			k, v, _ := strings.Cut(l, "=")
			own["snug.dev/"+k] = v
		}
		meta["labels"] = own
	}
	return object{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": decoded(t, []byte(spec))[0]}
}

// load looks at whether Kyverno takes what is printed, and whether these tests
// would notice if it did not: it passes over an object that breaks the schema of
// its kind, and fails for an expression that does not compile.
func (l *lab) load(t *testing.T) {
	objects := []object{pod(t, "a", in, "", `{containers: [{name: a, image: x}]}`)}
	loaded := func(policies string) string {
		t.Helper()
		o := l.run(t, policies, "CREATE", objects)
		if o.exit != 0 || o.stderr != "" {
			t.Errorf("exit code %d, %s", o.exit, o.stderr)
		}
		line, _, _ := strings.Cut(strings.TrimSpace(o.stdout), "\n")
		return line
	}
	for config, n := range map[string]int{"": 3, turned: 2, "check: off\nresize: off\n": 1, "check: deny\n": 3, "memory: 90%\nround: nearest\n": 3} {
		if line := loaded(l.policies(t, config)); line != fmt.Sprintf("Applying %d policy rule(s) to 1 resource(s)...", n) {
			t.Errorf("%s, want %d of\n%s", line, n, config)
		}
	}
	printed := l.policies(t, "")
	for _, kind := range []string{"MutatingPolicy", "ValidatingPolicy"} {
		strange := strings.Replace(printed, "kind: "+kind+"\n", "kind: "+kind+"\nsurplus: 1\n", 1)
		if line := loaded(strange); !strings.HasPrefix(line, "Applying ") || strings.HasPrefix(line, "Applying 3") {
			t.Errorf("a %s with a key that it has not: %s", kind, line)
		}
	}
	for _, part := range []string{"fit", "resize", "values"} {
		head, tail, _ := strings.Cut(printed, "name: snug-"+part+"\n")
		broken := head + "name: snug-" + part + "\n" + strings.Replace(tail, ".filter(", ".sieve(", 1)
		if o := l.run(t, broken, "CREATE", objects); o.exit == 0 || !strings.Contains(o.stderr, "sieve") {
			t.Errorf("snug-%s with a function that there is not: exit code %d, %s", part, o.exit, o.stderr)
		}
	}
}

// copied is an object that shares nothing with another.
func copied(t *testing.T, o object) object {
	t.Helper()
	return decoded(t, encoded(t, o))[0]
}
