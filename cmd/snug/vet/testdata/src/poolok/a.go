// SPDX-License-Identifier: Apache-2.0

package poolok

import (
	"flag"
	"fmt"
	"net/http"
	"runtime"
)

func work() {}

var cpus = runtime.NumCPU()

var shards = make([]int, runtime.NumCPU())

var threads = flag.Int("threads", runtime.GOMAXPROCS(0), "")

func sets() { runtime.GOMAXPROCS(*threads) }

func parallelism() int {
	n := runtime.NumCPU()
	if procs := runtime.GOMAXPROCS(0); procs < n {
		return procs
	}
	return n
}

func logConcurrency(int) {}

func says() {
	fmt.Println(cpus, runtime.NumCPU())
	logConcurrency(runtime.NumCPU())
	if runtime.NumCPU() < 2 {
		go work()
	}
	for i := 0; i < runtime.NumCPU(); i++ {
		work()
	}
}

// Read for each piece of work.
func perCall() {
	workers := runtime.GOMAXPROCS(0)
	for range workers {
		go work()
	}
}

func init() {
	http.HandleFunc("/", func(http.ResponseWriter, *http.Request) {
		_ = make(chan int, runtime.GOMAXPROCS(0))
	})
}
