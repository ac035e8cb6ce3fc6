// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// sick are the planted diseases. Those that a variable or a limit plants run a healthy program.
var sick = map[string]func(){
	"serve": serve, "set": set, "block": block, "live": live, "tight": tight, "churn-heap": churnHeap, "foreign": foreign,
	"leak": leak, "goroutine-leak": goroutineLeak, "threads": threads, "timers": timers, "timeouts": timeouts, "starts": starts,
	"messages": messages, "lock": lock, "rwlock": rwlock, "held": held, "stacks": stacks, "writes": writes, "stats": stats, "demand": demand,
	"workers": workers,
}

type order struct {
	ID    int
	Names []string
	Notes map[string]string
}

func decode(w int) {
	b, _ := json.Marshal(order{w, []string{"one", "two", "three"}, map[string]string{"a": "b", "c": "d"}})
	var o order
	json.Unmarshal(b, &o)
}

// serve is a service with more requests than Ps.
func serve() { each(64, func(w int) { decode(w); runtime.Gosched() }) }

// set has a GOMAXPROCS for another machine.
func set() {
	if !fixed {
		runtime.GOMAXPROCS(24)
	}
	serve()
}

// workers is a pool of a size for another machine.
func workers() {
	t := text()
	jobs := make(chan []byte)
	n := 256
	if fixed {
		n = runtime.GOMAXPROCS(0)
	}
	for range n {
		go func() {
			for job := range jobs {
				z := gzip.NewWriter(io.Discard)
				z.Write(job)
				z.Close()
				ops.Add(1)
			}
		}()
	}
	go func() {
		for {
			jobs <- t
		}
	}()
}

// block is a service that sleeps in system calls.
func block() {
	each(128, func(int) {
		for range 5 {
			t := syscall.Timespec{Nsec: 3e6}
			syscall.Nanosleep(&t, nil)
		}
		sum := sha256.Sum256(make([]byte, 60<<10))
		_ = sum
	})
}

var store [][]byte

// live holds 100 MiB, and makes garbage.
func live() {
	for range 1600 {
		store = append(store, bytes.Repeat([]byte{1}, 64<<10))
	}
	each(0, garbage)
}

// tight is live, and makes garbage slowly, so that it can be watched before it is killed.
func tight() {
	for range 1600 {
		store = append(store, bytes.Repeat([]byte{1}, 64<<10))
	}
	each(1, slowly)
}

// slowly makes 5 MB of garbage a second.
func slowly(w int) {
	garbage(w)
	time.Sleep(80 * time.Millisecond)
}

var sink [64][]byte

func garbage(w int) {
	for range 100 {
		sink[w&63] = bytes.Repeat([]byte{1}, 4<<10)
	}
	decode(w)
}

type tree struct{ left, right *tree }

func grow(n int) *tree {
	if n == 0 {
		return nil
	}
	return &tree{grow(n - 1), grow(n - 1)}
}

var forest *tree

// churnHeap makes garbage beside a heap that is slow to mark.
func churnHeap() {
	forest = grow(18)
	each(0, func(int) { _ = grow(8) })
}

