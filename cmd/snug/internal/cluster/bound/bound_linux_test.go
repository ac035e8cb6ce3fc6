// SPDX-License-Identifier: Apache-2.0

package bound

import (
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"
)

// TestBusiest: the client with most connections loses its oldest.
func TestBusiest(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &Listener{Listener: l, Max: 3}
	defer b.Close()
	dial := func(from string) (client, server net.Conn) {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		client, err := dialer.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close() })
		if server, err = b.Accept(); err != nil {
			t.Fatal(err)
		}
		return client, server
	}
	closed := func(c net.Conn) bool {
		c.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		_, err := c.Read(make([]byte, 1))
		return err == io.EOF
	}
	lone, _ := dial("127.0.0.3")
	first, _ := dial("127.0.0.2")
	second, _ := dial("127.0.0.2")
	third, of := dial("127.0.0.2")
	if closed(lone) || !closed(first) || closed(second) || closed(third) {
		t.Errorf("closed: %v %v %v %v, want the first of three alone", closed(lone), closed(first), closed(second), closed(third))
	}
	// One that served something stays, whatever its age and client.
	Served(Context(t.Context(), b.open[0]))
	Served(Context(t.Context(), tls.Server(b.open[1], nil)))
	fourth, _ := dial("127.0.0.4")
	if closed(lone) || closed(second) || !closed(third) || closed(fourth) {
		t.Errorf("closed: %v %v %v %v, want the third alone", closed(lone), closed(second), closed(third), closed(fourth))
	}
	Served(Context(t.Context(), b.open[2]))
	Served(t.Context()) // of another listener
	dial("127.0.0.5")
	dial("127.0.0.5")
	if len(b.open) != 3 {
		t.Errorf("%d open, want 3", len(b.open))
	}
	of.Close()
	if of.Close() == nil {
		t.Error("closed twice")
	}
}
