// SPDX-License-Identifier: Apache-2.0

package gobin

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// answer is a line of the program's: an address and what its runtime says of it.
type answer struct {
	pc    uint64
	frame Frame
}

// running is the program, waiting for its input to end.
type running struct {
	pid    int
	gc     uint64 // where runtime.GC is
	pcs    []answer
	stacks [][]answer
}

// run starts a program of this machine's kind, and ends it with the test.
func run(t *testing.T, path string, env ...string) running {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the program is of linux/amd64")
	}
	// Nobody waits for a program that does not come to its end.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, path)
	cmd.Env = append(os.Environ(), env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		io.Copy(io.Discard, out)
		cmd.Wait()
	})
	p := running{pid: cmd.Process.Pid}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		var a answer
		var i int
		switch word {
		case "gc":
			_, err = fmt.Sscan(rest, &p.gc)
		case "pc":
			_, err = fmt.Sscanf(rest, "%d %d %q %q", &a.pc, &a.frame.Line, &a.frame.Function, &a.frame.File)
			p.pcs = append(p.pcs, a)
		case "frame":
			_, err = fmt.Sscanf(rest, "%d %d %d %q %q", &i, &a.pc, &a.frame.Line, &a.frame.Function, &a.frame.File)
			if i == 0 {
				p.stacks = append(p.stacks, nil)
			}
			p.stacks[len(p.stacks)-1] = append(p.stacks[len(p.stacks)-1], a)
		case "end":
			return p
		}
		if err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
	}
	t.Fatal("the program ended early")
	return p
}

// TestFrames: functions, files, lines and inlined calls are those that the
// program's own runtime names.
func TestFrames(t *testing.T) {
	for _, toolchain := range toolchains() {
		for _, m := range []mode{exe, stripped, piestrip, cgostrip} {
			t.Run(toolchain+" "+m.String(), func(t *testing.T) {
				path := build(t, toolchain, m)
				f, p := open(t, path), run(t, path)
				bias := p.gc - f.tab.lookup(map[string]bool{"GC": true})["GC"].entry
				if !f.PIE && bias != 0 {
					t.Errorf("runtime.GC is %#x off", bias)
				}
				wrong := 0
				for _, a := range p.pcs {
					got := f.Frames(nil, a.pc-bias)
					if len(got) == 0 || got[0].Function != a.frame.Function || got[0].File != a.frame.File || got[0].Line != a.frame.Line {
						if wrong++; wrong < 10 {
							t.Errorf("%#x: %+v, want %+v", a.pc-bias, got, a.frame)
						}
					}
				}
				if len(p.pcs) < 1000 {
					t.Errorf("%d addresses", len(p.pcs))
				}
				inlined := 0
				for _, stack := range p.stacks {
					for len(stack) > 0 {
						got := f.Frames(nil, stack[0].pc-bias)
						want := stack[:min(max(len(got), 1), len(stack))]
						stack = stack[len(want):]
						if !slices.EqualFunc(got, want, func(g Frame, w answer) bool {
							if (g.Start > 0) != f.tab.go120 || g.Start > g.Line || printed(g.Symbol) != g.Function {
								t.Errorf("where it begins, and its symbol: %+v", g)
							}
							g.Inlined, g.Symbol, g.Start = false, "", 0
							return g == w.frame
						}) {
							t.Errorf("%+v, want %+v", got, want)
						}
						for i, g := range got {
							if g.Inlined != (i < len(got)-1) {
								t.Errorf("frame %d of %d: inlined is %v", i, len(got), g.Inlined)
							}
						}
						inlined += len(got) - 1
					}
				}
				if len(p.stacks) < 8 || inlined < len(p.stacks) {
					t.Errorf("%d stacks, %d inlined calls", len(p.stacks), inlined)
				}
			})
		}
	}
}

