// SPDX-License-Identifier: Apache-2.0

package gobin

import (
	"slices"
	"strings"
	"testing"
)

// setting calls the setters in every way that matters: to read, to set, and with what may
// be either.
const setting = `package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

//go:noinline
func reads() int { return runtime.GOMAXPROCS(0) }

//go:noinline
func readsBelow() int { return runtime.GOMAXPROCS(-1) }

//go:noinline
func sets(n int) int { return runtime.GOMAXPROCS(n) }

//go:noinline
func setsOne() int { return runtime.GOMAXPROCS(1) }

//go:noinline
func setsAll() int { return runtime.GOMAXPROCS(runtime.NumCPU()) }

func small(n int) { runtime.GOMAXPROCS(n) }

//go:noinline
func setsInlined(n int) { small(n) }

//go:noinline
func perhaps(n int, ok bool) int {
	k := 0
	if ok {
		k = n
	}
	return runtime.GOMAXPROCS(k)
}

//go:noinline
func readsThenSets(n int) {
	if runtime.GOMAXPROCS(0) != n {
		runtime.GOMAXPROCS(n)
	}
}

//go:noinline
func readsMemory() int64 { return debug.SetMemoryLimit(-1) }

//go:noinline
func setsMemory(n int64) int64 { return debug.SetMemoryLimit(n) }

//go:noinline
func setsNoMemory() int64 { return debug.SetMemoryLimit(0) }

func main() {
	if n := len(os.Args); n > 1 {
		reads()
		readsBelow()
		sets(n)
		setsOne()
		setsAll()
		setsInlined(n)
		perhaps(n, n > 2)
		readsThenSets(n)
		readsMemory()
		setsMemory(int64(n))
		setsNoMemory()
		func() { runtime.GOMAXPROCS(n) }()
	}
}
`

func TestSetters(t *testing.T) {
	for _, toolchain := range toolchains() {
		src, memory := setting, []string{"main.setsMemory", "main.setsNoMemory"}
		if toolchain == "go1.18.10" { // before debug.SetMemoryLimit
			src, memory = strings.ReplaceAll(src, "debug.SetMemoryLimit", "int64"), nil
			src = strings.Replace(src, "\t\"runtime/debug\"\n", "", 1)
		}
		for _, m := range []mode{exe, stripped, pie, piestrip, cgostrip, armexe, armpie, armstrip} {
			t.Run(toolchain+" "+m.String(), func(t *testing.T) {
				got := open(t, buildOf(t, toolchain, m, "setters", src)).Setters()
				procs := []string{"main.main", "main.perhaps", "main.readsThenSets", "main.sets", "main.setsAll", "main.setsOne", "main.small"}
				for i, name := range got.GOMAXPROCS {
					// The literal is inlined, which some releases say and others do not.
					got.GOMAXPROCS[i] = strings.TrimSuffix(name, ".func1")
				}
				if !slices.Equal(got.GOMAXPROCS, procs) {
					t.Errorf("GOMAXPROCS is set by %v, want %v", got.GOMAXPROCS, procs)
				}
				if !slices.Equal(got.GOMEMLIMIT, memory) {
					t.Errorf("GOMEMLIMIT is set by %v, want %v", got.GOMEMLIMIT, memory)
				}
			})
		}
	}
}

// TestSettersNone: a program that sets nothing.
func TestSettersNone(t *testing.T) {
	if got := open(t, build(t, "local", stripped)).Setters(); len(got.GOMAXPROCS)+len(got.GOMEMLIMIT) > 0 {
		t.Error(got)
	}
}
