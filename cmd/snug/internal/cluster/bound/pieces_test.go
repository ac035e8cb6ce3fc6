// SPDX-License-Identifier: Apache-2.0

package bound

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestBodiesInPieces: a connection of HTTP/1 whose body comes in pieces has one turn, not two of which the second waits
// for the first.
func TestBodiesInPieces(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fair := &Fair{Wait: time.Hour}
	requests := &Budget{Max: 1 << 20}
	s := &http.Server{ConnContext: Context, Handler: requests.Requests(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))}
	defer s.Close()
	go s.Serve(&Listener{Listener: l, Conns: &Budget{Max: 1 << 20}, Hellos: fair, Fair: fair})
	dial := func(at string) net.Conn {
		c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(at)}}).Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	var slow []net.Conn
	for range 4 * runtime.GOMAXPROCS(0) {
		c := dial("127.0.0.2")
		fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
		slow = append(slow, c)
	}
	for i := range 20 {
		for _, c := range slow {
			io.WriteString(c, "piece")
		}
		other := dial("127.0.0.3")
		other.SetDeadline(time.Now().Add(10 * time.Second))
		fmt.Fprint(other, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if answer, err := io.ReadAll(other); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200 ") {
			t.Fatalf("beside piece %d: %q, %v", i, answer, err)
		}
	}
}
