// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"flag"
	"fmt"
	rt "runtime"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

func work() {}

type config struct {
	Workers, size int
}

var maxWorkers = rt.NumCPU() * 2 // want `maxWorkers is sized by runtime.NumCPU.*\(pool-numcpu\)`

var cpus = rt.NumCPU() // want `the number of goroutines of a loop in usesGlobal`

var concurrency = flag.Int("n", rt.NumCPU(), "") // want `concurrency is sized`

var flagged = flag.Int("parallelism", rt.NumCPU(), "") // want `the default of the flag parallelism`

var cpu = flag.Int("cpu", rt.NumCPU(), "threads") // want `the default of the flag cpu`

type option struct{ level int }

func WithEncoderConcurrency(n int) option { return option{n} }

var options = []option{WithEncoderConcurrency(rt.NumCPU())} // want `the argument of WithEncoderConcurrency`

func usesGlobal() {
	for i := 0; i < cpus; i++ {
		go work()
	}
}

func channels() {
	_ = make(chan struct{}, rt.NumCPU()) // want `a channel's buffer`
	n := rt.NumCPU()                     // want `a channel's buffer`
	fmt.Println(make(chan int, n+1), n)
}

func loops() {
	for i := 0; i < rt.NumCPU(); i++ { // want `goroutines of this loop`
		go work()
	}
	var wg sync.WaitGroup
	for range rt.NumCPU() { // want `goroutines of this loop`
		wg.Add(1)
		go func() { defer wg.Done(); work() }()
	}
}

func limits() {
	var g errgroup.Group
	g.SetLimit(rt.NumCPU())                       // want `the argument of SetLimit`
	_ = semaphore.NewWeighted(int64(rt.NumCPU())) // want `the argument of NewWeighted`
}

func fields() config {
	c := config{Workers: rt.NumCPU()} // want `Workers is sized`
	if c.Workers == 0 {
		c.Workers = rt.NumCPU() // want `Workers is sized`
	}
	return c
}

func defaultConcurrency() int {
	return rt.NumCPU() // want `the result of defaultConcurrency`
}

var startWorkers = rt.GOMAXPROCS(0) // want `startWorkers is sized by GOMAXPROCS at start.*\(pool-at-start\)`

func init() {
	for range rt.GOMAXPROCS(0) { // want `pool-at-start`
		go work()
	}
}
