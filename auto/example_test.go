// SPDX-License-Identifier: Apache-2.0

package auto_test

import (
	"log"
	"net/http"

	_ "github.com/snug-go/snug/auto" // fits the process, and follows its limits
)

// The import is all a program needs. Set SNUG_LOG=1 to see what it does.
func Example() {
	log.Fatal(http.ListenAndServe("localhost:8080", nil))
}
