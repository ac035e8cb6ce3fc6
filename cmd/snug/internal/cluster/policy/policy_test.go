// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

var update = flag.Bool("update", false, "rewrite testdata")

func parsed(t *testing.T, text string) policy.Config {
	t.Helper()
	c, err := policy.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c
}

// everything is a configuration in which every key but mode differs from the default.
const everything = `name: team
inject: all
memory: 99%-100MiB
round: floor
minProcs: 2
requestFactor: 1.5
envFrom: add
exclude:
  namespaces: [infra]
  containers: [proxy, agent]
check: deny
resize: off
`

func TestParse(t *testing.T) {
	want := policy.Config{
		Name: "snug", Round: plan.Ceil, RequestFactor: 2,
		Namespaces: []string{"kube-system", "kube-public", "kube-node-lease"}, Containers: []string{},
		Check: policy.Warn, Resize: policy.Warn,
	}
	same := func(got policy.Config) bool {
		return got.Name == want.Name && got.Observe == want.Observe && got.All == want.All && got.Memory == want.Memory && got.Round == want.Round && got.MinProcs == want.MinProcs &&
			got.RequestFactor == want.RequestFactor && got.OverEnvFrom == want.OverEnvFrom && slices.Equal(got.Namespaces, want.Namespaces) &&
			slices.Equal(got.Containers, want.Containers) && got.Check == want.Check && got.Resize == want.Resize
	}
	for _, text := range []string{"", "# nothing\n", "{}", "mode: enforce\n", "inject: labelled\n", "exclude:\n", policy.Default} {
		if got := parsed(t, text); !same(got) {
			t.Errorf("%q: %+v", text, got)
		}
	}
	want.Observe = true
	if got := parsed(t, "mode: observe\n"); !same(got) {
		t.Errorf("%+v", got)
	}
	want = policy.Config{
		Name: "team", All: true, Memory: plan.Memory{Percent: 99, Less: 100 << 20}, Round: plan.Floor, MinProcs: 2, RequestFactor: 1.5, OverEnvFrom: true,
		Namespaces: []string{"infra"}, Containers: []string{"proxy", "agent"}, Check: policy.Deny, Resize: policy.Off,
	}
	if got := parsed(t, everything); !same(got) {
		t.Errorf("%+v", got)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, what := range map[string]string{
		"a: 1\n":                              `"a": unknown key`,
		"\n\nminprocs: 2\n":                   `"minprocs": unknown key`,
		"round: up\n":                         `round "up": wrong value`,
		"memory: off\n":                       `memory "off": wrong value`,
		"memory: 400MiB\n":                    `memory "400MiB": wrong value`,
		"memory: 0.9\n":                       `memory "0.9": wrong value`,
		"memory: 0.9%\n":                      `memory "0.9%": wrong value`,
		"memory: [90%]\n":                     `memory: not a single value`,
		"minProcs: 0\n":                       `minProcs "0": wrong value`,
		"requestFactor: -1\n":                 `requestFactor "-1": wrong value`,
		"mode: audit\n":                       `mode "audit": wrong value`,
		"inject: yes\n":                       `inject "yes": wrong value`,
		"check:\n":                            `check "": wrong value`,
		"resize: deny\n":                      `resize "deny": wrong value`,
		"name: Snug\n":                        `name "Snug": wrong value`,
		"name: a\nname: b\n":                  `name: set twice`,
		"exclude: {pods: []}\n":               `exclude."pods": unknown key`,
		"exclude: {namespaces: kube-system}":  `exclude.namespaces: not a list`,
		"exclude: {containers: ['a\"] + [']}": `exclude.containers "a\"] + [": not a name of Kubernetes`,
		"exclude: []\n":                       `exclude: not a mapping of keys to values`,
		"- name: a\n":                         `not a mapping of keys to values`,
		"name: a\n---\nname: b\n":             `more than one document`,
		"{":                                   `invalid YAML`,
		strings.Repeat("#", 2<<20):            `more than 1 MiB`,
	} {
		_, err := policy.Parse(strings.NewReader(text))
		var wrong *policy.Wrong
		if !errors.As(err, &wrong) || !strings.HasPrefix(wrong.What, what) || wrong.Hint == "" {
			t.Errorf("%.60q: %v, want %s", text, err, what)
		}
		if what == `"minprocs": unknown key` && wrong != nil && wrong.Line != 3 {
			t.Errorf("line %d, want 3", wrong.Line)
		}
	}
}

// TestRender compares the output with testdata, and checks that it is YAML.
func TestRender(t *testing.T) {
	for name, text := range map[string]string{"default": "", "everything": everything, "quiet": "check: off\nresize: off\n", "observe": "mode: observe\nresize: off\n"} {
		c := parsed(t, text)
		got := []byte(policy.Render(&c))
		file := filepath.Join("testdata", name+".yaml")
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs; -update rewrites it, check the difference", file)
		}
		policies := 3
		if name != "default" {
			policies-- // resize is off
		}
		if name == "quiet" {
			policies--
		}
		// Each policy has its binding.
		if objects := documents(t, got); len(objects) != 2*policies {
			t.Errorf("%s: %d objects, want %d", file, len(objects), 2*policies)
		}
	}
}

