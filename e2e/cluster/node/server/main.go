// SPDX-License-Identifier: Apache-2.0

// Server is a typical service: it keeps some memory, and each request uses CPU time and makes
// garbage. It is built with old and new Go, and reports the knobs of its runtime.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync/atomic"
)

const (
	keptMiB   = 48    // live heap
	pieces    = 2000  // allocations per request
	pieceSize = 512   // bytes
	rounds    = 40000 // iterations per request
)

// node is a small part of the live heap, so that the collector has work.
type node struct {
	next *node
	body [112]byte
}

var (
	kept *node
	sink uint64
)

// work is the work of a request: a few milliseconds of CPU time and a megabyte.
func work() int {
	parts := make([][]byte, 0, pieces)
	for i := 0; i < pieces; i++ {
		p := make([]byte, pieceSize)
		p[i%pieceSize] = byte(i)
		parts = append(parts, p)
	}
	h, total := uint64(14695981039346656037), 0
	for i := 0; i < rounds; i++ {
		p := parts[i%pieces]
		for _, b := range p[:64] {
			h = (h ^ uint64(b)) * 1099511628211
		}
		total += len(p)
	}
	atomic.AddUint64(&sink, h)
	return total
}

func main() {
	for i := 0; i < keptMiB<<20/128; i++ {
		kept = &node{next: kept}
		kept.body[0] = 1 // touch every page
	}
	http.HandleFunc("/work", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, work()) })
	http.HandleFunc("/self", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{
			"version": runtime.Version(),
			"cpus":    strconv.Itoa(runtime.NumCPU()),
			"procs":   strconv.Itoa(runtime.GOMAXPROCS(0)),
			"limit":   strconv.FormatInt(debug.SetMemoryLimit(-1), 10),
		})
	})
	if err := http.ListenAndServe(":8080", nil); err != nil {
		panic(err)
	}
}
