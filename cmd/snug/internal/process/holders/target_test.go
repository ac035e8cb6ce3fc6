// SPDX-License-Identifier: Apache-2.0

package holders

// targetSource is a program that holds memory and goroutines in many ways, and writes its own
// profiles when it is asked. It compiles with Go 1.18.
const targetSource = `package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"syscall"
	"time"
)

var (
	never = make(chan int)
	other = make(chan int)
	mu    sync.Mutex
	rw    sync.RWMutex
	cond  = sync.NewCond(new(sync.Mutex))
	group sync.WaitGroup
	keep  [][]byte
	nodes *node
	texts []string
)

type node struct {
	next *node
	pad  [5]int64
}

func small(n int) []byte { return make([]byte, n) } // is inlined

//go:noinline
func hold(n, size int) {
	for i := 0; i < n; i++ {
		keep = append(keep, small(size))
	}
}

//go:noinline
func chain(n int) {
	for i := 0; i < n; i++ {
		nodes = &node{next: nodes}
	}
}

type bag[T any] struct{ all []T }

//go:noinline
func (b *bag[T]) put(x T) { b.all = append(b.all, x) }

var numbers bag[[16]int]

func deep(n int) int {
	if n == 0 {
		return <-never
	}
	return deep(n-1) + 1
}

type waiter interface{ wait(n int) }
type base struct{ c chan int }
type outer struct{ base }

func (b base) wait(n int) { <-b.c }

func inlined()   { receive() }
func receive()   { <-never }
func lock()      { mu.Lock() }
func readLock()  { rw.RLock() }
func condition() { cond.L.Lock(); cond.Wait() }
func deferred() {
	defer func() { recover(); <-never }()
	panic("x")
}
func choose() {
	select {
	case <-never:
	case <-other:
	}
}
func iterate[T any](c chan T) {
	for range c {
	}
}
func many(n int, f func()) {
	for i := 0; i < n; i++ {
		go f()
	}
}

// Written by busy goroutines.
var sink [8]int64

func spin(i int) {
	for {
		sink[i]++
	}
}

//go:noinline
func churn(depth int) {
	if depth > 0 {
		churn(depth - 1)
		return
	}
	time.Sleep(time.Microsecond)
	hand <- 1
}

var hand = make(chan int)

func main() {
	mu.Lock()
	rw.Lock()
	group.Add(1)
	many(20, inlined)
	many(7, choose)
	many(3, lock)
	many(2, readLock)
	many(4, condition)
	many(2, func() { time.Sleep(time.Hour) })
	many(1, group.Wait)
	many(2, deferred)
	go deep(40)
	go deep(300)
	var w waiter = outer{base{never}}
	many(2, func() { w.wait(1) })
	go w.wait(3)
	go iterate(make(chan string))
	go func() { var c chan int; c <- 1 }()
	go func() { select {} }()
	go func() { runtime.LockOSThread(); <-never }()
	native()
	var pipe [2]int
	syscall.Pipe(pipe[:])
	go func() { syscall.Read(pipe[0], make([]byte, 1)) }()
	hold(40, 100<<10)
	hold(3000, 700)
	chain(50000)
	for i := 0; i < 20000; i++ {
		numbers.put([16]int{i})
	}
	for i := 0; i < 30000; i++ {
		texts = append(texts, fmt.Sprintf("text %d", i))
	}
	keep = keep[:20]
	for i := range texts {
		if i%3 == 0 {
			texts[i] = strings.Repeat("y", 100)
		}
	}
	time.Sleep(200 * time.Millisecond) // until all wait
	if os.Getenv("TARGET_EARLY") == "" {
		runtime.GC()
	}
	lines := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	out.Encode("up")
	var b bytes.Buffer
	for lines.Scan() {
		// Nothing here may allocate before a profile is made.
		b.Reset()
		switch string(lines.Bytes()) {
		case "heap":
			pprof.Lookup("heap").WriteTo(&b, 0)
		case "goroutine":
			pprof.Lookup("goroutine").WriteTo(&b, 0)
		case "text":
			pprof.Lookup("goroutine").WriteTo(&b, 2)
		case "gc":
			runtime.GC()
		case "busy":
			go spin(1)
			for i := 0; i < 4; i++ {
				go func() {
					for n := 0; ; n++ {
						churn(n % 40)
					}
				}()
			}
			go func() {
				for n := range hand {
					texts[n] = strings.Repeat("z", 50)
				}
			}()
			go func() {
				for {
					hold(100, 9000)
					keep = keep[:20]
					runtime.GC()
				}
			}()
		}
		out.Encode(b.Bytes())
	}
}
`

// nativeSource is the part of it that calls C, and noNativeSource stands for it without C.
const (
	nativeSource = `package main

// #include <unistd.h>
// void forth(void);
// static void rest(void) { for (;;) pause(); }
import "C"

//export back
func back() { <-never }

func native() {
	go C.rest()
	go C.forth()
	go func() { C.forth() }()
}
`
	cSource        = "extern void back(void);\nvoid forth(void) { back(); }\n"
	noNativeSource = "package main\n\nfunc native() {}\n"
)
