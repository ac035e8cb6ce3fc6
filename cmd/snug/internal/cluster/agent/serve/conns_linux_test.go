// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/cert"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/guard"
)

// TestClientsThatDoNotRead: 64 clients ask twenty times for an answer larger than a socket holds and never read,
// 64 more never ask. Over TLS, the first half does not finish the handshake. Every probe is answered, from
// another address and from the same.
func TestClientsThatDoNotRead(t *testing.T) {
	for _, from := range []string{"127.0.0.2", "127.0.0.1", "127.0.0.2 over TLS"} {
		t.Run(from, func(t *testing.T) {
			from, _, secret := strings.Cut(from, " ")
			d := sampleNode()
			one := d.Containers[0]
			for i := range 300 {
				one.ID = new(fmt.Sprintf("%012x%052x", i, 0))
				d.Containers = append(d.Containers, one)
			}
			a := idle(d, 0)
			a.opts.Interval = time.Hour // one scan is never old
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			scheme := "http"
			if secret {
				scheme, a.opts.Certificate = "https", cert.Temporary("snug-agent")
			}
			server, in := a.On(l)
			server.ErrorLog = log.New(io.Discard, "", 0)
			go server.Serve(in)
			t.Cleanup(func() { server.Close() })
			var mu sync.Mutex
			var attackers []net.Conn
			t.Cleanup(func() {
				for _, c := range attackers {
					c.Close()
				}
			})
			var all sync.WaitGroup
			for i := range 128 {
				all.Go(func() {
					dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
					c, err := dialer.Dial("tcp", l.Addr().String())
					if err != nil { // cut at once
						return
					}
					c.(*net.TCPConn).SetReadBuffer(2048)
					mu.Lock()
					attackers = append(attackers, c)
					mu.Unlock()
					switch {
					case i%2 == 0 && secret:
						c.Write([]byte{22, 3, 1, 1, 0, 1}) // the beginning of a ClientHello
					case i%2 == 0:
						io.WriteString(c, strings.Repeat("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 20))
					}
				})
			}
			all.Wait()
			client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
			for i := range 60 {
				path := []string{"/healthz", "/metrics"}[i%2]
				r, err := client.Get(scheme + "://" + l.Addr().String() + path)
				if err != nil {
					t.Fatal(err)
				}
				n, err := io.Copy(io.Discard, r.Body)
				r.Body.Close()
				if r.ProtoMajor != 1 { // HTTP/2 would need a budget of requests
					t.Error(r.Proto)
				}
				if r.StatusCode != http.StatusOK || err != nil || path == "/metrics" && n < 100_000 {
					t.Errorf("%s: %s, %d bytes, %v", path, r.Status, n, err)
				}
			}
		})
	}
}

// TestAsksAgain: a client that asks again and again, for whatever, has to wait, is told how long, and can still ask
// for the health. Others get their pages meanwhile.
func TestAsksAgain(t *testing.T) {
	a := idle(sampleNode(), 0)
	testAsksAgain(t, a, "GET", "/", 200)
	if page := scraped(t, a); !strings.Contains(page, `snug_agent_cut_total{reason="rate"} 2`) {
		t.Error("the refusals are not counted")
	}
	testAsksAgain(t, idle(sampleNode(), 0), "GET", "/nope", 404)
	testAsksAgain(t, idle(sampleNode(), 0), "POST", "/", 405)
	a = idle(sampleNode(), 0)
	a.opts.Guard = guard.New(nil, nil)
	testAsksAgain(t, a, "GET", "/metrics", 401)
}

func testAsksAgain(t *testing.T, a *Server, method, path string, first int) {
	a.opts.Interval = time.Hour
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, in := a.On(l)
	a.rate.Burst, a.rate.Share = 0, 1e-9 // as after many pages
	go server.Serve(in)
	t.Cleanup(func() { server.Close() })
	ask := func(from, method, path string) (code, wait int) {
		t.Helper()
		tr := &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext}
		q, err := http.NewRequest(method, "http://"+l.Addr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := tr.RoundTrip(q)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
		wait, _ = strconv.Atoi(r.Header.Get("Retry-After"))
		return r.StatusCode, wait
	}
	if code, _ := ask("127.0.0.2", method, path); code != first {
		t.Fatalf("%s %s: %d", method, path, code)
	}
	before := 0
	for range 2 { // a refusal counts too
		code, wait := ask("127.0.0.2", method, path)
		if code != http.StatusTooManyRequests || wait <= before {
			t.Errorf("%s %s again: %d, to wait for %d s after %d", method, path, code, wait, before)
		}
		before = wait
	}
	if code, _ := ask("127.0.0.2", "GET", "/healthz"); code != 200 {
		t.Errorf("the health: %d", code)
	}
	if code, _ := ask("127.0.0.3", method, path); code != first {
		t.Errorf("another client: %d", code)
	}
}
