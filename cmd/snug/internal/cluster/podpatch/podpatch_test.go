// SPDX-License-Identifier: Apache-2.0

package podpatch_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// said returns a patch in one line.
func said(p podpatch.Patch) string {
	var s []string
	for _, e := range p.Env {
		if e.Resource != "" {
			s = append(s, e.Name+"<"+e.Resource)
		} else {
			s = append(s, e.Name+"="+e.Value)
		}
	}
	for _, r := range p.Resize {
		s = append(s, "restart:"+r)
	}
	for _, r := range p.Reasons {
		s = append(s, strings.ToLower(r.Knob[2:5])+":"+strings.TrimPrefix(r.Code, "pod-"))
	}
	return strings.Join(s, " ")
}

func TestDecide(t *testing.T) {
	golang := func(minor int, blind bool) podpatch.Program {
		return podpatch.Program{State: podpatch.IsGo, Go: plan.Go{Minor: minor, Blind: blind}}
	}
	none := limits.NoLimit[int64]()
	of := limits.Of[int64]
	const mib = 1 << 20
	for _, c := range []struct {
		name   string
		c      podpatch.Container
		policy podpatch.Policy
		want   string
	}{
		{"Go 1.26 with both limits", podpatch.Container{Program: golang(26, false), CPULimit: of(1500), MemoryLimit: of(512 * mib)}, podpatch.Policy{},
			"GOMEMLIMIT=460MiB max:procs-follow mem:memory-share"},
		{"Go 1.26 with a GOMAXPROCS that pins it", podpatch.Container{Program: golang(26, false), CPULimit: of(1500), MemoryLimit: none, Set: map[string]bool{"GOMAXPROCS": true}}, podpatch.Policy{},
			"max:procs-pinned mem:no-memory-limit"},
		{"Go 1.26 with a GOMAXPROCS and no limit to follow", podpatch.Container{Program: golang(26, false), CPULimit: none, MemoryLimit: none, Set: map[string]bool{"GOMAXPROCS": true}}, podpatch.Policy{},
			"max:env-set mem:no-memory-limit"},
		{"Go 1.26 without a CPU limit", podpatch.Container{Program: golang(26, false), CPULimit: none, CPURequest: of(1000), MemoryLimit: none}, podpatch.Policy{},
			"max:no-cpu-limit mem:no-memory-limit"},
		{"without a CPU limit, twice the request", podpatch.Container{Program: golang(26, false), CPULimit: none, CPURequest: of(1200), MemoryLimit: none}, podpatch.Policy{RequestFactor: 2},
			"GOMAXPROCS=3 max:procs-request mem:no-memory-limit"},
		{"neither limit nor request", podpatch.Container{Program: golang(24, false), CPULimit: none, CPURequest: none, MemoryLimit: none}, podpatch.Policy{RequestFactor: 2},
			"max:no-cpu-limit mem:no-memory-limit"},
		{"a small request", podpatch.Container{Program: golang(24, false), CPULimit: none, CPURequest: of(10), MemoryLimit: none}, podpatch.Policy{RequestFactor: 2},
			"GOMAXPROCS=2 max:procs-request mem:no-memory-limit"},
		{"Go 1.24", podpatch.Container{Program: golang(24, false), CPULimit: of(1500), MemoryLimit: of(512 * mib)}, podpatch.Policy{},
			"GOMAXPROCS<limits.cpu GOMEMLIMIT=460MiB max:procs-reference mem:memory-share"},
		{"Go 1.26 with an old go line", podpatch.Container{Program: golang(26, true), CPULimit: of(250), MemoryLimit: none}, podpatch.Policy{},
			"GOMAXPROCS<limits.cpu max:procs-reference mem:no-memory-limit"},
		{"rounded down", podpatch.Container{Program: golang(24, false), CPULimit: of(2500), MemoryLimit: none}, podpatch.Policy{Round: plan.Floor},
			"GOMAXPROCS=2 max:procs-value mem:no-memory-limit"},
		{"at least 2", podpatch.Container{Program: golang(24, false), CPULimit: of(1000), MemoryLimit: none}, podpatch.Policy{MinProcs: 2},
			"GOMAXPROCS=2 max:procs-value mem:no-memory-limit"},
		{"one core, which a reference would make 1", podpatch.Container{Program: golang(24, false), CPULimit: of(1000), MemoryLimit: none}, podpatch.Policy{Restart: true},
			"GOMAXPROCS=2 max:procs-value mem:no-memory-limit"},
		{"one core, by reference", podpatch.Container{Program: golang(24, false), CPULimit: of(1000), MemoryLimit: none}, podpatch.Policy{MinProcs: 1},
			"GOMAXPROCS<limits.cpu max:procs-reference mem:no-memory-limit"},
		{"at least 2, and more", podpatch.Container{Program: golang(24, false), CPULimit: of(1001), MemoryLimit: none}, podpatch.Policy{MinProcs: 2},
			"GOMAXPROCS<limits.cpu max:procs-reference mem:no-memory-limit"},
		{"Go of an unknown version", podpatch.Container{Program: golang(0, false), CPULimit: of(2000), MemoryLimit: of(128 * mib)}, podpatch.Policy{},
			"GOMAXPROCS<limits.cpu GOMEMLIMIT=115MiB max:procs-reference mem:memory-share"},
		{"before GOMEMLIMIT", podpatch.Container{Program: golang(18, false), CPULimit: none, MemoryLimit: of(512 * mib)}, podpatch.Policy{OptIn: true},
			"max:no-cpu-limit mem:go-too-old"},
		{"the first Go with GOMEMLIMIT", podpatch.Container{Program: golang(19, false), CPULimit: none, MemoryLimit: of(512 * mib)}, podpatch.Policy{},
			"GOMEMLIMIT=460MiB max:no-cpu-limit mem:memory-share"},
		{"the last Go that does not follow the quota", podpatch.Container{Program: golang(24, false), CPULimit: of(2000), MemoryLimit: none}, podpatch.Policy{},
			"GOMAXPROCS<limits.cpu max:procs-reference mem:no-memory-limit"},
		{"the first Go that follows the quota", podpatch.Container{Program: golang(25, false), CPULimit: of(2000), MemoryLimit: none}, podpatch.Policy{},
			"max:procs-follow mem:no-memory-limit"},
		{"a request of nothing", podpatch.Container{Program: golang(24, false), CPULimit: none, CPURequest: of(0), MemoryLimit: none}, podpatch.Policy{RequestFactor: 2},
			"max:no-cpu-limit mem:no-memory-limit"},
		{"a negative request", podpatch.Container{Program: golang(24, false), CPULimit: none, CPURequest: of(-1), MemoryLimit: none}, podpatch.Policy{RequestFactor: 2},
			"max:no-cpu-limit mem:no-memory-limit"},
		{"a request above any machine", podpatch.Container{Program: golang(24, false), CPULimit: none, CPURequest: of(1 << 50), MemoryLimit: none}, podpatch.Policy{RequestFactor: 2},
			"max:no-cpu-limit mem:no-memory-limit"},
		{"on Windows", podpatch.Container{Program: golang(24, false), CPULimit: of(1500), MemoryLimit: of(512 * mib), Windows: true}, podpatch.Policy{OptIn: true},
			"max:windows mem:windows"},
		{"a small memory limit", podpatch.Container{Program: golang(26, false), CPULimit: none, MemoryLimit: of(63 * mib)}, podpatch.Policy{},
			"max:no-cpu-limit mem:memory-small"},
		{"64 MiB", podpatch.Container{Program: golang(26, false), CPULimit: none, MemoryLimit: of(64 * mib)}, podpatch.Policy{},
			"GOMEMLIMIT=56MiB max:no-cpu-limit mem:memory-share"},
		{"a configured share", podpatch.Container{Program: golang(26, false), CPULimit: none, MemoryLimit: of(1000 * mib)}, podpatch.Policy{Memory: plan.Memory{Percent: 75}},
			"GOMEMLIMIT=750MiB max:no-cpu-limit mem:memory-share"},
		{"an absurd limit", podpatch.Container{Program: golang(24, false), CPULimit: of(1<<63 - 1), MemoryLimit: of(1<<63 - 1)}, podpatch.Policy{},
			"max:no-cpu-limit mem:no-memory-limit"},
		{"a limit above any machine, and a request", podpatch.Container{Program: golang(24, false), CPULimit: of(8192_000), CPURequest: of(1500), MemoryLimit: of(1_000_000_000_000_000_001)}, podpatch.Policy{RequestFactor: 2},
			"GOMAXPROCS=3 max:procs-request mem:no-memory-limit"},
		{"the largest limits", podpatch.Container{Program: golang(24, false), CPULimit: of(8191_999), MemoryLimit: of(1_000_000_000_000_000_000)}, podpatch.Policy{Round: plan.Floor},
			"GOMAXPROCS=8191 GOMEMLIMIT=858306884765MiB max:procs-value mem:memory-share"},
		{"not Go", podpatch.Container{Program: podpatch.Program{State: podpatch.NotGo}, CPULimit: of(1000), MemoryLimit: of(512 * mib)}, podpatch.Policy{},
			"max:not-go mem:not-go"},
		{"unknown", podpatch.Container{CPULimit: of(1000), MemoryLimit: of(512 * mib)}, podpatch.Policy{},
			"max:unknown-program mem:unknown-program"},
		{"unknown, opted in", podpatch.Container{CPULimit: of(2000), MemoryLimit: of(512 * mib)}, podpatch.Policy{OptIn: true},
			"GOMAXPROCS<limits.cpu GOMEMLIMIT=460MiB max:procs-reference mem:memory-share"},
		{"not Go, opted in", podpatch.Container{Program: podpatch.Program{State: podpatch.NotGo}, CPULimit: none, MemoryLimit: of(512 * mib)}, podpatch.Policy{OptIn: true},
			"GOMEMLIMIT=460MiB max:no-cpu-limit mem:memory-share"},
		{"already set", podpatch.Container{Program: golang(24, false), CPULimit: of(1000), MemoryLimit: of(512 * mib), Set: map[string]bool{"GOMAXPROCS": true, "GOMEMLIMIT": true}}, podpatch.Policy{},
			"max:env-set mem:env-set"},
		{"an unknown envFrom", podpatch.Container{Program: golang(24, false), CPULimit: of(1000), MemoryLimit: of(512 * mib), Opaque: true}, podpatch.Policy{},
			"max:env-opaque mem:env-opaque"},
		{"limits that a template fills in", podpatch.Container{Program: golang(24, false)}, podpatch.Policy{},
			"max:unknown-limit mem:unknown-limit"},
		{"with a restart", podpatch.Container{Program: golang(24, false), CPULimit: of(2000), MemoryLimit: of(512 * mib), Resize: map[string]string{"cpu": "NotRequired"}}, podpatch.Policy{Restart: true},
			"GOMAXPROCS<limits.cpu GOMEMLIMIT=460MiB max:procs-reference mem:memory-share"},
		{"with a restart that is not possible", podpatch.Container{Program: golang(24, false), CPULimit: of(2000), MemoryLimit: of(512 * mib), NoRestart: true}, podpatch.Policy{Restart: true},
			"GOMAXPROCS<limits.cpu GOMEMLIMIT=460MiB max:procs-reference mem:memory-share"},
		{"the pod's limit, shared", podpatch.Container{Program: golang(26, false), CPULimit: none, MemoryLimit: of(512 * mib), MemoryShared: true}, podpatch.Policy{},
			"max:no-cpu-limit mem:memory-shared"},
		{"with a restart for a reference", podpatch.Container{Program: golang(24, false), CPULimit: of(2000), MemoryLimit: of(512 * mib)}, podpatch.Policy{Restart: true},
			"GOMAXPROCS<limits.cpu GOMEMLIMIT=460MiB restart:cpu max:procs-reference max:restart-on-resize mem:memory-share"},
		{"a literal, which a restart would not change", podpatch.Container{Program: golang(24, false), CPULimit: of(1500), MemoryLimit: none}, podpatch.Policy{Restart: true, Round: plan.Floor},
			"GOMAXPROCS=2 max:procs-value mem:no-memory-limit"},
		{"nothing to restart for", podpatch.Container{Program: golang(26, false), CPULimit: of(1000), MemoryLimit: none}, podpatch.Policy{Restart: true},
			"max:procs-follow mem:no-memory-limit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := said(podpatch.Decide(&c.c, &c.policy)); got != c.want {
				t.Errorf("\ngot  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestSame: the decision does not depend on the order of a map, and a patch that was applied
// is not made again.
func TestSame(t *testing.T) {
	c := podpatch.Container{
		Program:  podpatch.Program{State: podpatch.IsGo, Go: plan.Go{Minor: 23}},
		CPULimit: limits.Of[int64](2000), MemoryLimit: limits.Of[int64](1 << 30), Set: map[string]bool{"A": true, "B": true, "C": true},
	}
	policy := podpatch.Policy{Restart: true}
	first := podpatch.Decide(&c, &policy)
	for range 50 {
		if again := podpatch.Decide(&c, &policy); fmt.Sprint(again) != fmt.Sprint(first) {
			t.Fatalf("%v, then %v", first, again)
		}
	}
	c.Resize = map[string]string{}
	for _, e := range first.Env {
		c.Set[e.Name] = true
	}
	for _, r := range first.Resize {
		c.Resize[r] = "RestartContainer"
	}
	if again := podpatch.Decide(&c, &policy); len(first.Env) != 2 || len(again.Env)+len(again.Resize) != 0 {
		t.Errorf("%v, and once more %v", first, again)
	}
}

// TestWords: each code is explained, and each explanation has a code.
func TestWords(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "podpatch.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := 0
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && strings.HasPrefix(lit.Value, `"pod-`) {
			codes++
			if !strings.Contains(podpatch.Words, "\n## "+strings.Trim(lit.Value, `"`)+" (reason)\n\n") {
				t.Errorf("%s is not explained", lit.Value)
			}
		}
		return true
	})
	if n := strings.Count(podpatch.Words, "\n## "); codes != n || n < 10 {
		t.Errorf("%d codes, %d explained", codes, n)
	}
}
