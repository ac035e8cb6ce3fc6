// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		items   int
		objects int64 // minimum of live bytes
	}{{"http", 6, 0}, {"http/gc", 60, 30_000 * (48 + 16)}} {
		t.Run(tt.name, func(t *testing.T) {
			c := start(t, tt.name, Options{}, "GOGC=off", "GOMAXPROCS=3")
			url := c.listening()
			var first string
			for range 3 {
				code, body := get(t, url)
				var items []item
				if err := json.Unmarshal([]byte(body), &items); err != nil || code != 200 || len(items) != tt.items {
					t.Fatalf("%d, %d items, %v: %.100s", code, len(items), err, body)
				}
				for i, it := range items {
					if it.ID != i || len(it.Sum) != 16 || it.Name == "" || len(it.Tags) != 3 {
						t.Errorf("%+v", it)
					}
				}
				if first == "" {
					first = body
				}
				if body != first {
					t.Errorf("two answers: %s and %s", first, body)
				}
			}
			ctx := context.Background()
			a, err := FetchStats(ctx, url)
			if err != nil {
				t.Fatal(err)
			}
			if a.GOMAXPROCS != 3 || a.GOGC != -1 || a.GOMEMLIMIT != nil || a.PID != c.cmd.Process.Pid || a.PeakHeap < tt.objects {
				t.Errorf("%+v", a)
			}
			get(t, url)
			b, err := FetchStats(ctx, url)
			if err != nil {
				t.Fatal(err)
			}
			if gc, err := Between(a, b); err != nil || gc.Cycles != 0 || gc.PeakHeap <= 0 {
				t.Errorf("%+v, %v", gc, err)
			}
			if code, _ := get(t, url+"other"); code != 404 {
				t.Errorf("/other: %d", code)
			}
		})
	}
}

func TestHTTPProbe(t *testing.T) {
	t.Parallel()
	url := start(t, "http", Options{}, "GOMAXPROCS=2").listening()
	ctx := context.Background()
	p, err := FetchProbe(ctx, url, 1, 250*time.Millisecond)
	if err != nil || p.Threads != 1 || p.Procs != 2 || p.Seconds < 0.25 || len(p.Worst) < 2 {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err = FetchProbe(ctx, url, 0, 10*time.Millisecond); err != nil || p.Threads != 2 {
		t.Errorf("threads left open: %+v, %v", p, err)
	}
	if _, err = FetchProbe(ctx, url, 3, time.Second); err == nil || !strings.Contains(err.Error(), "3 spinning threads with GOMAXPROCS 2") {
		t.Errorf("more threads than Ps: %v", err)
	}
	for _, query := range []string{"", "threads=1", "threads=x&seconds=1", "threads=1&seconds=0", "threads=1&seconds=NaN", "threads=1&seconds=61", "threads=-1&seconds=1"} {
		if code, text := get(t, url+"-/probe?"+query); code != 400 {
			t.Errorf("%s: %d %s", query, code, text)
		}
	}
	codes := map[int]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			code, _ := get(t, url+"-/probe?threads=1&seconds=1")
			mu.Lock()
			codes[code]++
			mu.Unlock()
		})
	}
	wg.Wait()
	if codes[200] < 1 || codes[200]+codes[409] != 2 {
		t.Errorf("two probes at once: %v", codes)
	}
}

// TestHTTPBackEndFails: a request without an answer is an error, not a fast one.
func TestHTTPBackEndFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	s := newServer(newJobs(false), l.Addr().String())
	if _, err := s.work.do(context.Background(), s.client, s.backURL); err == nil {
		t.Error("an answer without a back end")
	}
}

func TestFetchErrors(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := FetchStats(ended, "http://127.0.0.1:9/"); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
	if _, err := FetchStats(context.Background(), "\x00"); err == nil {
		t.Error("no address, no error")
	}
}

func TestReadListening(t *testing.T) {
	for _, text := range []string{"", "listening http://x/", "hello\n"} {
		if url, err := ReadListening(strings.NewReader(text)); err == nil {
			t.Errorf("%q: %q", text, url)
		}
	}
}
