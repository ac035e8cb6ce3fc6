// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"runtime"
)

var procs = flag.Int("procs", runtime.GOMAXPROCS(0), "")

func set() { runtime.GOMAXPROCS(*procs) }
