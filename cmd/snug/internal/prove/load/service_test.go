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

// enough measures with a window and a warm-up that double until the result is usable. An
// open loop sends what is due in any window. How much a closed loop does, and whether an
// answer comes in time, depends on the machine. A wrong result stays wrong.
func enough(t *testing.T, p Plan, do func(Plan, Result) bool) (Plan, Result) {
	t.Helper()
	for ; ; p.Warm, p.Window = 2*p.Warm, 2*p.Window {
		if r := measure(t, p); t.Failed() || do(p, r) || p.Window > 10*time.Second {
			return p, r
		}
	}
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
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]int{}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		seen[r.Method+r.Header.Get("X-A")+string(body)]++
		mu.Unlock()
	})
	for _, p := range []Plan{open(500, 300*time.Millisecond, s.URL), closed(4, 300*time.Millisecond, s.URL)} {
		p.Warm, p.Method, p.Body, p.Header = 100*time.Millisecond, "POST", []byte("hello"), map[string]string{"X-A": "1"}
		before := 0
		p, r := enough(t, p, func(_ Plan, r Result) bool {
			done := r.Ops > 0 && seen["POST1hello"]-before > int(r.Ops) // plus those of the warm-up
			if !done {
				before = seen["POST1hello"]
			}
			return done
		})
		if window := p.Window.Seconds(); r.Ops == 0 || r.Errors != 0 || r.RPS != float64(r.InWindow)/window || r.Elapsed < window {
			t.Errorf("%s: %+v", p.Kind, r)
		}
		if len(seen) != 1 || seen["POST1hello"]-before <= int(r.Ops) {
			t.Errorf("%s: the service saw %v, %d of them before; %d counted", p.Kind, seen, before, r.Ops)
		}
		clear(seen)
	}
}

// TestSameSeedSameRequests: two settings of a service get the same load.
func TestSameSeedSameRequests(t *testing.T) {
	t.Parallel()
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

// TestStall shows coordinated omission: a service stops once for 200 ms. All requests
// that are due meanwhile are slow. Only the open loop shows that: a user of the closed
// loop waits, and sends nothing.
func TestStall(t *testing.T) {
	t.Parallel()
	for _, p := range []Plan{open(400, time.Second), closed(4, time.Second)} {
		var gate sync.RWMutex
		var served, waiting, maxWaiting atomic.Int64
		s := serve(t, func(http.ResponseWriter, *http.Request) {
			for n := waiting.Add(1); ; {
				if old := maxWaiting.Load(); n <= old || maxWaiting.CompareAndSwap(old, n) {
					break
				}
			}
			defer waiting.Add(-1)
			if served.Add(1) == 50 {
				gate.Lock()
				time.Sleep(200 * time.Millisecond)
				gate.Unlock()
			}
			gate.RLock()
			defer gate.RUnlock()
		})
		p.URLs = []string{s.URL}
		p, r := enough(t, p, func(_ Plan, r Result) bool { return r.Ops >= 60 })
		if r.Errors > 0 || r.Ops < 60 {
			t.Errorf("%s: %+v", p.Kind, r)
		}
		slow, together := int64(0), 0.0
		for i, count := range r.Latency.Counts {
			if r.Latency.Seconds[i] > 0.1 {
				slow += count
			}
			together += float64(count) * r.Latency.Seconds[i]
		}
		// 400/s for the first 100 ms of the stall, and one for each user. And however slow
		// the machine is, a user cannot exceed the window.
		if p.Kind == Open && slow < 20 {
			t.Errorf("%d requests took more than 100 ms", slow)
		}
		if users := float64(p.Connections); p.Kind == Closed && (slow < 1 || maxWaiting.Load() > 4 || together > users*r.Elapsed*1.001+float64(r.Ops)*1e-6) {
			t.Errorf("%d requests took more than 100 ms, %d waited at a time; %v users took %v s for their requests, in %v s", slow, maxWaiting.Load(), users, together, r.Elapsed)
		}
	}
}

// TestLongRequests: a service reads them, or answers without reading.
func TestLongRequests(t *testing.T) {
	t.Parallel()
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
			if path == "/refuse" {
				if r := measure(t, p); r.Ops != 0 || p.Kind == Open && !strings.Contains(r.FirstError, "status 413") {
					t.Errorf("%s: %+v", p.Kind, r)
				}
				continue
			}
			p, r := enough(t, p, func(_ Plan, r Result) bool {
				if n := short.Swap(0); n > int64(p.Connections) { // requests of a closed loop that the window cut off
					t.Errorf("%s: %d requests were cut", p.Kind, n)
				}
				return r.Ops > 0
			})
			if r.Ops == 0 || r.Errors != 0 {
				t.Errorf("%s: %+v", p.Kind, r)
			}
		}
	}
}

