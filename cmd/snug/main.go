// SPDX-License-Identifier: Apache-2.0

// A quota that crashes plain programs of Go 1.25 to 1.27 before main must not crash
// snug: it does not size itself by its own quota.

//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Snug finds what a container gives a Go program, decides what Go should use,
// and says why. Run it without arguments to begin.
package main

import (
	"os"

	"github.com/snug-go/snug/cmd/snug/internal/cli"
	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
	"github.com/snug-go/snug/cmd/snug/internal/prove/gotest"
	"github.com/snug-go/snug/cmd/snug/internal/prove/load"
	"github.com/snug-go/snug/cmd/snug/internal/prove/workload"
)

func main() {
	// Each returns unless snug started this process for it.
	cgrun.ChildMain()    // the shim that enters a cgroup
	load.ChildMain()     // the load generator
	workload.ChildMain() // a built-in program to measure
	gotest.ChildMain()   // what go test starts instead of a test program
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
