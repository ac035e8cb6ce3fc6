// SPDX-License-Identifier: Apache-2.0

// A server that nobody here wrote, and who sets its GOMEMLIMIT: KIND=automemlimit, snug with
// SNUG_ADAPT=memory (its law of today, or with the tag old the one before), or with SNUG=off
// nobody but GOMEMLIMIT itself.
package main

import (
	"log"
	"os"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

func main() {
	if os.Getenv("KIND") == "automemlimit" {
		if _, err := memlimit.Set(); err != nil {
			log.Fatal(err)
		}
	}
	serve()
}