// foreign holds memory that is not Go's.
func foreign() {
	b, err := syscall.Mmap(-1, 0, 150<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	must(err)
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	each(1, slowly)
}

var sessions = map[int][]byte{}

// leak remembers every session.
func leak() {
	id := 0
	each(1, func(w int) {
		id++
		sessions[id] = bytes.Repeat([]byte{1}, 32<<10)
		if fixed {
			delete(sessions, id-100)
		}
		decode(w)
		time.Sleep(10 * time.Millisecond)
	})
}

// goroutineLeak waits for answers that nobody gives.
func goroutineLeak() {
	each(1, func(w int) {
		answer := make(chan int)
		if fixed {
			answer = make(chan int, 1)
		}
		go ask(answer)
		decode(w)
		time.Sleep(5 * time.Millisecond)
	})
}

func ask(answer chan int) { answer <- 1 }

// threads leaves threads behind: each blocks in a system call that does not return.
func threads() {
	each(1, func(w int) {
		if !fixed {
			go stuck()
		}
		decode(w)
		time.Sleep(50 * time.Millisecond)
	})
}

func stuck() {
	var p [2]int
	must(syscall.Pipe(p[:]))
	var b [1]byte
	syscall.Read(p[0], b[:])
}

// timers has a ticker for each of 30,000 connections.
func timers() {
	if fixed {
		each(1, func(w int) { time.Sleep(100 * time.Millisecond); ops.Add(29_999) })
		return
	}
	each(30_000, func(int) { time.Sleep(100 * time.Millisecond) })
}

// timeouts makes a context with a timeout, and a goroutine, for each small step.
func timeouts() {
	each(64, func(w int) {
		if fixed {
			step(w)
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		done := make(chan struct{})
		go func() { step(w); close(done) }()
		select {
		case <-done:
		case <-ctx.Done():
		}
		cancel()
	})
}

func step(w int) {
	for i := range 100 {
		w += i
	}
	numbers[w&63] = w
}

var numbers [1 << 10]int

// starts gives each tiny piece of work its own goroutine.
func starts() {
	each(1, func(int) {
		var all sync.WaitGroup
		for i := range 100 {
			if fixed {
				step(i)
				continue
			}
			all.Add(1)
			go func() { step(i); all.Done() }()
		}
		all.Wait()
	})
}

// messages passes one number at a time.
func messages() {
	size := 1
	if fixed {
		size = 256
	}
	pipe := make(chan []int)
	go func() {
		for {
			pipe <- make([]int, size)
		}
	}()
	go func() {
		for part := range pipe {
			for i := range part {
				step(i)
			}
			ops.Add(int64(len(part)))
		}
	}()
}

var (
	mutex  sync.Mutex
	shared = map[int]int{}
)

// lock lets many goroutines want one mutex.
func lock() {
	each(64, func(w int) {
		if fixed {
			own[w<<3]++
			return
		}
		mutex.Lock()
		shared[w&7]++
		mutex.Unlock()
	})
}

var both sync.RWMutex

// own has a cache line for each of 64 goroutines.
var own [64 << 3]int

// rwlock writes often what many read.
func rwlock() {
	each(64, func(w int) {
		if fixed {
			own[w<<3]++
			return
		}
		if w&3 == 0 {
			both.Lock()
			shared[w&7]++
			both.Unlock()
			return
		}
		both.RLock()
		_ = shared[w&7]
		both.RUnlock()
	})
}

// held works and waits with the mutex.
func held() {
	each(64, func(int) {
		var sum [32]byte
		work := func() {
			for range 1000 {
				sum = sha256.Sum256(sum[:])
			}
		}
		if fixed {
			work()
			time.Sleep(time.Millisecond)
			mutex.Lock()
		} else {
			mutex.Lock()
			work()
			time.Sleep(time.Millisecond)
		}
		shared[int(sum[0])]++
		mutex.Unlock()
	})
}

// stacks starts goroutines that call deep.
func stacks() {
	each(2, func(int) {
		if fixed {
			deep(300)
			return
		}
		done := make(chan int)
		go func() { done <- deep(300) }()
		<-done
	})
}

//go:noinline
func deep(n int) int {
	var room [128]byte
	room[n&127] = 1
	if n > 0 {
		return deep(n-1) + int(room[0])
	}
	return 0
}

// writes writes a byte at a time.
func writes() {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	must(err)
	each(0, func(w int) {
		var to io.Writer = null
		if fixed {
			b := bufio.NewWriter(null)
			defer b.Flush()
			to = b
		}
		for range 200 {
			to.Write([]byte{1})
		}
	})
}

// stats asks for a file's size each time.
func stats() {
	var size int64
	each(0, func(w int) {
		for range 50 {
			if !fixed || size == 0 {
				info, err := os.Stat(os.Args[0])
				must(err)
				size = info.Size()
			}
			step(int(size))
		}
	})
}

// demand has work for 0.4 CPUs, at a fixed rate.
func demand() {
	tick := time.NewTicker(10 * time.Millisecond)
	go func() {
		for range tick.C {
			begin := cpu()
			for cpu()-begin < 4*time.Millisecond {
				decode(1)
			}
			ops.Add(1)
		}
	}()
}

func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
