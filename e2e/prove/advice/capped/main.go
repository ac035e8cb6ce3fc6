// SPDX-License-Identifier: Apache-2.0

// Command capped answers requests with some hashing, and links automaxprocs, which sets GOMAXPROCS to the quota rounded
// down unless the variable is set. With -knobs it prints what it has and ends.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"log"
	"net/http"
	"runtime"
	"runtime/debug"

	_ "go.uber.org/automaxprocs"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:18084", "listen here")
	knobs := flag.Bool("knobs", false, "print GOMAXPROCS and GOMEMLIMIT, and end")
	flag.Parse()
	if *knobs {
		fmt.Println(runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1))
		return
	}
	text := make([]byte, 12<<10)
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "%x\n", sha256.Sum256(text)) })
	log.Fatal(http.ListenAndServe(*addr, nil))
}
