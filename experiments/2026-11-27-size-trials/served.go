// SPDX-License-Identifier: Apache-2.0

//go:build ignore

// Served keeps 40 MiB and answers each request with the SHA-256 of a fresh MiB:
//
//	served HOST:PORT
package main

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
)

var live = make([]byte, 40<<20)

func main() {
	for i := range live {
		live[i] = byte(i)
	}
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		b := make([]byte, 1<<20)
		copy(b, live)
		fmt.Fprintf(w, "%x\n", sha256.Sum256(b))
	})
	panic(http.ListenAndServe(os.Args[1], nil))
}
