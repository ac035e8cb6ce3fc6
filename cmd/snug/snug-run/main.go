// SPDX-License-Identifier: Apache-2.0

// A quota that crashes plain programs of Go 1.25 to 1.27 before main must not crash
// snug: it does not size itself by its own quota.

//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Snug-run is snug's small part for entry points and init containers: the commands run, plan and
// limits, with the same words and exit codes. A container may call it snug.
package main

import (
	"os"

	"github.com/snug-go/snug/cmd/snug/internal/cli/small"
	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
)

func main() {
	cgrun.ChildMain() // returns unless snug-run started this process to enter a cgroup
	os.Exit(small.Main(&ui.UI{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv}, os.Args[1:]))
}
