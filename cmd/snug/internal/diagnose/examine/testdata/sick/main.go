// SPDX-License-Identifier: Apache-2.0

// Sick has the disease that the variable DISEASE names, until its standard input ends.
package main

import (
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
)

func main() {
	disease := map[string]func(){
		"timers": timers, "goroutines": goroutines, "messages": messages, "lock": lock, "queue": queue, "stacks": stacks, "calls": calls,
		"leak": leak, "foreign": foreign, "abandon": abandon, "threads": threads, "none": none, "garbage": garbage, "cache": cache,
		"blocked": blocked, "served": served, "after": after, "finalizers": finalizers, "pool": pool,
	}[os.Getenv("DISEASE")]
	fmt.Println("ready")
	go disease()
	os.Stdin.Read(make([]byte, 1))
}

// timers has 50,000 tickers.
func timers() {
	for range 50_000 {
		go tick()
	}
}

func tick() {
	for range time.NewTicker(100 * time.Millisecond).C {
	}
}

// goroutines starts one for each tiny piece of work.
func goroutines() {
	var all sync.WaitGroup
	for {
		for range 100 {
			all.Add(1)
			go all.Done()
		}
		all.Wait()
	}
}

// messages passes one number at a time.
func messages() {
	numbers := make(chan int)
	go func() {
		for i := 0; ; i++ {
			numbers <- i
		}
	}()
	for range numbers {
	}
}

var (
	mutex sync.Mutex
	count = map[int]int{}
)

// lock lets many goroutines want one mutex.
func lock() {
	for range 64 {
		go contend()
	}
}

func contend() {
	for i := 0; ; i++ {
		mutex.Lock()
		count[i&7]++
		mutex.Unlock()
	}
}

// queue lets many goroutines wait for one that sleeps with the mutex half of the time.
func queue() {
	for range 64 {
		go hold()
	}
}

func hold() {
	for sum := sha256.Sum256(nil); ; {
		mutex.Lock()
		for range 2000 {
			sum = sha256.Sum256(sum[:])
		}
		time.Sleep(time.Millisecond)
		mutex.Unlock()
	}
}

// stacks starts goroutines that call deep.
func stacks() {
	done := make(chan int)
	for {
		go func() { done <- deep(300) }()
		<-done
	}
}

func deep(n int) int {
	var room [128]byte
	room[n&127] = 1
	if n > 0 {
		return deep(n-1) + int(room[0])
	}
	return 0
}

// calls writes a byte at a time.
func calls() {
	null, err := os.OpenFile("/dev/null", os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	for {
		write(null)
	}
}

func write(f *os.File) { f.Write([]byte{'x'}) }

var kept [][]byte

// filled returns memory that is in use, page by page.
func filled(size int) []byte {
	room := make([]byte, size)
	for i := 0; i < len(room); i += 4096 {
		room[i] = 1
	}
	return room
}

// leak keeps 2 MiB a second, and nothing else.
func leak() {
	for range time.Tick(10 * time.Millisecond) {
		kept = append(kept, filled(20<<10))
	}
}

// foreign maps 2 MiB a second that Go does not know of.
func foreign() {
	for range time.Tick(100 * time.Millisecond) {
		room, err := syscall.Mmap(-1, 0, 200<<10, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			panic(err)
		}
		for i := 0; i < len(room); i += 4096 {
			room[i] = 1
		}
	}
}

// abandon starts 1000 goroutines a second that never end.
func abandon() {
	for range time.Tick(10 * time.Millisecond) {
		for range 10 {
			go forget()
		}
	}
}

func forget() { select {} }

// threads adds a call that blocks, 20 times a second.
func threads() {
	var pipe [2]int
	if err := syscall.Pipe(pipe[:]); err != nil {
		panic(err)
	}
	for range time.Tick(50 * time.Millisecond) {
		go syscall.Read(pipe[0], make([]byte, 1))
	}
}

// garbage drops 20 MiB a second beside 32 MiB that it keeps.
func garbage() {
	kept = append(kept, filled(32<<20), nil)
	for range time.Tick(10 * time.Millisecond) {
		kept[1] = filled(200 << 10)
	}
}

// cache fills itself up to 64 MiB, ever slower.
func cache() {
	const room = 64 << 20
	start, held := time.Now(), 0
	for range time.Tick(10 * time.Millisecond) { // fewer ticks where others have the CPUs
		due := int(room * (1 - math.Exp(-time.Since(start).Seconds()/2)))
		kept = append(kept, filled(due-held))
		held = due
	}
}

// blocked lets many goroutines sleep in the kernel, and compute between.
func blocked() {
	for range 128 {
		go sleepy()
	}
}

func sleepy() {
	for text := make([]byte, 12<<10); ; {
		left := syscall.NsecToTimespec(int64(3 * time.Millisecond))
		for syscall.Nanosleep(&left, &left) == syscall.EINTR {
		}
		sha256.Sum256(text)
	}
}

// served lets as many sleep where the scheduler knows of it, beside system calls that do not block and
// one that always does.
func served() {
	var pipe [2]int
	if err := syscall.Pipe(pipe[:]); err != nil {
		panic(err)
	}
	go syscall.Read(pipe[0], make([]byte, 1))
	null, err := os.OpenFile("/dev/null", os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	for range 128 {
		go func() {
			for text := make([]byte, 12<<10); ; {
				time.Sleep(3 * time.Millisecond)
				sha256.Sum256(text)
				write(null)
			}
		}()
	}
}

// none computes.
func none() {
	sum := sha256.Sum256(nil)
	for {
		sum = sha256.Sum256(sum[:])
	}
}

// after waits in a loop, each time with a limit that it does not need.
func after() {
	runtime.MemProfile(nil, false) // so that the linker keeps the heap profile
	full := make(chan int, 1)
	for i := 0; ; i++ {
		full <- i
		select {
		case <-full:
		case <-time.After(time.Hour):
		}
		if i > 200_000 {
			time.Sleep(time.Millisecond)
		}
	}
}

type handle struct{ buffer [64]byte }

// finalizers has objects whose finalizer waits.
func finalizers() {
	for {
		for range 100 {
			runtime.SetFinalizer(new(handle), shut)
		}
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
}

func shut(*handle) { time.Sleep(5 * time.Millisecond) }

// pool has far more workers than Ps.
func pool() {
	for range 64 * runtime.GOMAXPROCS(0) {
		go work()
	}
}

func work() {
	for {
		sha256.Sum256(make([]byte, 60<<10))
	}
}