func TestErrorsAreCounted(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1)%2 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	for _, p := range []Plan{open(500, 200*time.Millisecond, s.URL), closed(2, 200*time.Millisecond, s.URL)} {
		p, r := enough(t, p, func(_ Plan, r Result) bool { return r.Ops > 0 && r.Errors > 0 })
		if d := r.Errors - r.Ops; d < -2 || d > 2 || !strings.Contains(r.FirstError, "status 503 Service Unavailable, "+s.URL) {
			t.Errorf("%s: %d of %d failed: %s", p.Kind, r.Errors, r.Sent, r.FirstError)
		}
	}
}

func TestNothingListens(t *testing.T) {
	t.Parallel()
	for _, p := range []Plan{open(500, 200*time.Millisecond, "http://127.0.0.1:1"), closed(2, 200*time.Millisecond, "http://127.0.0.1:1")} {
		p, r := enough(t, p, func(_ Plan, r Result) bool { return r.Errors >= 5 })
		maxErrors := int64(200)
		if p.Kind == Closed { // users pause after a failure
			maxErrors = int64(p.Connections) * (int64(p.Window/afterError) + 1)
		}
		if r.Ops != 0 || r.Errors < 5 || r.Errors > maxErrors || !strings.Contains(r.FirstError, "connection refused") {
			t.Errorf("%s: %+v", p.Kind, r)
		}
	}
}

func TestCrashInTheWindow(t *testing.T) {
	t.Parallel()
	for _, p := range []Plan{open(500, 400*time.Millisecond), closed(4, 400*time.Millisecond)} {
		try := func(p Plan) Result {
			var n, answers atomic.Int64
			s := httptest.NewUnstartedServer(nil)
			s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateIdle {
					answers.Add(1)
				}
			}
			s.Config.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				if i := n.Add(1); i == 50 {
					for range 60_000 { // or the crash loses some of them
						if answers.Load() >= 49 {
							break
						}
						time.Sleep(time.Millisecond)
					}
					s.Listener.Close()
					s.CloseClientConnections()
				} else if i > 50 { // it came before the close took effect
					panic(http.ErrAbortHandler)
				}
			})
			s.Start()
			defer s.Close()
			p.URLs = []string{s.URL}
			return measure(t, p)
		}
		r := try(p)
		for p.Kind == Closed && r.Errors < 10 && p.Window < 10*time.Second { // too few requests so far
			p.Window *= 2
			r = try(p)
		}
		if r.Ops < 30 || r.Ops > 60 || r.Errors < 10 || r.FirstError == "" {
			t.Errorf("%s: %+v", p.Kind, r)
		}
	}
}

