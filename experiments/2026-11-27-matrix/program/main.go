// SPDX-License-Identifier: Apache-2.0

// Program has one planted disease, or is healthy, as its argument says, until it is ended. With FIXED=1 it does
// the same work as the advice for its disease would have it. It counts its operations in the first
// eight bytes of the file that OPS names.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"
)

var (
	ops   *atomic.Int64
	fixed = os.Getenv("FIXED") != ""
)

func main() {
	f, err := os.OpenFile(os.Getenv("OPS"), os.O_RDWR|os.O_CREATE, 0o644)
	must(err)
	must(f.Truncate(8))
	page, err := syscall.Mmap(int(f.Fd()), 0, 8, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	must(err)
	ops = (*atomic.Int64)(unsafe.Pointer(&page[0]))
	run := sick[os.Args[1]]
	if run == nil {
		run = healthy[os.Args[1]]
	}
	if run == nil {
		fmt.Fprintln(os.Stderr, "no such program:", os.Args[1])
		os.Exit(2)
	}
	run()
	select {}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// each starts one goroutine for each P, or n if that is above 0, and repeats work in it.
func each(n int, work func(worker int)) {
	if n == 0 {
		n = runtime.GOMAXPROCS(0)
	}
	for i := range n {
		go func() {
			for {
				work(i)
				ops.Add(1)
			}
		}()
	}
}
