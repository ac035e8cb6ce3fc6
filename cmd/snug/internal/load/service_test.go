// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bufio"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// measure runs a plan in a generator of its own.
func measure(t *testing.T, p Plan) Result {
	t.Helper()
	g := begin(t, p)
	if err := g.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := g.Go(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	for _, count := range r.Latency.Counts {
		n += count
	}
	if r.Sent != r.Ops+r.Errors+r.Unfinished || n != r.Ops || r.InWindow > r.Ops ||
		(r.Errors > 0) != (r.FirstError != "") || (r.Ops > 0) != (r.P50 != nil) || (r.Ops > 0) != (r.Max != nil) {
		t.Errorf("it does not add up: %+v", r)
	}
	if p.Kind == Closed && r.LatenessP99 != nil {
		t.Errorf("lateness %v of a closed loop", *r.LatenessP99)
	}
	return r
}

func begin(t *testing.T, p Plan) *Generator {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	g, err := Start(t.Context(), exe, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func open(rate float64, window time.Duration, urls ...string) Plan {
	return Plan{URLs: urls, Kind: Open, Rate: rate, Window: window, Seed: 1}
}

func closed(users int, window time.Duration, urls ...string) Plan {
	return Plan{URLs: urls, Kind: Closed, Connections: users, Window: window, Seed: 1}
}

func TestHealthyService(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		seen[r.Method+r.Header.Get("X-A")+string(body)]++
		mu.Unlock()
	})
	for _, p := range []Plan{open(500, 300*time.Millisecond, s.URL), closed(4, 300*time.Millisecond, s.URL)} {
		clear(seen)
		p.Warm, p.Method, p.Body, p.Header = 100*time.Millisecond, "POST", []byte("hello"), map[string]string{"X-A": "1"}
		r := measure(t, p)
		if r.Ops == 0 || r.Errors != 0 || r.RPS != float64(r.InWindow)/0.3 || r.Elapsed < 0.3 {
			t.Errorf("%s: %+v", p.Kind, r)
		}
		if len(seen) != 1 || seen["POST1hello"] <= int(r.Ops) { // the warm-up came on top
			t.Errorf("%s: the service saw %v, %d counted", p.Kind, seen, r.Ops)
		}
	}
}

// TestSameSeedSameRequests: two settings of a service see the same load.
func TestSameSeedSameRequests(t *testing.T) {
	var hits [3]atomic.Int64
	var urls []string
	for i := range hits {
		urls = append(urls, serve(t, func(http.ResponseWriter, *http.Request) { hits[i].Add(1) }).URL)
	}
	var seen [2][3]int64
	for i := range seen {
		r := measure(t, open(1000, 300*time.Millisecond, urls...))
		for n := range hits {
			seen[i][n] = hits[n].Swap(0)
		}
		if sum := seen[i][0] + seen[i][1] + seen[i][2]; sum != r.Sent {
			t.Errorf("%d sent, %d seen", r.Sent, sum)
		}
	}
	if seen[0] != seen[1] {
		t.Errorf("one seed, yet %v and %v", seen[0], seen[1])
	}
	for _, n := range seen[0] {
		if n < 60 { // of about 100
			t.Errorf("replicas got %v", seen[0])
		}
	}
}

// TestStall is about coordinated omission: a service stops once for 200 ms.
// All that is due meanwhile is slow, which only the open loop sees.
func TestStall(t *testing.T) {
	slow := func(p Plan) (n int64) {
		var gate sync.RWMutex
		var served atomic.Int64
		s := serve(t, func(http.ResponseWriter, *http.Request) {
			if served.Add(1) == 50 {
				gate.Lock()
				time.Sleep(200 * time.Millisecond)
				gate.Unlock()
			}
			gate.RLock()
			defer gate.RUnlock()
		})
		p.URLs = []string{s.URL}
		r := measure(t, p)
		if r.Errors > 0 || r.Ops < 60 {
			t.Errorf("%+v", r)
		}
		for i, count := range r.Latency.Counts {
			if r.Latency.Seconds[i] > 0.1 {
				n += count
			}
		}
		return n
	}
	inOpen := slow(open(400, time.Second))
	inClosed := slow(closed(4, time.Second))
	// 400/s for the first 100 ms of the stall; and one for each user.
	if inOpen < 20 || inClosed < 1 || inClosed > 8 {
		t.Errorf("%d requests of an open loop and %d of a closed one took more than 100 ms", inOpen, inClosed)
	}
}

// TestLongRequests: a service reads them, or answers without.
func TestLongRequests(t *testing.T) {
	var short atomic.Int64
	body := make([]byte, 4<<20)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refuse" {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		if n, _ := io.Copy(io.Discard, r.Body); int(n) != len(body) {
			short.Add(1)
		}
	})
	for _, path := range []string{"/read", "/refuse"} {
		for _, p := range []Plan{open(30, 300*time.Millisecond, s.URL+path), closed(2, 300*time.Millisecond, s.URL+path)} {
			p.Method, p.Body = "POST", body
			r := measure(t, p)
			if path == "/read" && (p.Kind == Open && r.Ops == 0 || r.Errors != 0) {
				t.Errorf("%s: %+v", p.Kind, r)
			}
			if path == "/refuse" && (r.Ops != 0 || p.Kind == Open && !strings.Contains(r.FirstError, "status 413")) {
				t.Errorf("%s: %+v", p.Kind, r)
			}
		}
	}
	if short.Load() > 2 { // the two that the window cut off
		t.Errorf("%d requests were cut", short.Load())
	}
}

