// SPDX-License-Identifier: Apache-2.0

//go:build unix

// Faulty is a program to measure that misbehaves:
//
//	faulty HOW [ADDRESS [LOG [AFTER]]]
//
// A service serves at ADDRESS. It appends to LOG a line "request" at its first request,
// and the name of each signal that it handles. A batch command appends a line when it is
// done. AFTER is the time from the first request to the crash.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	how, address, log := arg(1), arg(2), arg(3)
	if command := commands[how]; command != nil {
		command(address, log)
		return
	}
	serve := func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "fine\n") }
	switch how {
	case "serves":
	case "echoes":
		echoes(address)
	case "exits":
		fail("cannot open the database, nowhere.db")
	case "panics":
		panic("nothing to serve")
	case "never-listens":
		time.Sleep(time.Hour)
	case "crashes": // in the middle of a warm-up or a window
		after, err := time.ParseDuration(arg(4))
		if err != nil {
			after = 300 * time.Millisecond
		}
		serve = crashing(after)
	case "leaks":
		serve = leaking
	case "picky": // it runs under some settings only
		if os.Getenv("GOMAXPROCS") == "1" {
			fail("at least two Ps, please")
		}
		if os.Getenv("GOGC") == "50" {
			serve = func(http.ResponseWriter, *http.Request) { time.Sleep(time.Hour) }
		}
	case "caches": // 77 MiB, and garbage with each request
		cache := make([]byte, 77<<20)
		for i := range cache {
			cache[i] = 1
		}
		serve = func(w http.ResponseWriter, _ *http.Request) {
			garbage := make([]byte, 256<<10)
			for i := range garbage {
				garbage[i] = cache[i]
			}
			w.Write(garbage[:1])
		}
	case "ignores-sigterm":
		signal.Ignore(syscall.SIGTERM)
	case "ends-well": // also at an interrupt, like many services
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGINT, syscall.SIGTERM)
		go func() {
			note(log, (<-c).String())
			os.Exit(0)
		}()
	case "floods":
		line := append(bytes.Repeat([]byte("flood "), 1000), '\n')
		for _, f := range []*os.File{os.Stdout, os.Stderr} {
			go func() {
				for {
					f.Write(line)
				}
			}()
		}
	case "answers-errors":
		serve = func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusServiceUnavailable) }
	case "closes":
		closing(address)
	case "hangs":
		serve = func(http.ResponseWriter, *http.Request) { time.Sleep(time.Hour) }
	case "forks": // and its child leaves the session and ignores everything
		cmd := exec.Command("/proc/self/exe", "sleeps")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			fail(err.Error())
		}
	case "sleeps":
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
		time.Sleep(time.Hour)
	case "works": // a batch command
		for start := time.Now(); time.Since(start) < 20*time.Millisecond; {
		}
		note(log, "worked")
		return
	case "tells": // a batch command that prints a figure about its variable
		fmt.Printf("working\n{\"letters\":%d,\"who\":\"faulty\"}\n", len(os.Getenv("MODE")))
		return
	case "eats": // a batch command
		fmt.Printf("{\"letters\":%d}\n", len(os.Getenv("MODE")))
		for {
			touch(1 << 20)
		}
	default:
		fail("no such fault, " + how)
	}
	var first sync.Once
	err := http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first.Do(func() { note(log, "request") })
		serve(w, r)
	}))
	fail(err.Error())
}

func arg(i int) string {
	if i < len(os.Args) {
		return os.Args[i]
	}
	return ""
}

func fail(text string) {
	fmt.Fprintln(os.Stderr, text)
	os.Exit(3)
}

// note appends a line to a file; it does nothing without a name.
func note(file, text string) {
	if file == "" {
		return
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		fail(err.Error())
	}
	defer f.Close()
	fmt.Fprintln(f, text)
}

// crashing serves, and panics some time after the first request, where net/http cannot
// recover.
func crashing(after time.Duration) http.HandlerFunc {
	var once sync.Once
	return func(w http.ResponseWriter, _ *http.Request) {
		once.Do(func() {
			time.AfterFunc(after, func() { panic("index out of bounds") })
		})
		io.WriteString(w, "fine\n")
	}
}

var (
	mu   sync.Mutex
	kept [][]byte
	sum  atomic.Int64
)

func touch(n int) {
	b := make([]byte, n)
	for i := 0; i < n; i += 4096 {
		b[i] = 1
	}
	mu.Lock()
	kept = append(kept, b)
	mu.Unlock()
	sum.Add(int64(n))
}

func leaking(w http.ResponseWriter, _ *http.Request) {
	touch(256 << 10)
	fmt.Fprintln(w, sum.Load())
}

// closing closes every connection without an answer.
func closing(address string) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		fail(err.Error())
	}
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			fail(err.Error())
		}
		if err == nil {
			c.Close()
		}
	}
}
