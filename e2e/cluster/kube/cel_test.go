// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/kubebuild"
	"github.com/snug-go/snug/e2e/internal/programs"
	"github.com/snug-go/snug/internal/plan"
)

// edges are around every rounding: of CPU in thousandths of a core, of memory in bytes.
var (
	milliEdges = []int64{1, 2, 499, 500, 501, 999, 1000, 1001, 1499, 1500, 1501, 1999, 2000, 2001, 2499, 2500, 2501, 3000, 4095_500, 4096_000, 8191_000, 8191_999, 8192_000, 8192_001}
	byteEdges  = []int64{1, 47 << 20, 48 << 20, 56 << 20, 64<<20 - 1, 64 << 20, 64<<20 + 1, 72 << 20, 80<<20 - 1, 80 << 20, 80<<20 + 1, 80<<20 + 9, 80<<20 + 10, 90 << 20, 1 << 30, 1e12, 1e18 - 1, 1e18, 1e18 + 1}
)

const maxBytes = 1e18 // more counts as no limit, as in package podpatch

// due is what the policies decide on a container: -1 Ps are a reference to the limit.
type due struct {
	Procs  int64
	Memory int64 `json:",string"`
}

// TestCEL: the text of the policies, evaluated as by an API server, decides on random limits what package plan does.
func TestCEL(t *testing.T) {
	gate.Need(t, "kube")
	evaluator := kubebuild.Command(t, "cel")
	snug := filepath.Join(t.TempDir(), "snug")
	if err := programs.BuildTool(programs.Root(t), snug); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		config string
		policy plan.Policy
		count  int
	}{
		{"", plan.Policy{}, 100_000},
		{"minProcs: 1\nrequestFactor: 1.5\nmemory: 75%\n", plan.Policy{MinProcs: 1, RequestFactor: 1.5, Memory: plan.Memory{Percent: 75}}, 20_000},
		{"round: floor\nminProcs: 3\nmemory: 99%-100MiB\n", plan.Policy{Round: plan.Floor, MinProcs: 3, Memory: plan.Memory{Percent: 99, Less: 100 << 20}}, 20_000},
		{"round: nearest\nrequestFactor: 0.3\n", plan.Policy{Round: plan.Nearest, RequestFactor: 0.3}, 20_000},
	} {
		t.Run(fmt.Sprintf("configuration %d", i), func(t *testing.T) {
			compareCEL(t, evaluator, decisions(t, snug, c.config), &c.policy, c.count, rand.New(rand.NewPCG(3, uint64(i))))
		})
	}
}

// decisions returns the variables of the policy fit up to the one with its decisions, as the evaluator reads them.
func decisions(t *testing.T, snug, config string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "snug.yaml")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command(snug, "cluster", "policy", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		Spec struct {
			Variables []struct{ Name, Expression string }
		}
	}
	if err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&p); err != nil {
		t.Fatal(err)
	}
	for i, v := range p.Spec.Variables {
		if v.Name == "due" {
			v.Name, v.Expression = "numbers", `variables.due.map(x, {"procs": x.procs, "memory": dyn(string(x.memory))})`
			line, err := json.Marshal(append(p.Spec.Variables[:i+1:i+1], v))
			if err != nil {
				t.Fatal(err)
			}
			return append(line, '\n')
		}
	}
	t.Fatal("no variable due")
	return nil
}

// compareCEL compares count containers, each with a random CPU limit or request, and a random memory limit.
func compareCEL(t *testing.T, evaluator string, variables []byte, policy *plan.Policy, count int, r *rand.Rand) {
	t.Helper()
	pick := func(edges []int64, most float64) int64 {
		switch r.IntN(4) {
		case 0:
			return edges[r.IntN(len(edges))]
		case 1:
			return max(1, r.Int64N(5000)) // small ones
		case 2:
			return max(1, 1000*r.Int64N(200)+r.Int64N(3)-1) // beside whole cores
		}
		return int64(math.Exp(r.Float64() * math.Log(most)))
	}
	type container struct {
		milli, bytes int64
		request      bool
	}
	const perPod = 50
	var in bytes.Buffer
	in.Write(variables)
	var all []container
	for len(all) < count {
		var list []any
		for range perPod {
			c := container{pick(milliEdges, 9e6), pick(byteEdges, 1e18), r.IntN(3) == 0}
			if r.IntN(2) == 0 {
				c.bytes = 64<<20 + r.Int64N(1<<34)
			}
			limits, requests := Object{"memory": fmt.Sprint(c.bytes)}, Object{}
			map[bool]Object{false: limits, true: requests}[c.request]["cpu"] = fmt.Sprintf("%dm", c.milli)
			list = append(list, Object{"name": "c", "resources": Object{"limits": limits, "requests": requests}})
			all = append(all, c)
		}
		line, err := json.Marshal(Object{"metadata": Object{"labels": Object{"snug.dev/inject": "enabled", "snug.dev/gomaxprocs": "enabled"}}, "spec": Object{"containers": list}})
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	cmd := exec.Command(evaluator)
	var said strings.Builder
	cmd.Stdin, cmd.Stderr = &in, &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	var answers []due
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var some []due
		if err := dec.Decode(&some); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, some...)
	}
	if len(answers) != len(all) {
		t.Fatalf("%d answers to %d containers", len(answers), len(all))
	}
	differ := 0
	for i, c := range all {
		cores := float64(c.milli) / 1000
		want, memory := plan.ProcsForLimit(cores, policy), int64(0)
		if c.request {
			want = plan.ProcsForRequest(cores, policy)
		}
		if c.bytes <= maxBytes {
			memory = plan.MemoryForLimit(c.bytes, policy)
		}
		procs, got := answers[i].Procs, answers[i].Memory
		if procs == -1 {
			procs = (c.milli + 999) / 1000 // as the kubelet rounds a reference
		}
		if got < plan.MinValue {
			got = 0 // the policy then sets none
		}
		if procs != want || got>>20 != memory>>20 { // the policy sets whole MiB
			if differ++; differ <= 10 {
				t.Errorf("%+v: CEL gives %d Ps and %d bytes, package plan %d and %d", c, procs, got, want, memory)
			}
		}
	}
	t.Logf("%d CPU amounts and %d memory limits compared, %d containers differ", len(all), len(all), differ)
}
