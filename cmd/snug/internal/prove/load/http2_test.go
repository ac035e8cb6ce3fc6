// SPDX-License-Identifier: Apache-2.0

package load

import (
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// serve2 runs a service that speaks HTTP/2, also without TLS, and HTTP/1.1.
func serve2(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetHTTP2(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// bothLoops are an open and a closed loop over HTTP/2.
func bothLoops(url string) []Plan {
	plans := []Plan{open(300, 300*time.Millisecond, url), closed(4, 300*time.Millisecond, url)}
	for i := range plans {
		plans[i].Warm, plans[i].HTTP2 = 100*time.Millisecond, true
	}
	return plans
}

func TestHTTP2(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]int{}
	conns := map[string]bool{}
	s := serve2(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		seen[r.Proto+" "+r.Method+" "+r.Header.Get("X-A")+" "+string(body)+" "+r.UserAgent()]++
		conns[r.RemoteAddr] = true
		w.Write(make([]byte, 100_000))
	})
	for _, p := range bothLoops(s.URL) {
		p.Method, p.Body, p.Header = "POST", []byte("hello"), map[string]string{"X-A": "1"}
		_, r := enough(t, p, func(_ Plan, r Result) bool { return r.Ops > 0 })
		if r.Ops == 0 || r.Errors != 0 || (p.Kind == Open) != (r.LatenessP99 != nil) {
			t.Errorf("%s: %+v", p.Kind, r)
		}
		mu.Lock()
		if n := len(conns); len(seen) != 1 || seen["HTTP/2.0 POST 1 hello snug-load"] <= int(r.Ops) || n == 0 || p.Kind == Closed && n > 4*8 {
			t.Errorf("%s: %d connections, the service saw %v, counted %d", p.Kind, n, seen, r.Ops)
		}
		clear(seen)
		clear(conns)
		mu.Unlock()
	}
}

// TestHTTP2Stall: an open loop keeps sending while the service stalls, and no connection has
// to answer before it takes the next request.
func TestHTTP2Stall(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}, 1000), make(chan struct{})
	s := serve2(t, func(http.ResponseWriter, *http.Request) {
		begun <- struct{}{}
		<-release
	})
	go func() {
		for range 2 * http2Conns { // more than there are connections
			<-begun
		}
		close(release)
	}()
	p := open(1000, time.Second, s.URL)
	p.HTTP2, p.Timeout = true, time.Minute
	if r := measure(t, p); r.Errors != 0 || r.Ops < 2*http2Conns {
		t.Errorf("%+v", r)
	}
}

func TestHTTP2Failures(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	defer close(hang)
	status := serve2(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusServiceUnavailable) })
	hangs := serve2(t, func(http.ResponseWriter, *http.Request) { <-hang })
	breaks := serve2(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte("half"))
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	old := serve(t, hello)
	for _, tt := range []struct{ name, url, want string }{
		{"an error", status.URL, "status 503 Service Unavailable"},
		{"no answer", hangs.URL, "no complete answer within 100ms"},
		{"half an answer", breaks.URL, "stream error"},
		{"HTTP/1.1 only", old.URL, "HTTP/1.1"},
		{"nobody", "http://127.0.0.1:1", "connection refused"},
	} {
		for _, p := range bothLoops(tt.url) {
			p.Warm, p.Rate = 0, p.Rate/10
			if tt.url != status.URL { // that answers, even if late
				p.Timeout = 100 * time.Millisecond
			}
			p.Window = time.Second
			if r := measure(t, p); r.Ops != 0 || r.Errors == 0 || !strings.Contains(r.FirstError, tt.want) {
				t.Errorf("%s, %s: %d answers, %d errors, %q; want %q", tt.name, p.Kind, r.Ops, r.Errors, r.FirstError, tt.want)
			}
		}
	}
}

func TestHTTP2OverTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			http.Error(w, r.Proto, http.StatusHTTPVersionNotSupported)
		}
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", file)
	for _, p := range bothLoops(s.URL) {
		if _, r := enough(t, p, func(_ Plan, r Result) bool { return r.Ops > 0 }); r.Ops == 0 || r.Errors != 0 {
			t.Errorf("%s: %+v", p.Kind, r)
		}
	}
}

// TestGRPC speaks to a service that is built from the protocol's description, see message.
func TestGRPC(t *testing.T) {
	t.Parallel()
	s := serve2(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/grpc")
		switch {
		case r.ProtoMajor != 2 || r.Method != "POST" || r.Header.Get("Content-Type") != "application/grpc" || r.Header.Get("Te") != "trailers":
			w.WriteHeader(http.StatusUnsupportedMediaType)
		case r.URL.Path == "/greet.Greeter/Silent":
			w.Write([]byte{0, 0, 0, 0, 0})
		case r.URL.Path != "/greet.Greeter/Hello":
			w.Header().Set("Grpc-Status", "12")
			w.Header().Set("Grpc-Message", "no%20such method")
		case string(body) != "\x00\x00\x00\x00\x05hello":
			w.Header().Set("Trailer", "Grpc-Status, Grpc-Message")
			w.Write([]byte{0, 0, 0, 0, 0})
			w.Header().Set("Grpc-Status", "3")
			w.Header().Set("Grpc-Message", fmt.Sprintf("%q", body))
		default:
			w.Header().Set("Trailer", "Grpc-Status")
			w.Write([]byte{0, 0, 0, 0, 1, '!'})
			w.Header().Set("Grpc-Status", "0")
		}
	})
	for _, tt := range []struct{ method, body, want string }{
		{"greet.Greeter/Hello", "hello", ""},
		{"greet.Greeter/Hello", "", `gRPC status 3 "\x00\x00\x00\x00\x00", `},
		{"greet.Greeter/Nothing", "hello", "gRPC status 12 no such method, "},
		{"greet.Greeter/Silent", "hello", "an answer without a status of gRPC, "},
	} {
		for _, p := range bothLoops(s.URL) {
			p.GRPC, p.Body, p.Method = tt.method, []byte(tt.body), "POST"
			_, r := enough(t, p, func(_ Plan, r Result) bool { return r.Ops+r.Errors > 0 })
			if (r.Errors == 0) != (tt.want == "") || (r.Ops > 0) != (tt.want == "") || !strings.HasPrefix(r.FirstError, tt.want) {
				t.Errorf("%s of %q, %s: %d answers, %d errors, %q; want %q", tt.method, tt.body, p.Kind, r.Ops, r.Errors, r.FirstError, tt.want)
			}
		}
	}
}
