// SPDX-License-Identifier: Apache-2.0

// Command program writes what testdata/go1.*.log hold: lines of gctrace and
// schedtrace among lines of its own, some without an end, and at last what it
// knows of itself. It builds with Go 1.18.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

type node struct {
	left, right *node
	fill        [48]byte
}

func tree(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{left: tree(depth - 1), right: tree(depth - 1)}
}

func main() {
	fmt.Fprintln(os.Stderr, "2026/11/21 10:00:00 listening on :8080")
	kept := tree(20) // 64 MiB
	var wg sync.WaitGroup
	for i := 0; i < 4; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := 0; j < 40; j++ {
				tree(15)
			}
		}()
	}
	wg.Wait()
	fmt.Fprint(os.Stderr, "a line without an end: ")
	runtime.GC()
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) - 1)
	runtime.GC()
	time.Sleep(30 * time.Millisecond)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Fprintf(os.Stderr, "truth: go=%s gomaxprocs=%d gogc=%d numgc=%d forced=%d pause_ns=%d\n",
		runtime.Version(), runtime.GOMAXPROCS(0), debug.SetGCPercent(100), m.NumGC, m.NumForcedGC, m.PauseTotalNs)
	runtime.KeepAlive(kept)
}