// TestCodes: each reason in a policy is one that snug explain knows.
func TestCodes(t *testing.T) {
	c := parsed(t, everything)
	for _, code := range regexp.MustCompile(`"pod-[a-z-]+"`).FindAllString(policy.Render(&c), -1) {
		if code == `"pod-template-hash"` {
			continue // a label of Kubernetes
		}
		if !strings.Contains(podpatch.Words, "\n## "+strings.Trim(code, `"`)+" (reason)\n") {
			t.Errorf("unknown reason %s", code)
		}
	}
}

// documents returns the objects of a YAML text.
func documents(t *testing.T, text []byte) []map[string]any {
	t.Helper()
	var all []map[string]any
	for dec := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var o map[string]any
		if err := dec.Decode(&o); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
}

func TestOptedIn(t *testing.T) {
	type labels = map[string]string
	in, out := labels{policy.InjectLabel: "enabled"}, labels{policy.InjectLabel: "disabled"}
	for _, c := range []struct {
		name      string
		all       bool
		pod       policy.Pod
		yes, know bool
	}{
		{"by its label", false, policy.Pod{Labels: in}, true, true},
		{"by its label, out of its namespace's", false, policy.Pod{Labels: in, NamespaceLabels: out}, true, true},
		{"out by its label", false, policy.Pod{Labels: out, NamespaceLabels: in}, false, true},
		{"by its namespace's", false, policy.Pod{NamespaceLabels: in}, true, true},
		{"without labels", false, policy.Pod{NamespaceLabels: labels{}}, false, true},
		{"unknown", false, policy.Pod{}, false, false},
		{"excluded", false, policy.Pod{Namespace: "kube-system", Labels: in}, false, true},
		{"an invalid label", false, policy.Pod{Labels: labels{policy.InjectLabel: "true"}}, false, true},
		{"an invalid label, in by its namespace's", false, policy.Pod{Labels: labels{policy.InjectLabel: ""}, NamespaceLabels: in}, false, true},
		{"an invalid label of its namespace", false, policy.Pod{NamespaceLabels: labels{policy.InjectLabel: "yes"}}, false, true},
		{"all", true, policy.Pod{NamespaceLabels: labels{}}, true, true},
		{"all, unknown", true, policy.Pod{}, true, false},
		{"all, out", true, policy.Pod{Labels: out, NamespaceLabels: in}, false, true},
		{"all, out by its namespace", true, policy.Pod{NamespaceLabels: out}, false, true},
		{"all, in by its namespace", true, policy.Pod{NamespaceLabels: in}, true, true},
		{"all, an invalid label", true, policy.Pod{Labels: labels{policy.InjectLabel: "false"}, NamespaceLabels: in}, false, true},
		{"all, an empty label", true, policy.Pod{Labels: labels{policy.InjectLabel: ""}}, false, true},
		{"all, an invalid label of its namespace", true, policy.Pod{NamespaceLabels: labels{policy.InjectLabel: "no"}}, false, true},
	} {
		config := parsed(t, "")
		config.All = c.all
		if yes, known := config.OptedIn(&c.pod); yes != c.yes || known != c.know {
			t.Errorf("%s: %t, known %t", c.name, yes, known)
		}
	}
}

func TestDecide(t *testing.T) {
	facts := podpatch.Container{CPULimit: limits.Of[int64](1500), MemoryLimit: limits.Of[int64](1 << 30), Opaque: true}
	config := parsed(t, "")
	procs := &policy.Pod{Labels: map[string]string{policy.ProcsLabel: "enabled", policy.RestartLabel: "enabled"}}
	if p := config.Decide(procs, "a", facts); len(p.Env) != 0 || p.Reasons[0].Code != podpatch.EnvOpaque {
		t.Errorf("with an envFrom: %+v", p)
	}
	config = parsed(t, everything)
	if p := config.Decide(procs, "proxy", facts); len(p.Env) != 0 || p.Reasons[1].Code != podpatch.Excluded {
		t.Errorf("excluded: %+v", p)
	}
	p := config.Decide(procs, "a", facts)
	if len(p.Env) != 2 || p.Env[0] != (podpatch.Env{Name: "GOMAXPROCS", Value: "2"}) || p.Env[1] != (podpatch.Env{Name: "GOMEMLIMIT", Value: "913MiB"}) || len(p.Resize) != 0 {
		t.Errorf("%+v", p)
	}
	if p := config.Decide(&policy.Pod{}, "a", facts); len(p.Env) != 1 || len(p.Resize) != 0 {
		t.Errorf("without labels: %+v", p)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(policy.Default)
	f.Add(everything)
	f.Add("exclude: {containers: [a]}\nmemory: 50.5%\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := policy.Parse(strings.NewReader(text))
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%q", err.Error())
			}
			return
		}
		documents(t, []byte(policy.Render(&c)))
	})
}
