// SPDX-License-Identifier: Apache-2.0

// Programs has one disease, or none, by its argument. See README.md.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"sort"
	"strings"
	"sync"
	"time"
)

var programs = map[string]func(){
	// Diseases.
	"after":     afterInLoop,
	"cache":     cacheBehindMutex,
	"cachewait": cacheFilledUnderLock,
	"pingpong":  pingPong,
	"spawn":     spawnPerItem,
	"deep":      deepStacks,
	"leakctx":   leakByContext,
	"leakslice": leakBySlice,
	"unbound":   cacheWithoutBound,
	"regexp":    regexpPerRequest,
	"sprint":    sprintInHotPath,
	"final":     finalizers,
	"log":       logContention,
	"write":     unbufferedWrites,
	// None.
	"json":     jsonServer,
	"gzip":     compressor,
	"hash":     hashLoop,
	"pipeline": pipeline,
	"web":      webServer,
	"ticker":   ticker,
	"sorted":   sortLoop,
}

func main() {
	run := programs[os.Args[1]]
	if run == nil {
		log.Fatal("no such program")
	}
	run()
	select {}
}

var (
	sink     any
	document = []byte(`{"id":17,"name":"a name","tags":["a","b","c"],"prices":[1.5,2.5,3.5],"owner":{"id":3,"mail":"a@example.org"}}`)
	mail     = strings.Repeat("someone wrote to a@example.org about it; ", 20)
)

func many(n int, f func()) {
	for range n {
		go f()
	}
}

// afterInLoop sets a timer for each event and never stops one.
func afterInLoop() {
	many(400, func() {
		events := make(chan int, 1)
		for i := 0; ; i++ {
			events <- i
			select {
			case <-events:
			case <-time.After(time.Second):
			}
			select {
			case <-time.After(200 * time.Microsecond):
			}
		}
	})
}

var cacheLock sync.Mutex
var cached = map[int]int{}

func lookUp(i int) int {
	cacheLock.Lock()
	defer cacheLock.Unlock()
	cached[i%64]++
	return cached[i%64]
}

// cacheBehindMutex reads one map by one mutex, from many goroutines.
func cacheBehindMutex() {
	many(200, func() {
		for i := 0; ; i++ {
			lookUp(i)
		}
	})
}

func fill(i int) int {
	cacheLock.Lock()
	defer cacheLock.Unlock()
	time.Sleep(2 * time.Millisecond) // as a query
	cached[i%64]++
	return cached[i%64]
}

// cacheFilledUnderLock waits for its database with the mutex held.
func cacheFilledUnderLock() {
	many(200, func() {
		for i := 0; ; i++ {
			fill(i)
			sink = sha256.Sum256(document)
		}
	})
}

func pingPong() {
	many(4, func() {
		ping, pong := make(chan int), make(chan int)
		go func() {
			for v := range ping {
				pong <- v + 1
			}
		}()
		for v := 0; ; v++ {
			ping <- v
			<-pong
		}
	})
}

// spawnPerItem starts a goroutine for each number of a list.
func spawnPerItem() {
	go func() {
		out := make([]int, 1000)
		for {
			var all sync.WaitGroup
			for i := range out {
				all.Add(1)
				go func() { defer all.Done(); out[i] += i }()
			}
			all.Wait()
		}
	}()
}

func walk(depth int) int {
	var frame [256]byte
	if depth == 0 {
		return int(frame[0])
	}
	frame[depth%256] = byte(depth)
	return walk(depth-1) + int(frame[7])
}

// deepStacks walks a deep tree in a goroutine for each request.
func deepStacks() {
	many(2, func() {
		for {
			done := make(chan int)
			go func() { done <- walk(400) }()
			<-done
		}
	})
}

func follow(ctx context.Context) {
	<-ctx.Done()
}

// leakByContext never cancels what it starts.
func leakByContext() {
	go func() {
		for range time.Tick(time.Millisecond) {
			ctx, cancel := context.WithCancel(context.Background())
			sink = cancel
			go follow(ctx)
			sink = sha256.Sum256(document)
		}
	}()
}

var history [][]byte

func remember() {
	history = append(history, bytes.Clone(bytes.Repeat(document, 50)))
}

// leakBySlice keeps what it has answered.
func leakBySlice() {
	go func() {
		for range time.Tick(4 * time.Millisecond) {
			remember()
			for range 20 {
				sink = bytes.Repeat(document, 50)
			}
		}
	}()
}

