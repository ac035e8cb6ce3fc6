// SPDX-License-Identifier: Apache-2.0

// Package bound bounds the connections of a server, so that no client takes them from the others.
package bound

import (
	"context"
	"net"
	"net/netip"
	"sync"
)

// Listener has at most Max connections at a time. A further one takes the place of another: of those that
// never served anything first, and among these the oldest of the client that has most. So clients that do not
// read, or never ask, lose their own connections, and a probe from elsewhere, or an API server, which has
// long connections in use, keeps its own.
type Listener struct {
	net.Listener
	Max int // above 0

	mu   sync.Mutex
	open []*Conn // oldest first
}

// Conn is a connection of a Listener.
type Conn struct {
	net.Conn
	of     *Listener
	client netip.Addr // the zero Addr = unknown
	served bool
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &Conn{Conn: conn, of: l}
	if from, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil {
		c.client = from.Addr().Unmap().WithZone("")
	}
	l.mu.Lock()
	l.open = append(l.open, c)
	var out *Conn
	if len(l.open) > l.Max {
		out = l.last()
	}
	l.mu.Unlock()
	if out != nil {
		_ = out.Close()
	}
	return c, nil
}

// last returns the connection that goes first: the oldest of the client with most of those that never served
// anything; of all, if each did. Of several such clients it is the one whose connection is oldest.
func (l *Listener) last() *Conn {
	for _, served := range []bool{false, true} {
		count := map[netip.Addr]int{}
		most := 0
		for _, c := range l.open {
			if c.served == served {
				count[c.client]++
				most = max(most, count[c.client])
			}
		}
		for _, c := range l.open {
			if c.served == served && count[c.client] == most {
				return c
			}
		}
	}
	return nil
}

// Close closes the connection.
func (c *Conn) Close() error {
	l := c.of
	l.mu.Lock()
	for i, o := range l.open {
		if o == c {
			l.open = append(l.open[:i], l.open[i+1:]...)
			break
		}
	}
	l.mu.Unlock()
	return c.Conn.Close()
}

type key struct{}

// Context is an [http.Server.ConnContext]: Served then finds the connection. It sees through TLS.
func Context(ctx context.Context, conn net.Conn) context.Context {
	if t, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = t.NetConn()
	}
	if c, ok := conn.(*Conn); ok {
		return context.WithValue(ctx, key{}, c)
	}
	return ctx
}

// Served records that the connection of a request has served something of use.
func Served(ctx context.Context) {
	if c, ok := ctx.Value(key{}).(*Conn); ok {
		c.of.mu.Lock()
		c.served = true
		c.of.mu.Unlock()
	}
}