func TestNoAnswer(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := serve(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	for _, tt := range []struct {
		name    string
		plan    Plan
		timeout time.Duration
		err     func(Plan) string
	}{
		{"open", open(100, 200*time.Millisecond, s.URL), 100 * time.Millisecond, late},
		{"closed", closed(3, time.Second, s.URL), 100 * time.Millisecond, late},
		{"closed-longer-than-the-window", closed(3, 50*time.Millisecond, s.URL), time.Hour, func(p Plan) string {
			return fmt.Sprintf("no answer in the whole window of %v", p.Window)
		}},
	} {
		tt.plan.Timeout = tt.timeout
		p, r := enough(t, tt.plan, func(_ Plan, r Result) bool { return r.Errors >= 3 })
		if r.Ops != 0 || r.Errors < 3 || !strings.Contains(r.FirstError, tt.err(p)) || r.P99 != nil {
			t.Errorf("%s: %+v", tt.name, r)
		}
	}
}

func late(p Plan) string { return fmt.Sprintf("no complete answer within %v", p.Timeout) }

// TestTooManyOutstanding: five requests wait until long after the window; those due
// meanwhile are dropped.
func TestTooManyOutstanding(t *testing.T) {
	t.Parallel()
	p := open(200, 200*time.Millisecond, "")
	p.Connections, p.Timeout = 5, time.Minute
	wait := 200 * time.Millisecond
	try := func(p Plan) Result {
		var n atomic.Int64
		release := make(chan struct{})
		s := serve(t, func(http.ResponseWriter, *http.Request) {
			if n.Add(1) == 5 { // the window has begun
				time.AfterFunc(p.Window+wait, func() { close(release) })
			}
			<-release
		})
		p.URLs = []string{s.URL}
		return measure(t, p)
	}
	r := try(p)
	for ; r.Ops != 5 && wait < 5*time.Second; wait *= 2 { // the generator stalled, and saw fewer outstanding
		r = try(p)
	}
	if r.Ops != 5 || r.Errors < 10 || !strings.Contains(r.FirstError, "5 requests are outstanding already") || r.InWindow != 0 || r.Elapsed <= r.Window {
		t.Errorf("%+v", r)
	}
}

// TestServiceClosesConnections: a service may close a connection after an answer without
// notice. That is not an error of a request that can be repeated.
func TestServiceClosesConnections(t *testing.T) {
	t.Parallel()
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
		if p, r := enough(t, p, func(_ Plan, r Result) bool { return r.Ops >= 30 }); r.Ops < 30 || r.Errors != 0 {
			t.Errorf("%s: %+v", p.Kind, r)
		}
	}
}

// TestPauseLongerThanTheTimeout: connections stay usable between warm-up and window,
// however short the timeout.
func TestPauseLongerThanTheTimeout(t *testing.T) {
	t.Parallel()
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
		var warm, r Result
		// On a stalled machine an answer may take longer than that.
		for p.Timeout = 100 * time.Millisecond; (r.Ops == 0 || warm.Errors+r.Errors != 0) && p.Timeout < 5*time.Second; p.Timeout *= 2 {
			l, err := newLoop(p)
			if err != nil {
				t.Fatal(err)
			}
			made.Store(0)
			warm = l.run(p.Window, streamWarm).result(p.Window)
			time.Sleep(2 * p.Timeout)
			r = l.run(p.Window, streamWindow).result(p.Window)
		}
		if r.Errors != 0 || r.Ops == 0 || p.Kind == Closed && made.Load() != 1 {
			t.Errorf("%s: %d connections, %+v", p.Kind, made.Load(), r)
		}
	}
}

func TestTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it logs failed handshakes
	s.StartTLS()
	defer s.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(file, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	p := closed(2, 200*time.Millisecond, s.URL)
	p.Warm = 50 * time.Millisecond
	refused := func(_ Plan, r Result) bool { return strings.Contains(r.FirstError, "certificate") }
	if p, r := enough(t, p, refused); r.Ops != 0 || !refused(p, r) {
		t.Errorf("a stranger is trusted: %+v", r)
	}
	t.Setenv("SSL_CERT_FILE", file)
	for _, p := range []Plan{p, open(200, 200*time.Millisecond, s.URL)} {
		if p, r := enough(t, p, func(_ Plan, r Result) bool { return r.Ops >= 10 }); r.Ops < 10 || r.Errors != 0 {
			t.Errorf("%s: %+v", p.Kind, r)
		}
	}
}