func TestErrorsAreCounted(t *testing.T) {
	var n atomic.Int64
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1)%2 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	for _, p := range []Plan{open(500, 200*time.Millisecond, s.URL), closed(2, 200*time.Millisecond, s.URL)} {
		r := measure(t, p)
		if d := r.Errors - r.Ops; d < -2 || d > 2 || !strings.Contains(r.FirstError, "status 503 Service Unavailable, "+s.URL) {
			t.Errorf("%s: %d of %d failed: %s", p.Kind, r.Errors, r.Sent, r.FirstError)
		}
	}
}

func TestNothingListens(t *testing.T) {
	for _, p := range []Plan{open(500, 200*time.Millisecond, "http://127.0.0.1:1"), closed(2, 200*time.Millisecond, "http://127.0.0.1:1")} {
		r := measure(t, p)
		if r.Ops != 0 || r.Errors < 5 || r.Errors > 200 || !strings.Contains(r.FirstError, "connection refused") {
			t.Errorf("%s: %+v", p.Kind, r)
		}
	}
}

func TestCrashInTheWindow(t *testing.T) {
	for _, p := range []Plan{open(500, 400*time.Millisecond), closed(4, 400*time.Millisecond)} {
		var n atomic.Int64
		var s *httptest.Server
		ready := make(chan struct{})
		s = serve(t, func(http.ResponseWriter, *http.Request) {
			<-ready
			if i := n.Add(1); i == 50 {
				s.Listener.Close()
				s.CloseClientConnections()
			} else if i > 50 { // it came before that took hold
				panic(http.ErrAbortHandler)
			}
		})
		close(ready)
		p.URLs = []string{s.URL}
		r := measure(t, p)
		if r.Ops < 30 || r.Ops > 60 || r.Errors < 10 || r.FirstError == "" {
			t.Errorf("%s: %+v", p.Kind, r)
		}
	}
}

func TestNoAnswer(t *testing.T) {
	release := make(chan struct{})
	s := serve(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	for _, tt := range []struct {
		name string
		plan Plan
		err  string
	}{
		{"open", open(100, 200*time.Millisecond, s.URL), "no complete answer within 100ms"},
		{"closed", closed(3, time.Second, s.URL), "no complete answer within 100ms"},
		{"closed-longer-than-the-window", closed(3, 50*time.Millisecond, s.URL), "no answer in the whole window of 50ms"},
	} {
		tt.plan.Timeout = 100 * time.Millisecond
		r := measure(t, tt.plan)
		if r.Ops != 0 || r.Errors < 3 || !strings.Contains(r.FirstError, tt.err) || r.P99 != nil {
			t.Errorf("%s: %+v", tt.name, r)
		}
	}
}

func TestTooManyOutstanding(t *testing.T) {
	release := make(chan struct{})
	s := serve(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	p := open(200, 200*time.Millisecond, s.URL)
	p.Connections, p.Timeout = 5, 5*time.Second
	time.AfterFunc(time.Second, func() {
		for range 5 {
			release <- struct{}{}
		}
	})
	if r := measure(t, p); r.Ops != 5 || r.Errors < 10 || !strings.Contains(r.FirstError, "5 requests are outstanding already") || r.InWindow != 0 || r.Elapsed <= r.Window {
		t.Errorf("%+v", r)
	}
}

// TestServiceClosesConnections: a service may close a connection after an
// answer without saying so. That is no error of a request that can be repeated.
func TestServiceClosesConnections(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				in := bufio.NewReader(c)
				for range 3 {
					if _, err := http.ReadRequest(in); err != nil {
						return
					}
					fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
				}
			}()
		}
	}()
	url := "http://" + l.Addr().String()
	for _, p := range []Plan{open(1000, 300*time.Millisecond, url), closed(3, 200*time.Millisecond, url)} {
		if r := measure(t, p); r.Ops < 30 || r.Errors != 0 {
			t.Errorf("%s: %+v", p.Kind, r)
		}
	}
}

// TestPauseLongerThanTheTimeout: connections stay usable between warm-up and
// window, however short the timeout.
func TestPauseLongerThanTheTimeout(t *testing.T) {
	var made atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			made.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	for _, p := range []Plan{closed(1, 100*time.Millisecond, s.URL), open(50, 100*time.Millisecond, s.URL)} {
		p.Timeout = 100 * time.Millisecond
		l, err := newLoop(p)
		if err != nil {
			t.Fatal(err)
		}
		made.Store(0)
		l.run(p.Window, streamWarm)
		time.Sleep(2 * p.Timeout)
		r := l.run(p.Window, streamWindow).result(p.Window)
		if r.Errors != 0 || r.Ops == 0 || p.Kind == Closed && made.Load() != 1 {
			t.Errorf("%s: %d connections, %+v", p.Kind, made.Load(), r)
		}
	}
}

func TestTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of the stranger
	s.StartTLS()
	defer s.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(file, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	p := closed(2, 200*time.Millisecond, s.URL)
	p.Warm = 50 * time.Millisecond
	if r := measure(t, p); r.Ops != 0 || !strings.Contains(r.FirstError, "certificate") {
		t.Errorf("a stranger is trusted: %+v", r)
	}
	t.Setenv("SSL_CERT_FILE", file)
	for _, p := range []Plan{p, open(200, 200*time.Millisecond, s.URL)} {
		if r := measure(t, p); r.Ops < 10 || r.Errors != 0 {
			t.Errorf("%s: %+v", p.Kind, r)
		}
	}
}
