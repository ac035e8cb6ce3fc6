// SPDX-License-Identifier: Apache-2.0

//go:build ignore

// Target is a program to be sampled. It is idle until a line of its input asks for
// work, so that who samples it and who reads its CPU time see the same span:
//
//	SECONDS         work for so long
//	SECONDS FILE    the same, with the profile of runtime/pprof in FILE
//	rest            collect garbage, so that each span begins alike
//
// Each line is answered by one of JSON: how many operations were done, in how many
// seconds. It builds with Go 1.22 and later.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// load is what so many goroutines do over and over.
type load struct {
	workers int
	// worker returns the operation of one of them, which says how many it was.
	worker func(seed uint64) func() int64
}

var loads = map[string]func() load{
	"compute":   compute,
	"garbage":   garbage,
	"scheduler": scheduler,
	"http":      service,
}

func main() {
	if len(os.Args) != 2 || loads[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "target compute|garbage|scheduler|http")
		os.Exit(2)
	}
	l := loads[os.Args[1]]()
	lines, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	for lines.Scan() {
		if lines.Text() == "rest" {
			runtime.GC()
			out.Encode(answer{})
			continue
		}
		a, err := l.work(lines.Text())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		out.Encode(a)
	}
}

type answer struct {
	Ops     int64   `json:"ops"`
	Seconds float64 `json:"seconds"`
}

// work does what a line asks for.
func (l load) work(line string) (a answer, err error) {
	text, file, own := strings.Cut(line, " ")
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return a, err
	}
	var profile bytes.Buffer
	if own {
		if err := pprof.StartCPUProfile(&profile); err != nil {
			return a, err
		}
	}
	var over atomic.Bool
	var ops atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for i := range l.workers {
		do := l.worker(uint64(i))
		all.Add(1)
		go func() {
			defer all.Done()
			n := int64(0)
			for !over.Load() {
				n += do()
			}
			ops.Add(n)
		}()
	}
	time.Sleep(time.Duration(seconds * float64(time.Second)))
	over.Store(true)
	all.Wait()
	a = answer{ops.Load(), time.Since(began).Seconds()}
	if own {
		pprof.StopCPUProfile()
		err = os.WriteFile(file, profile.Bytes(), 0o644)
	}
	return a, err
}

// depth is how many calls deep compute works. Those of the other loads are of
// encoding/json and net/http, about as deep.
const depth = 24

// compute is plain work on registers and little memory: about 50 µs for each.
func compute() load {
	return load{runtime.GOMAXPROCS(0), func(seed uint64) func() int64 {
		block := make([]byte, 4096)
		for i := range block {
			block[i] = byte(seed) + byte(i)
		}
		return func() int64 {
			down(depth, block)
			return 1
		}
	}}
}

//go:noinline
func down(calls int, block []byte) {
	if calls > 0 {
		down(calls-1, block)
		block[calls]++
		return
	}
	for range 8 {
		hash(block)
		smooth(block)
	}
}

//go:noinline
func hash(block []byte) {
	s := sha256.Sum256(block)
	copy(block, s[:])
}

//go:noinline
func smooth(block []byte) {
	before := block[0]
	for i, b := range block {
		block[i] = b ^ before*31
		before = b
	}
}

type item struct {
	Name  string
	Price float64
	Tags  []string
	next  *item
}

func list(r *rand.Rand, n int) []item {
	items := make([]item, n)
	for i := range items {
		items[i] = item{Name: strconv.FormatUint(r.Uint64(), 36), Price: r.Float64(), Tags: []string{"a", strconv.Itoa(i)}}
	}
	return items
}

func roundTrip(items []item) {
	text, _ := json.Marshal(items)
	var back []item
	json.Unmarshal(text, &back)
}

// garbage is JSON there and back beside a live heap of 120,000 items, 20 MB that
// the collector follows from one item to another anywhere.
func garbage() load {
	live := make([]*item, 120_000)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range live {
		live[i] = &list(r, 1)[0]
		live[i].next = live[r.IntN(i+1)]
	}
	return load{2 * runtime.GOMAXPROCS(0), func(seed uint64) func() int64 {
		r := rand.New(rand.NewPCG(seed, 2))
		return func() int64 {
			items := list(r, 20)
			items[0] = *live[r.IntN(len(live))]
			roundTrip(items)
			return 1
		}
	}}
}

// scheduler is 24 clients that fan out to 16 short goroutines, wait for all of
// them, and pause for a moment: threads park and wake all the time.
func scheduler() load {
	const parts = 16
	return load{24, func(seed uint64) func() int64 {
		r := rand.New(rand.NewPCG(seed, 3))
		return func() int64 {
			answers := make(chan int, parts)
			for range parts {
				draw := r.Uint64()
				go func() {
					block := [256]byte{byte(draw)}
					for range 2 {
						hash(block[:])
					}
					answers <- int(block[0])
				}()
			}
			for range parts {
				<-answers
			}
			time.Sleep(time.Duration(r.ExpFloat64() * float64(time.Millisecond)))
			return parts
		}
	}}
}

// service is an HTTP server and eight clients of it, each of which keeps its
// connection.
func service() load {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		seed, _ := strconv.ParseUint(q.URL.Query().Get("seed"), 10, 64)
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(list(rand.New(rand.NewPCG(seed, 4)), 10))
	}))
	const clients = 8
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	address := "http://" + listener.Addr().String() + "/?seed="
	return load{clients, func(seed uint64) func() int64 {
		r := rand.New(rand.NewPCG(seed, 5))
		return func() int64 {
			answer, err := client.Get(address + strconv.FormatUint(r.Uint64(), 10))
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
			return 1
		}
	}}
}
