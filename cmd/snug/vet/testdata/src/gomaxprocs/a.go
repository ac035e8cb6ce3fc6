// SPDX-License-Identifier: Apache-2.0

package gomaxprocs

import (
	"flag"
	"fmt"
	"runtime"
)

func alone() {
	runtime.GOMAXPROCS(runtime.NumCPU()) // want `set from runtime.NumCPU.*\(gomaxprocs-numcpu\)`
}

func kept() int {
	return runtime.GOMAXPROCS(runtime.NumCPU()) // want `gomaxprocs-numcpu`
}

func arithmetic() {
	runtime.GOMAXPROCS(runtime.NumCPU() * 2)       // want `gomaxprocs-numcpu`
	runtime.GOMAXPROCS(max(1, runtime.NumCPU()-1)) // want `gomaxprocs-numcpu`
}

func variable() {
	n := runtime.NumCPU()
	if n > 4 {
		n = 4
	}
	runtime.GOMAXPROCS(n) // want `gomaxprocs-numcpu`
}

var procs = flag.Int("p", runtime.NumCPU(), "")

func flagged() {
	runtime.GOMAXPROCS(*procs) // want `gomaxprocs-numcpu`
}

func conditional(b bool) {
	if b {
		runtime.GOMAXPROCS(runtime.NumCPU()) // want `gomaxprocs-numcpu`
	}
}

func constant() {
	runtime.GOMAXPROCS(4)                           // want `GOMAXPROCS\(4\) is the same.*\(gomaxprocs-constant\)`
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3)) // want `gomaxprocs-constant`
}

func frozen() {
	fmt.Println("starts")
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0)) // want `gomaxprocs-frozen`
}