var answers sync.Map

func answer(key string) string {
	if v, ok := answers.Load(key); ok {
		return v.(string)
	}
	v := strings.ToUpper(mail + key)
	answers.Store(key, v)
	return v
}

// cacheWithoutBound caches by a key that is always new.
func cacheWithoutBound() {
	go func() {
		for i := 0; ; i++ {
			answer(fmt.Sprint("user ", i))
			if i%20 == 0 {
				time.Sleep(10 * time.Millisecond)
			}
		}
	}()
}

func valid(s string) bool {
	return regexp.MustCompile(`^.*[a-z]+@[a-z.]+[a-z]{2,10}(\s.*)?$`).MatchString(s)
}

func regexpPerRequest() {
	many(8, func() {
		for {
			valid("a@example.org")
		}
	})
}

func key(i int) string { return fmt.Sprintf("%s:%d:%v", "user", i, document[:20]) }

func sprintInHotPath() {
	many(8, func() {
		m := map[string]int{}
		for i := 0; ; i++ {
			m[key(i%1000)]++
		}
	})
}

type handle struct{ b [64]byte }

func open() *handle {
	h := &handle{}
	runtime.SetFinalizer(h, func(h *handle) { h.b[0] = 0 })
	return h
}

func finalizers() {
	many(4, func() {
		for {
			sink = open()
		}
	})
}

// logContention writes a line for each step, from many goroutines.
func logContention() {
	l := log.New(io.Discard, "", log.LstdFlags|log.Lshortfile)
	f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		log.Fatal(err)
	}
	l.SetOutput(f)
	many(100, func() {
		for i := 0; ; i++ {
			l.Printf("step %d", i)
		}
	})
}

func unbufferedWrites() {
	f, err := os.CreateTemp("", "fresh")
	if err != nil {
		log.Fatal(err)
	}
	os.Remove(f.Name())
	go func() {
		for i := 0; ; i++ {
			fmt.Fprintf(f, "%d\n", i)
			if i%100000 == 0 {
				f.Truncate(0)
				f.Seek(0, 0)
			}
		}
	}()
}

func serve(h http.HandlerFunc) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go http.Serve(l, h)
	return "http://" + l.Addr().String()
}

func load(url string, body []byte) {
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	many(8, func() {
		for {
			r, err := c.Post(url, "application/json", bytes.NewReader(body))
			if err == nil {
				io.Copy(io.Discard, r.Body)
				r.Body.Close()
			}
		}
	})
}

func jsonServer() {
	list := []byte("[" + strings.Repeat(string(document)+",", 99) + string(document) + "]")
	load(serve(func(w http.ResponseWriter, r *http.Request) {
		var v []map[string]any
		if json.NewDecoder(r.Body).Decode(&v) == nil {
			json.NewEncoder(w).Encode(v)
		}
	}), list)
}

func webServer() {
	page := []byte(strings.Repeat(mail, 10))
	load(serve(func(w http.ResponseWriter, r *http.Request) { w.Write(page) }), nil)
}

func compressor() {
	many(4, func() {
		w := gzip.NewWriter(io.Discard)
		for {
			w.Reset(io.Discard)
			io.WriteString(w, mail)
			w.Close()
		}
	})
}

func hashLoop() {
	many(2, func() {
		b := bytes.Repeat(document, 1000)
		for {
			sum := sha256.Sum256(b)
			b[0] = sum[0]
		}
	})
}

// pipeline passes batches of 64 KB through three stages.
func pipeline() {
	read, packed := make(chan []byte, 8), make(chan []byte, 8)
	go func() {
		for {
			read <- bytes.Repeat(document, 600)
		}
	}()
	many(2, func() {
		for b := range read {
			var out bytes.Buffer
			w := gzip.NewWriter(&out)
			w.Write(b)
			w.Close()
			packed <- out.Bytes()
		}
	})
	go func() {
		for b := range packed {
			sum := sha256.Sum256(b)
			sink = sum[0]
		}
	}()
}

func ticker() {
	many(20, func() {
		for range time.Tick(10 * time.Millisecond) {
			sum := sha256.Sum256(document)
			_ = sum
		}
	})
}

func sortLoop() {
	many(2, func() {
		v := make([]int, 100_000)
		for n := 1; ; n++ {
			for i := range v {
				v[i] = (i * 7919 * n) % 100_003
			}
			sort.Ints(v)
		}
	})
}
