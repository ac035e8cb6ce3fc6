// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const onePod = "kind: Pod\nspec: {containers: [{name: a, image: i, env: [{name: GOGC, value: '1'}]}]}\n"

// TestKept: only the parts of a document that rules use are kept.
func TestKept(t *testing.T) {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	var b Batch
	text := []byte("metadata: {annotations: {a: b, snug.dev/ignore: gogc-zero why}, labels: {c: d}}\nx: [" + strings.Repeat("a, ", 200_000) + "]\n" + onePod)
	before := heap()
	f := b.Parse("f", text)
	if grown := heap() - before; grown > 8<<20 || b.kept.Load() > 2<<20 {
		t.Errorf("%d bytes are kept, by the estimate %d", grown, b.kept.Load())
	}
	o := f.Objects[0]
	if all := o.Annotations("snug.dev/ignore"); len(all) != 1 || all[0].Text != "gogc-zero why" || o.Pods[0].Labels()["c"] != "d" {
		t.Errorf("%+v, %v", all, o.Pods[0].Labels())
	}
	if _, ok := o.Replace(o.Pods[0].Containers[0].Env[0].Value, "2"); !ok {
		t.Error("no edit can be made of it")
	}
	runtime.KeepAlive(f)
}

// TestFrugal: the memory is bound until Lift.
func TestFrugal(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "")
	limit := func() int64 { return debug.SetMemoryLimit(-1) }
	before := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(before)
	b := Batch{Frugal: true}
	for range 2 {
		if b.Parse("f", []byte(onePod)); limit() == math.MaxInt64 {
			t.Error("the memory is not bound")
		}
	}
	if b.Release(); limit() == math.MaxInt64 {
		t.Error("the memory is not bound after Release")
	}
	if b.Lift(); limit() != math.MaxInt64 {
		t.Errorf("GOMEMLIMIT = %d after Lift, want none", limit())
	}
}

// TestBatchFull: documents without room are reported, and earlier ones are kept.
func TestBatchFull(t *testing.T) {
	var b Batch
	b.kept.Store(maxKept - 10_000)
	f := b.Parse("f", []byte(strings.Repeat(onePod+"---\n", 20)))
	if n := len(f.Objects); n < 1 || n > 10 || len(f.Problems) != 1 || f.Problems[0].Why != tooMuch || f.Problems[0].Line != 3*n {
		t.Errorf("%d objects, %+v", n, f.Problems)
	}
	b.kept.Store(maxKept - 10)
	if f = b.Parse("f", []byte(onePod)); len(f.Objects) > 0 || len(f.Problems) != 1 || b.kept.Load() != maxKept-10 {
		t.Errorf("%d objects, %+v, %d kept", len(f.Objects), f.Problems, b.kept.Load())
	}
	b.kept.Store(0)
	if f = b.Parse("f", []byte("kind: Service\n")); b.kept.Load() != 0 || f.Text != nil || f.Found != 1 {
		t.Errorf("%d kept, %d found", b.kept.Load(), f.Found)
	}
}

// TestManyObjects: dropped objects are reported.
func TestManyObjects(t *testing.T) {
	list := "---\nkind: List\nitems:\n" + strings.Repeat("- {kind: Pod, spec: {containers: [{name: a}]}}\n", 1000)
	whole := strings.Repeat(list, maxObjects/1000)
	for name, text := range map[string]string{"of lists": whole + list, "of documents": whole + "---\n" + onePod + "---\n" + onePod} {
		f := Parse("f", []byte(text))
		if len(f.Objects) != maxObjects || len(f.Problems) != 1 || f.Problems[0].Why != "more than 100000 objects in one file; the rest is not looked at" {
			t.Errorf("%s: %d objects, %+v", name, len(f.Objects), f.Problems)
		}
	}
}

