// SPDX-License-Identifier: Apache-2.0

package gomaxprocsok

import (
	"flag"
	"fmt"
	"runtime"
)

var procs = flag.Int("p", 0, "")

func reads() int {
	fmt.Println(runtime.NumCPU())
	return runtime.GOMAXPROCS(0) + runtime.GOMAXPROCS(-1)
}

func decided(n int) {
	if n < runtime.NumCPU() {
		runtime.GOMAXPROCS(n)
	}
	runtime.GOMAXPROCS(*procs)
	runtime.GOMAXPROCS(1)
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) / 2)
}

func restores(n int) {
	old := runtime.GOMAXPROCS(n)
	defer runtime.GOMAXPROCS(old)
}
