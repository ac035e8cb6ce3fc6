// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"text/template"
	"time"
)

// healthy are programs without a disease: busy, half busy and idle.
var healthy = map[string]func(){
	"idle": func() {}, "ticker": ticker, "hash": hash, "zip": zip, "sort": sorted, "json": func() { each(0, decode) }, "pipeline": pipeline,
	"cache": cache, "pool": pool, "fan": fan, "static": static, "regexp": expressions, "template": templates, "read": read,
	"buffers": buffers, "atomic": counters, "waiters": waiters, "log": logs, "float": floats, "http": server,
}

func ticker() { each(1, func(w int) { time.Sleep(10 * time.Millisecond); decode(w) }) }

func hash() { each(0, func(int) { sha256.Sum256(make([]byte, 16<<10)) }) }

func text() []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for range 5000 {
		fmt.Fprintf(&b, "order %d of %d items, customer %d\n", r.IntN(1e6), r.IntN(100), r.IntN(1e4))
	}
	return b.Bytes()
}

func zip() {
	t := text()
	each(0, func(int) {
		z := gzip.NewWriter(io.Discard)
		z.Write(t)
		z.Close()
	})
}

func sorted() {
	each(0, func(int) {
		x := make([]int, 10_000)
		for i := range x {
			x[i] = rand.Int()
		}
		slices.Sort(x)
	})
}

// pipeline passes blocks of work between three stages.
func pipeline() {
	a, b := make(chan []byte, 8), make(chan [32]byte, 8)
	go func() {
		for {
			a <- make([]byte, 32<<10)
		}
	}()
	go func() {
		for block := range a {
			b <- sha256.Sum256(block)
		}
	}()
	go func() {
		for range b {
			ops.Add(1)
		}
	}()
}

// cache is read by several goroutines, and seldom written.
func cache() {
	var mu sync.RWMutex
	m := map[int]string{}
	for i := range 10_000 {
		m[i] = strings.Repeat("x", 100)
	}
	each(8, func(int) {
		for i := range 100 {
			decode(i)
			mu.RLock()
			_ = m[i]
			mu.RUnlock()
		}
		mu.Lock()
		m[rand.IntN(10_000)] = "new"
		mu.Unlock()
	})
}

// pool has as many workers as Ps.
func pool() {
	jobs := make(chan int, 64)
	for range runtime.GOMAXPROCS(0) {
		go func() {
			for j := range jobs {
				for range 20 {
					decode(j)
				}
				ops.Add(1)
			}
		}()
	}
	go func() {
		for i := 0; ; i++ {
			jobs <- i
		}
	}()
}

// fan starts 100 goroutines for each batch of real work.
func fan() {
	each(1, func(int) {
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				for range 30 {
					decode(i)
				}
			})
		}
		all.Wait()
	})
}

// static holds much and makes little garbage.
func static() {
	for range 3000 {
		store = append(store, bytes.Repeat([]byte{1}, 64<<10))
	}
	each(1, func(w int) { decode(w); time.Sleep(time.Millisecond) })
}

func expressions() {
	t, re := text(), regexp.MustCompile(`customer ([0-9]+)\n`)
	each(0, func(int) { re.FindAllSubmatchIndex(t[:20_000], -1) })
}

func templates() {
	t := template.Must(template.New("").Parse(`{{range .}}<li>{{.ID}} {{range .Names}}{{.}} {{end}}</li>{{end}}`))
	rows := make([]order, 50)
	for i := range rows {
		rows[i] = order{i, []string{"a", "b"}, nil}
	}
	each(0, func(int) { t.Execute(io.Discard, rows) })
}

// read reads and hashes a file in large blocks.
func read() {
	each(0, func(int) {
		f, err := os.Open(os.Args[0])
		must(err)
		h := sha256.New()
		io.CopyBuffer(h, f, make([]byte, 1<<20))
		f.Close()
	})
}

func buffers() {
	free := sync.Pool{New: func() any { return new(bytes.Buffer) }}
	each(16, func(w int) {
		b := free.Get().(*bytes.Buffer)
		b.Reset()
		for i := range 200 {
			fmt.Fprintf(b, "%d %s\n", i, "line")
		}
		free.Put(b)
	})
}

func counters() {
	var n [16]atomic.Int64
	each(16, func(w int) {
		for i := range 1000 {
			numbers[w] += i * w
		}
		n[w&15].Add(1)
	})
}

// waiters has 5,000 goroutines that wait, and few that work.
func waiters() {
	c := make(chan int)
	for range 5000 {
		go func() { <-c }()
	}
	each(2, func(w int) {
		for range 100 {
			decode(w)
		}
		time.Sleep(time.Millisecond)
	})
}

// logs writes lines of a log in blocks.
func logs() {
	f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	must(err)
	each(4, func(w int) {
		var b bytes.Buffer
		for i := range 500 {
			fmt.Fprintf(&b, "level=info worker=%d line=%d\n", w, i)
		}
		f.Write(b.Bytes())
	})
}

func floats() {
	const n = 120
	each(0, func(int) {
		var a, b, c [n][n]float64
		for i := range n {
			for j := range n {
				a[i][j], b[i][j] = float64(i+j), float64(i-j)
			}
		}
		for i := range n {
			for j := range n {
				for k := range n {
					c[i][j] += a[i][k] * b[k][j]
				}
			}
		}
		numbers[0] = int(c[1][1])
	})
}

// server is a web server under its own load: 16 clients in the same process, each with real work for it.
func server() {
	t := text()[:4000]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i := range 20 {
			decode(i)
		}
		w.Write(t)
	}))
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	each(16, func(int) {
		r, err := c.Get(s.URL)
		if err == nil {
			io.Copy(io.Discard, r.Body)
			r.Body.Close()
		}
	})
}