func TestFunc(t *testing.T) {
	f := open(t, build(t, "local", cgoexe))
	entry := f.tab.lookup(map[string]bool{"procresize": true})["procresize"].entry
	name, start, end, ok := f.Func(entry + 10)
	if !ok || name != "runtime.procresize" || start != entry || end < entry+100 {
		t.Errorf("%q [%#x, %#x) %v", name, start, end, ok)
	}
	if name, _, next, ok := f.Func(end); !ok || name == "runtime.procresize" || next <= end {
		t.Errorf("at the end: %q %v", name, ok)
	}
	for _, pc := range []uint64{0, f.Entry, f.TextStart - 1, 1 << 40, ^uint64(0)} {
		if name, _, _, ok := f.Func(pc); ok {
			t.Errorf("%q at %#x, where no Go is", name, pc)
		}
		if got := f.Frames(nil, pc); got != nil {
			t.Errorf("%v at %#x", got, pc)
		}
	}
}

func TestPrinted(t *testing.T) {
	for name, want := range map[string]string{
		"main.main":                      "main.main",
		"main.F[go.shape.int]":           "main.F[...]",
		"main.(*T[go.shape.[]int]).M":    "main.(*T[...]).M",
		"main.F[...].func1":              "main.F[...].func1",
		"main.broken]name[":              "main.broken]name[",
		"[int]":                          "[...]",
		"main.F[]":                       "main.F[...]",
		"slices.Sort[go.shape.[]string]": "slices.Sort[...]",
	} {
		if got := printed(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestPlausible: the first entry of a tree names a function by the start of its name, and a caller within it.
func TestPlausible(t *testing.T) {
	const names = "\x00one\x00two\x00"
	f := fn{entry: 0x100, end: 0x110}
	for _, c := range []struct {
		name, parent uint32
		ok           bool
	}{
		{0, 4, true}, {1, 0, true}, {1, 15, true}, {1, 16, false}, {5, 4, true}, {2, 4, false}, {4, 4, false}, {8, 4, false}, {9, 4, false}, {10, 4, false}, {1 << 30, 4, false},
	} {
		p := append([]byte(names), 0xff, 0xff, 0xff) // the next part of the table, which no name reaches
		tree := len(p)
		p = le.AppendUint32(le.AppendUint32(le.AppendUint32(p, 0), c.name), c.parent)
		p = append(p, 0, 0, 0, 0)
		tab := part(p)
		tab.go120, tab.names, tab.cu = true, 0x1000, 0x1000+uint64(len(names))
		if name, ok := tab.plausible(f, tab.treeAt(0x1000+uint64(tree), 0)); ok != c.ok || ok && name != c.name {
			t.Errorf("name at %d, called at %d: %d %t", c.name, c.parent, name, ok)
		}
		if _, ok := tab.plausible(f, tab.treeAt(0x1000+uint64(tree)+1, 0)); ok {
			t.Error("an entry that is cut off")
		}
	}
}

// TestTreeOffset: the numbers of lists of a function at which it has an inline tree.
func TestTreeOffset(t *testing.T) {
	for _, old := range []bool{false, true} {
		fixed := 44
		if old {
			fixed = 40
		}
		for _, c := range []struct {
			npcdata   uint32
			nfuncdata byte
			index     uint32
			ok        bool
		}{{3, 4, 7, true}, {2, 4, 7, false}, {3, 3, 7, false}, {3, 4, 0, false}, {1 << 10, 4, 7, true}, {1<<10 + 1, 4, 7, false}, {3, 255, 7, true}} {
			p := make([]byte, fixed+4*int(c.npcdata)+4*int(c.nfuncdata))
			le.PutUint32(p[funcNPCData:], c.npcdata)
			p[fixed-1] = c.nfuncdata
			if c.npcdata > pcdataInlTree {
				le.PutUint32(p[fixed+4*pcdataInlTree:], c.index)
			}
			if c.nfuncdata > funcdataInlTree {
				le.PutUint32(p[fixed+4*int(c.npcdata)+4*funcdataInlTree:], 99)
			}
			tab := part(p)
			tab.go120 = !old
			at, index := tab.treeOffset(fn{args: 0x1000})
			if ok := at != ^uint32(0); ok != c.ok || ok && (at != 99 || index != c.index) {
				t.Errorf("%+v, before 1.20 %t: %d, %d", c, old, at, index)
			}
		}
	}
}
