// SPDX-License-Identifier: Apache-2.0

// Command block answers each request after five system calls that sleep 3 ms each, and some
// hashing. The scheduler does not know that such a call sleeps: its P waits with it, until
// sysmon takes the P away.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"log"
	"net/http"
	"syscall"
	"time"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:18083", "listen here")
	flag.Parse()
	text := make([]byte, 12<<10)
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		var sum [32]byte
		for range 5 {
			left := syscall.NsecToTimespec(int64(3 * time.Millisecond))
			for syscall.Nanosleep(&left, &left) == syscall.EINTR {
			}
			sum = sha256.Sum256(text)
		}
		fmt.Fprintf(w, "%x\n", sum)
	})
	log.Fatal(http.ListenAndServe(*addr, nil))
}
