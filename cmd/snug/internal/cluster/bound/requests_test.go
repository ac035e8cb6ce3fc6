// SPDX-License-Identifier: Apache-2.0

package bound

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// served starts a server over TLS whose clients share connections and requests, and need turns for all they do.
func served(t *testing.T, conns, most int64, handler http.Handler) (l *Listener, requests *Budget, url string) {
	t.Helper()
	requests = &Budget{Max: most}
	s := httptest.NewUnstartedServer(requests.Requests(handler))
	l = &Listener{Listener: s.Listener, Conns: &Budget{Max: conns}, Hellos: &Fair{Wait: time.Hour}, Fair: &Fair{Wait: time.Hour}}
	s.Listener, s.Config.ConnContext, s.EnableHTTP2 = l, Context, true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return l, requests, s.URL
}

func now(b *Budget) int64 { n, _ := b.Held(); return n }
func lost(b *Budget) Cut  { _, cut := b.Held(); return cut }

// from returns a client at an address.
func from(t *testing.T, s string, h2 bool) *http.Client {
	tr := &http.Transport{
		DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(s)}}).DialContext, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: h2,
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// TestRequests: of three requests of a client whose bodies never end, the first loses its connection at once, with all
// that is on it. No handler goes on that does not count.
func TestRequests(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		began, ended := make(chan struct{}, 9), make(chan error, 9)
		l, requests, url := served(t, 64, 8, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			began <- struct{}{}
			_, err := io.ReadAll(r.Body)
			if ended <- err; r.ProtoMajor == 2 != h2 {
				t.Error(r.Proto)
			}
		}))
		client := from(t, "127.0.0.2", h2)
		codes := make(chan int, 9)
		var bodies []*io.PipeWriter
		ask := func() {
			r, w := io.Pipe()
			bodies = append(bodies, w)
			go func() {
				a, err := client.Post(url, "", r)
				if err != nil {
					codes <- 0
					return
				}
				a.Body.Close()
				codes <- a.StatusCode
			}()
			<-began
		}
		ask()
		ask()
		ask()
		lose := map[bool]int{false: 1, true: 3}[h2] // in HTTP/2 they share a connection
		for ends, errs := 0, 0; ends < lose || errs < lose; {
			select {
			case err := <-ended:
				if err == nil {
					t.Errorf("HTTP/2 %t: a whole body", h2)
				}
				bodies[ends].Close() // a client of HTTP/1.1 waits for it
				ends++
			case code := <-codes:
				if errs++; code != 0 {
					t.Fatalf("HTTP/2 %t: %d", h2, code)
				}
			}
		}
		if h2 {
			ask() // over another connection
		}
		for _, b := range bodies[lose:] {
			b.Close()
			if code := <-codes; code != 200 {
				t.Errorf("HTTP/2 %t: another: %d", h2, code)
			}
		}
		for now(requests) != 0 {
			time.Sleep(time.Millisecond)
		}
		if lost(l.Conns) != (Cut{}) || lost(requests).Client == 0 {
			t.Errorf("HTTP/2 %t: cut %+v, %+v", h2, lost(l.Conns), lost(requests))
		}
	}
}

// TestDeafRequests: a request whose answer is not read is in progress, and loses its connection.
func TestDeafRequests(t *testing.T) {
	ended := make(chan error, 9)
	_, _, url := served(t, 64, 8, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/short" {
			return
		}
		_, err := io.WriteString(w, strings.Repeat("x", 8<<20))
		ended <- err
	}))
	for at, h2 := range map[string]bool{"127.0.0.2": false, "127.0.0.3": true} {
		client := from(t, at, h2)
		for range 2 {
			r, err := client.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
		}
		r, err := from(t, at, h2).Get(url + "/short") // the others wait for their readers
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		lose := map[bool]int{false: 1, true: 2}[h2] // in HTTP/2 they share a connection
		for range lose {
			if err := <-ended; err == nil {
				t.Error("an answer that nobody read was sent")
			}
		}
	}
}

