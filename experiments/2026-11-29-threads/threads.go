// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Threads prints what a poll of the limits costs beside N threads: CPU time of this thread in microseconds, the mean of
// 20,000 polls, five times.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"

	"github.com/snug-go/snug/limits"
)

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	debug.SetMaxThreads(n + 100)
	for range n {
		go func() {
			runtime.LockOSThread()
			select {}
		}()
	}
	runtime.LockOSThread()
	f, err := limits.Follow()
	if err != nil {
		panic(err)
	}
	var l limits.Limits
	f.Read(&l)
	used := func() int64 {
		var ru syscall.Rusage
		syscall.Getrusage(1, &ru) // RUSAGE_THREAD
		return ru.Utime.Nano() + ru.Stime.Nano()
	}
	for range 5 {
		before := used()
		for range 20_000 {
			f.Read(&l)
		}
		fmt.Printf("%d\t%.2f\n", threads(), float64(used()-before)/20_000/1e3)
	}
}

func threads() int {
	all, _ := os.ReadDir("/proc/self/task")
	return len(all)
}