// TestNodes: the estimate is never below the number of nodes, and not far above it for the output of
// kubectl.
func TestNodes(t *testing.T) {
	for _, text := range []string{
		onePod, "a", "", "[a,b,{c: d,e}]", "? a\n? - b\n: c\n", "- - - a\n- b:\n  - c", `{"a":[1,-2,"b:c"],'d':null,"e":{}}`, "{a, b: , c: [d]}", "a:\n-\n-\n-", "{\"a\":&x b,\"c\":*x}", "é:\u00a0b", "{? a : b, ? c}", "[a:,b:]", "- a:\tb\n- c",
		"{'a':b,\"c\":d,[e]: f}",
	} {
		root, err := parseYAML([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		n := 0
		if root != nil {
			n = nodesOf(root)
		}
		if nodes([]byte(text)) < n {
			t.Errorf("%q: %d nodes, by the estimate %d", text, n, nodes([]byte(text)))
		}
	}
	text := []byte("  uid: 0a1b-2c3d-4e5f\n  time: 2026-11-22T05:47:00Z\n  image: registry.example.org:5000/a-b/c-d:v1@sha256:ab\n  args: [--a-b=c:d]\n")
	if n := nodes(text); n > 20 {
		t.Errorf("%d", n)
	}
}

// TestLongLines: positions after many runes of all lengths are right.
func TestLongLines(t *testing.T) {
	var b strings.Builder
	b.WriteString("kind: Pod\nspec: {containers: [")
	for i := range 500 {
		fmt.Fprintf(&b, "{name: 'aüé\U0001f600%d', image: i, env: [{name: GOGC, value: 'v%d'}]}, ", i, i)
	}
	b.WriteString("]}\n")
	f := Parse("f", []byte(b.String()))
	o := f.Objects[0]
	for i := 499; i >= 0; i -= 7 { // not in order
		at := o.EnvAt(&o.Pods[0].Containers[i].Env[0])
		if text := f.Line(at.Line)[at.Column-1:]; !strings.HasPrefix(text, fmt.Sprintf("'v%d'", i)) {
			t.Fatalf("%d: %+v, %.20s", i, at, text)
		}
	}
	if at := o.EnvAt(&o.Pods[0].Containers[1].Env[0]); f.Runes(at) != at.Column-2*5 || f.Runes(Pos{2, 5}) != 5 {
		t.Errorf("%+v, %d, %d", at, f.Runes(at), f.Runes(Pos{2, 5}))
	}
}

// TestUsers: places that use a node through aliases are counted, except below top-level x- keys.
func TestUsers(t *testing.T) {
	const env = "env: [{name: GOGC, value: 200%}]"
	for _, c := range []struct {
		name, text string
		want       int
	}{
		{"none", "kind: Pod\nspec: {containers: [{name: a, " + env + "}]}\n", 1},
		{"an alias of something else", "kind: Pod\nspec: {containers: [{name: &n a, " + env + "}], x: *n}\n", 1},
		{"two", "kind: Pod\nspec: {containers: [&c {name: a, " + env + "}, *c]}\n", 2},
		{"two of two", "kind: Pod\nspec: {containers: [{name: a, env: &e [&i {name: GOGC, value: 200%}, *i]}, {name: b, env: *e}]}\n", 4},
		{"by a merge", "kind: Pod\nspec: {containers: [&c {name: a, " + env + "}, {<<: *c}]}\n", 2},
		{"below x", "kind: Pod\nx: &c {name: a, " + env + "}\nspec: {containers: [*c]}\n", 1},
		{"below x-c", "kind: Pod\nx-c: {c: &c {name: a, " + env + "}}\nspec: {containers: [*c, *c]}\n", 2},
		{"of itself", "kind: Pod\nspec: &s {containers: [{name: a, x: *s, " + env + "}]}\n", manyUsers},
	} {
		f := Parse("f", []byte(c.text))
		o := f.Objects[0]
		e, ok := o.Replace(o.Pods[0].Containers[0].Env[0].Value, "200")
		if !ok || e.Users() != c.want {
			t.Errorf("%s: %v, %d users, want %d", c.name, ok, e.Users(), c.want)
			continue
		}
		after, err := f.Apply([]Edit{e})
		if err != nil || string(after.Text) != strings.Replace(c.text, "200%", "200", 1) && string(after.Text) != strings.Replace(c.text, "200%", `"200"`, 1) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func nodesOf(n *yaml.Node) int {
	sum := 1
	for _, c := range n.Content {
		sum += nodesOf(c)
	}
	return sum
}
