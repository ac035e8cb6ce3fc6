// SPDX-License-Identifier: Apache-2.0

package linter

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/quantity"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// nodeCPUs are the CPUs of the node of the pods below.
const nodeCPUs = 64

// fixPrograms are the programs in their images, which no manifest tells apart.
var fixPrograms = map[string]plan.Go{"recent": {Minor: 26}, "old": {Minor: 24, Blind: true}, "gated": {Minor: 26, Blind: true}}

// knobs are what a program ends up with: Ps, and GOMEMLIMIT in whole MiB, 0 if it is unset.
type knobs struct {
	procs, mebibytes int64
	set              [2]string // the values of the variables
}

const broken = -1 // Go ends at start, or collects all the time

// fixPod is the part of a pod that decides on its knobs. It shares no code with package lint.
type fixPod struct {
	Spec struct {
		Containers []struct {
			Image     string
			Resources struct{ Limits, Requests map[string]string }
			Env       []struct {
				Name, Value string
				ValueFrom   struct {
					ResourceFieldRef struct{ Resource, Divisor string } `yaml:"resourceFieldRef"`
				} `yaml:"valueFrom"`
			}
		}
	}
}

// amount returns an amount in thousandths.
func amount(text string) int64 {
	q, _ := quantity.Parse(text)
	return q.Milli()
}

// ends returns what the program of a pod's only container ends up with, and what the plan gives for its limits.
func ends(t *testing.T, text []byte) (now, planned knobs) {
	t.Helper()
	var p fixPod
	if err := yaml.Unmarshal(text, &p); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	c := p.Spec.Containers[0]
	program := fixPrograms[c.Image]
	cpu, memory := c.Resources.Limits["cpu"], c.Resources.Limits["memory"]
	values := map[string]string{}
	for _, e := range c.Env {
		values[e.Name] = e.Value
		if ref := e.ValueFrom.ResourceFieldRef; ref.Resource != "" {
			kind, resource, _ := strings.Cut(ref.Resource, ".")
			of := map[string]map[string]string{"limits": c.Resources.Limits, "requests": c.Resources.Requests}[kind][resource]
			if of == "" { // the request is the limit by default
				of = c.Resources.Limits[resource]
			}
			if of == "" {
				of = map[string]string{"cpu": strconv.Itoa(nodeCPUs), "memory": "128Gi"}[resource] // the node's
			}
			d := int64(1000)
			if ref.Divisor != "" && ref.Divisor != "0" {
				d = amount(ref.Divisor)
			}
			values[e.Name] = strconv.FormatInt((amount(of)+d-1)/d, 10)
		}
	}
	in := plan.Input{Go: program}
	in.Limits.CPU.Affinity = limits.Of(nodeCPUs)
	in.Limits.CPU.Quota, in.Limits.CPU.RuntimeLevel = limits.NoLimit[float64](), &limits.CPULevel{GoQuota: limits.NoLimit[float64]()}
	in.Limits.Memory.Hard, in.Limits.Memory.Soft = limits.NoLimit[int64](), limits.NoLimit[int64]()
	plan.Confine(&in.Limits, float64(amount(cpu))/1000, amount(memory)/1000)
	d := plan.Decide(&in)
	now.procs, now.set = int64(d.Runtime), [2]string{values["GOMAXPROCS"], values["GOMEMLIMIT"]}
	if n, err := strconv.ParseInt(values["GOMAXPROCS"], 10, 32); err == nil && n > 0 {
		now.procs = n
	}
	switch v := values["GOMEMLIMIT"]; {
	case v == "", v == "off":
	default:
		n, ok := units.ParseGoBytes(v)
		if now.mebibytes = n >> 20; !ok || n < 1<<20 {
			now.mebibytes = broken
		}
	}
	planned = knobs{procs: int64(d.Runtime), mebibytes: d.GOMEMLIMIT.Value >> 20}
	if !d.GOMAXPROCS.Leave {
		planned.procs = d.GOMAXPROCS.Value
	}
	return now, planned
}

// TestFixKeepsPlan: what --fix changes of a program's knobs becomes what the plan gives. Only a GOMEMLIMIT with which
// no program lives is mended to what was meant.
func TestFixKeepsPlan(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	t.Chdir(t.TempDir())
	changed, planned, mended := 0, 0, 0
	for i := range 2000 {
		text := "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: c\n    image: " + pick("recent", "recent", "old", "gated") + "\n    resources:\n"
		cpu, memory := pick("1m", "100m", "500m", "999m", "1", "1001m", "1500m", "2", "2500m", "8", "63"), pick("32Mi", "63Mi", "64Mi", "80Mi", "512Mi", "1Gi", "8G")
		text += fmt.Sprintf("      limits: {cpu: %q, memory: %q}\n", cpu, memory)
		if r.IntN(2) == 0 {
			text += fmt.Sprintf("      requests: {cpu: %q, memory: %q}\n", pick("1m", cpu), pick("16Mi", memory))
		}
		ref := func(resource string) string {
			return fmt.Sprintf("\n      valueFrom: {resourceFieldRef: {resource: %s.%s, divisor: %q}}\n", pick("limits", "limits", "requests"), resource, pick("1", "1m", "1Mi", "0"))
		}
		var env string
		for range 1 + r.IntN(3) {
			switch r.IntN(5) {
			case 0:
				env += "    - name: GOMAXPROCS" + ref(pick("cpu", "cpu", "memory"))
			case 1:
				env += fmt.Sprintf("    - name: GOMAXPROCS\n      value: %q\n", pick("1", "2", "3", "8", "1000m", "64", "0"))
			case 2:
				env += "    - name: GOMEMLIMIT" + ref(pick("memory", "memory", "cpu"))
			case 3:
				env += fmt.Sprintf("    - name: GOMEMLIMIT\n      value: %q\n", pick("400MiB", "512Mi", "1G", "off", "1", "90%", "64"))
			case 4:
				env += fmt.Sprintf("    - name: GOGC\n      value: %q\n", pick("100", "off", "0"))
			}
		}
		if env != "" {
			text += "    env:\n" + env
		}
		if err := os.WriteFile("a.yaml", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		l := New(Options{Mend: true, Note: func(string, ...any) {}})
		if err := l.Gather([]string{"a.yaml"}); err != nil {
			t.Fatal(err)
		}
		l.Check()
		after, err := os.ReadFile("a.yaml")
		if err != nil {
			t.Fatal(err)
		}
		was, plan := ends(t, []byte(text))
		is, _ := ends(t, after)
		if is != was {
			changed++
		}
		for _, k := range []struct {
			name           string
			was, is, plans int64
			changed        bool
		}{{"GOMAXPROCS", was.procs, is.procs, plan.procs, was.set[0] != is.set[0]}, {"GOMEMLIMIT", was.mebibytes, is.mebibytes, plan.mebibytes, was.set[1] != is.set[1]}} {
			switch {
			case !k.changed:
			case k.is == k.plans:
				planned++
			case k.name == "GOMEMLIMIT" && k.was == broken:
				mended++
			default:
				t.Errorf("pod %d: %s was %d, is %d, and the plan says %d\n%s\n%s", i, k.name, k.was, k.is, k.plans, text, after)
			}
		}
	}
	t.Logf("%d pods changed; %d knobs became the plan's, %d were mended", changed, planned, mended)
	if planned < 400 || mended < 15 {
		t.Error("too few for a test")
	}
}
