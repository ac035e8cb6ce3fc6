// SPDX-License-Identifier: Apache-2.0

package heldprof

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

var kept [][]byte

//go:noinline
func hold() { kept = append(kept, make([]byte, 4<<20)) }

func lookup(t *testing.T, name string, debug int) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	if err := pprof.Lookup(name).WriteTo(&b, debug); err != nil {
		t.Fatal(err)
	}
	return &b
}

func parse(t *testing.T, b *bytes.Buffer) *profile.Profile {
	t.Helper()
	p, err := profile.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestHeap: what this process holds, as runtime/pprof wrote it.
func TestHeap(t *testing.T) {
	for range 8 {
		hold()
	}
	runtime.GC()
	runtime.GC()
	p := parse(t, lookup(t, "heap", 0))
	h, ok := HeapOf(p)
	if !ok || len(h.Holders) == 0 || h.Rate != int64(runtime.MemProfileRate) {
		t.Fatalf("%+v, %v", h, ok)
	}
	// Objects of 4 MiB are all sampled but for one in 3,000.
	top := h.Holders[0]
	if !strings.HasSuffix(top.Calls[0].Function, "heldprof.hold") || filepath.Base(top.Calls[0].File) != "heldprof_test.go" || top.Calls[0].Line != 22 ||
		top.Samples < 7 || top.Samples > 8 || top.Objects < 7 || top.Live < 28<<20 || top.Allocated < top.Live {
		t.Errorf("%+v", top)
	}
	if _, ok := GoroutinesOf(p); ok {
		t.Error("a heap profile is taken for one of goroutines")
	}
	runtime.KeepAlive(kept)
}

type server struct{}

//go:noinline
func (s *server) wait(c chan int, arg struct{ a, b int }) { <-c }

// TestGoroutines: the same goroutines from a profile and from the printed text, and back from the profile that is
// written of them.
func TestGoroutines(t *testing.T) {
	c := make(chan int)
	defer close(c)
	for range 20 {
		go (&server{}).wait(c, struct{ a, b int }{1, 2})
	}
	parked := func() bool {
		return strings.Count(lookup(t, "goroutine", 2).String(), "heldprof.(*server).wait(") == 20
	}
	for !parked() {
		runtime.Gosched()
	}
	const name = "github.com/snug-go/snug/cmd/snug/internal/profile/heldprof.(*server).wait"
	find := func(g *Goroutines) *Group {
		for i := range g.Groups {
			for _, call := range g.Groups[i].Calls {
				if call.Function == name {
					return &g.Groups[i]
				}
			}
		}
		t.Fatalf("%s is not in %+v", name, g)
		return nil
	}
	binary, ok := GoroutinesOf(parse(t, lookup(t, "goroutine", 0)))
	if !ok || binary.Known || find(binary).Count != 20 {
		t.Errorf("%+v, %v", binary, ok)
	}
	text, err := ParseDump(lookup(t, "goroutine", 2))
	if err != nil || !text.Known {
		t.Fatal(err)
	}
	g := find(text)
	if g.Count != 20 || g.State != "chan receive" || g.Calls[0].Line != 69 || !strings.HasSuffix(g.Creator.Function, "heldprof.TestGoroutines") ||
		g.Creator.Line != 77 || len(g.IDs) != maxIDs {
		t.Errorf("%+v", g)
	}
	p := text.Profile("heldprof.test")
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	again, ok := GoroutinesOf(p)
	if !ok || find(again).Count != 20 {
		t.Errorf("%+v, %v", again, ok)
	}
}

// TestCrash: what a program prints when it ends by a deadlock, after its own output.
func TestCrash(t *testing.T) {
	dir := t.TempDir()
	const source = `package main

import "fmt"

func down(n int, c chan int) {
	if n == 0 {
		<-c
	}
	down(n-1, c)
}

func main() {
	fmt.Println("starting (really)")
	for range 2 {
		go down(150, nil)
	}
	down(3, nil)
}
`
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "run", "-gcflags=-l", filepath.Join(dir, "main.go"))
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("it ended without an error: %s", out)
	}
	for name, text := range map[string][]byte{"as printed": out, "with carriage returns": bytes.ReplaceAll(out, []byte("\n"), []byte("\r\n"))} {
		g, err := ParseDump(bytes.NewReader(text))
		if err != nil || len(g.Groups) != 2 {
			t.Fatalf("%s: %+v, %v\n%s", name, g, err, text)
		}
		deep, first := g.Groups[0], g.Groups[1]
		if deep.Count != 2 || !deep.Cut || deep.State != "chan receive (nil chan)" || deep.Creator.Function != "main.main" || len(deep.Calls) < 50 {
			t.Errorf("%s: %+v", name, deep)
		}
		var names []string
		for _, c := range first.Calls {
			names = append(names, c.Function)
		}
		if want := []string{"main.down", "main.down", "main.down", "main.down", "main.main"}; first.Cut || !reflect.DeepEqual(names, want) || first.Calls[4].Line != 17 {
			t.Errorf("%s: %q, %+v", name, names, first)
		}
	}
}

// TestNoDump: text that only looks like goroutines.
func TestNoDump(t *testing.T) {
	for _, text := range []string{"", "goroutine 1:\nmain.main()\n", "goroutine x [running]:\nmain.main()\n", "hello\n\tx.go:12 +0x1\n", "goroutine 0 [idle]:\nruntime.futex(0x1)\n\tx.s:1 +0x1\n"} {
		if g, err := ParseDump(strings.NewReader(text)); err != nil || len(g.Groups) != 0 {
			t.Errorf("%q: %+v, %v", text, g, err)
		}
	}
	if _, err := ParseDump(strings.NewReader(strings.Repeat("x", 2<<20))); err == nil {
		t.Error("a line of 2 MiB is no error")
	}
}

func FuzzParseDump(f *testing.F) {
	f.Add("goroutine 18 gp=0xc000006c40 m=nil [chan receive, 5 minutes, locked to thread]:\nmain.(*T).f[...](0xc, {0x1, 0x2})\n\t/a b/x.go:12 +0x25\n...12 frames elided...\ncreated by main.main in goroutine 1\n\t/x.go:31 +0x5b\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		g, err := ParseDump(strings.NewReader(text))
		if err != nil {
			return
		}
		p := g.Profile("fuzz")
		if err := p.CheckValid(); err != nil {
			t.Error(err)
		}
		n := 0
		for _, x := range g.Groups {
			n += x.Count
		}
		sum := 0
		for _, s := range p.Sample {
			sum += int(s.Value[0])
		}
		if n != sum || n > strings.Count(text, "goroutine ") {
			t.Errorf("%d goroutines, %d in the profile", n, sum)
		}
	})
}
