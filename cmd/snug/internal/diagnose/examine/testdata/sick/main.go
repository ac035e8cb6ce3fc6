// SPDX-License-Identifier: Apache-2.0

// Sick has the disease that the variable DISEASE names, until its standard input ends.
package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"sync"
	"time"
)

func main() {
	disease := map[string]func(){
		"timers": timers, "goroutines": goroutines, "messages": messages, "lock": lock, "stacks": stacks, "calls": calls, "none": none,
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

// none computes.
func none() {
	sum := sha256.Sum256(nil)
	for {
		sum = sha256.Sum256(sum[:])
	}
}