// TestShortAnswers: an answer that fits into a buffer and is not read counts too.
func TestShortAnswers(t *testing.T) {
	_, requests, url := served(t, 64, 8, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "a few bytes")
	}))
	client := from(t, "127.0.0.2", true)
	client.Transport.(*http.Transport).HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: 1}
	for i := range 3 {
		r, err := client.Get(url)
		if err == nil {
			defer r.Body.Close()
		} else if i < 2 { // the third makes the first lose its connection, which is its own too
			t.Fatal(err)
		}
	}
	for lost(requests).Client == 0 {
		time.Sleep(time.Millisecond)
	}
}

// TestListenerRate: a client that connects too often is cut at once, and no other client is.
func TestListenerRate(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &Listener{Listener: l, Conns: &Budget{Max: 64}, Rate: &Rate{Share: 1e-9, Burst: ConnCost}}
	defer b.Close()
	for i, c := range []struct {
		from string
		cut  int64
	}{{"127.0.0.2", 0}, {"127.0.0.2", 0}, {"127.0.0.3", 0}, {"127.0.0.2", 1}} {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(c.from)}}
		client, err := dialer.Dial("tcp", l.Addr().String())
		if err == nil {
			defer client.Close()
		}
		if c.cut == 0 {
			if _, err = b.Accept(); err != nil {
				t.Fatal(err)
			}
		} else { // Accept goes on to another client
			if client, err = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 4)}}).Dial("tcp", l.Addr().String()); err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if got, err := b.Accept(); err != nil || got.RemoteAddr().String() != client.LocalAddr().String() {
				t.Errorf("accepted %v, %v", got, err)
			}
		}
		if b.Rate.Refused() != c.cut {
			t.Errorf("connection %d: %d refused", i, b.Rate.Refused())
		}
	}
}

// TestListener: a client loses its least recently used connection, and a request uses one.
func TestListener(t *testing.T) {
	l, _, url := served(t, 8, 8, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	clients := []*http.Client{from(t, "127.0.0.2", false), from(t, "127.0.0.2", false), from(t, "127.0.0.2", false)}
	ask := func(i int) {
		t.Helper()
		r, err := clients[i].Post(url, "", strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	ask(0)
	ask(1)
	ask(0)
	ask(2) // 1 is cut
	if now(l.Conns) != 2 || lost(l.Conns) != (Cut{Client: 1}) {
		t.Errorf("%d held, cut %+v", now(l.Conns), lost(l.Conns))
	}
	ask(0)
	if lost(l.Conns) != (Cut{Client: 1}) {
		t.Error("the connection that was used last is closed")
	}
	ask(1) // 2 is cut
	if now(l.Conns) != 2 || lost(l.Conns) != (Cut{Client: 2}) {
		t.Errorf("%d held, cut %+v", now(l.Conns), lost(l.Conns))
	}
	for _, c := range clients {
		c.CloseIdleConnections()
	}
	for now(l.Conns) != 0 {
		time.Sleep(time.Millisecond)
	}
	if Client(t.Context()).IsValid() {
		t.Error("a client without a connection")
	}
}

// TestReset: requests that are reset before they begin take nothing, and a client that resets again and again loses
// its connection.
func TestReset(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	c := &Conn{Conn: here, shut: func() {}, rate: &Rate{Share: 1e-9, Burst: 10 * resetCost}}
	c.share = (&Budget{Max: 4}).Open(c.client, c.cut)
	gone, cancel := context.WithCancel(Context(t.Context(), c))
	cancel()
	requests := &Budget{Max: 4}
	h := requests.Requests(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("served") }))
	open := func() bool {
		here.SetReadDeadline(time.Unix(1, 0))
		_, err := here.Read(make([]byte, 1))
		return errors.Is(err, os.ErrDeadlineExceeded)
	}
	for i := range 11 {
		if !open() {
			t.Fatalf("closed after %d resets", i)
		}
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, "POST", "/", nil))
	}
	if held, cut := requests.Held(); open() || held != 0 || cut != (Cut{}) {
		t.Errorf("open %v, held %d, cut %+v", open(), held, cut)
	}
}
