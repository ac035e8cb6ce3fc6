// SPDX-License-Identifier: Apache-2.0

// Web is a small server. It shows what an import adds to a program that already has net/http and
// fmt. The build tags are those of hello.
package main

import (
	"fmt"
	"net/http"
)

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "hello")
	})
	http.ListenAndServe("localhost:8080", nil)
}
