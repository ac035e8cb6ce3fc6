// SPDX-License-Identifier: Apache-2.0

// Command cache serves a cache that fills 60 % of a container of 256 MiB: with Go's own
// GOGC=100 it needs more than the container has.
package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"net/http"
	"sync"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:18082", "listen here")
	mib := flag.Int("mib", 150, "live heap")
	flag.Parse()
	const size = 1 << 10
	var mu sync.Mutex
	entries := make([][]byte, *mib<<20/size)
	for i := range entries {
		entries[i] = make([]byte, size)
	}
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		var body []byte
		for range 200 { // replaces entries: garbage that has lived for a while
			fresh := make([]byte, size)
			i := rand.IntN(len(entries))
			mu.Lock()
			copy(fresh, entries[i])
			entries[i], body = fresh, fresh
			mu.Unlock()
		}
		fmt.Fprintln(w, len(body))
	})
	log.Fatal(http.ListenAndServe(*addr, nil))
}
