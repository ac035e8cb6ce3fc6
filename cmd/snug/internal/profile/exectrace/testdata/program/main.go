// SPDX-License-Identifier: Apache-2.0

// Program writes an execution trace of itself to the file that it is given, and what it
// knows of itself to stdout as JSON. Every Go release from 1.18 on builds it.
package main

import (
	"encoding/json"
	"log"
	"os"
	"runtime"
	"runtime/trace"
	"strconv"
	"sync"
	"time"
)

func main() {
	f, err := os.Create(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	long := 600 * time.Millisecond
	if len(os.Args) > 2 {
		if long, err = time.ParseDuration(os.Args[2]); err != nil {
			log.Fatal(err)
		}
	}
	pairs := 0
	if len(os.Args) > 3 {
		if pairs, err = strconv.Atoi(os.Args[3]); err != nil {
			log.Fatal(err)
		}
	}
	runtime.GC()
	var before, after runtime.MemStats
	if err := trace.Start(f); err != nil {
		log.Fatal(err)
	}
	runtime.ReadMemStats(&before)
	end := time.Now().Add(long)
	var wg sync.WaitGroup
	for i := 0; i < 4; i++ {
		wg.Add(1)
		go allocate(&wg, end)
	}
	for i := 0; i < pairs; i++ {
		wg.Add(2)
		there, back := make(chan int), make(chan int)
		go func() {
			defer wg.Done()
			for range there {
				back <- 1
			}
		}()
		go func() {
			defer wg.Done()
			for time.Now().Before(end) {
				there <- 1
				<-back
			}
			close(there)
		}()
	}
	wg.Wait()
	runtime.ReadMemStats(&after)
	trace.Stop()
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}
	err = json.NewEncoder(os.Stdout).Encode(map[string]interface{}{
		"collections": after.NumGC - before.NumGC, "gomaxprocs": runtime.GOMAXPROCS(0), "pause_ns": after.PauseTotalNs - before.PauseTotalNs,
	})
	if err != nil {
		log.Fatal(err)
	}
}

// allocate keeps 1 MiB and makes garbage.
func allocate(wg *sync.WaitGroup, end time.Time) {
	defer wg.Done()
	var keep [64][]byte
	for n := 0; time.Now().Before(end); n++ {
		keep[n%len(keep)] = make([]byte, 16<<10)
		if n%64 == 0 {
			time.Sleep(100 * time.Microsecond)
		}
	}
}
