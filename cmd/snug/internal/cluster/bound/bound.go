// SPDX-License-Identifier: Apache-2.0

// Package bound shares what a server has among its clients, so that none takes it from the others.
package bound

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync/atomic"
	"time"
)

// Listener accepts connections within a Budget. One that is cut is closed at once.
type Listener struct {
	net.Listener
	Conns *Budget
	// Rate bounds new connections, each of which costs ConnCost; nil = no bound.
	Rate *Rate
	// Hellos has the turns of handshakes, Fair those of all else that clients send; nil = no turns.
	Hellos, Fair *Fair
}

// ConnCost is the CPU time of a new connection with its TLS handshake.
const ConnCost = time.Millisecond

// Conn is a connection of a Listener.
type Conn struct {
	net.Conn
	client netip.Addr
	share  *Share
	rate   *Rate
	// The rest is for turns: wrote = its handshake is computed; works = a request of HTTP/1 is served, whose task has
	// the turns; little = reads of little since the last request.
	hellos, fair *Fair
	turn         turn
	open         context.Context
	shut         context.CancelFunc
	wrote, works atomic.Bool
	little       atomic.Int32
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &Conn{Conn: conn, client: clientAt(conn.RemoteAddr()), rate: l.Rate, hellos: l.Hellos, fair: l.Fair}
		c.open, c.shut = context.WithCancel(context.Background())
		if l.Rate != nil {
			if l.Rate.Wait(c.client) > 0 {
				c.cut()
				continue
			}
			l.Rate.Spend(c.client, ConnCost)
		}
		if l.Fair != nil {
			l.Fair.Rate.Spend(c.client, ConnCost)
		}
		c.share = l.Conns.Open(c.client, c.cut)
		c.share.Hold(1)
		return c, nil
	}
}

// cut closes a connection that its client lost.
func (c *Conn) cut() {
	c.shut()
	if t, ok := c.Conn.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // the kernel forgets what the client has not read
	}
	_ = c.Conn.Close()
}

// A connection that sent less than littleSize bytes at once maxLittle times, and no request, sends pings or trickles.
// From then on it waits before each read: more comes at once, and costs less.
const littleSize, maxLittle, littleWait = 512, 16, 10 * time.Millisecond

// Read waits for a turn for what it has read. The turn ends at the next read or write: in a handshake, that has the
// signature (RFC 8446, 4.4.3).
func (c *Conn) Read(p []byte) (int, error) {
	c.turn.end()
	if c.little.Add(1) > maxLittle && c.fair != nil {
		time.Sleep(littleWait)
	}
	n, err := c.Conn.Read(p)
	if n > littleSize {
		c.little.Store(0)
	}
	turns, hello := c.fair, !c.wrote.Load()
	if hello {
		turns = c.hellos
	}
	if n > 0 && turns != nil && !c.works.Load() {
		ok := c.turn.begin(c.open, turns, c.client, false)
		if c.open.Err() != nil {
			c.turn.end()
		}
		if hello && !ok {
			return 0, os.ErrDeadlineExceeded
		}
	}
	return n, err
}

// Write ends a turn.
func (c *Conn) Write(p []byte) (int, error) {
	c.wrote.Store(true)
	c.turn.end()
	return c.Conn.Write(p)
}

// Close closes the connection.
func (c *Conn) Close() error {
	c.shut()
	c.turn.end()
	c.share.Close()
	return c.Conn.Close()
}

type key struct{}

// Context is an [http.Server.ConnContext]: it keeps the connection for Requests. It sees through TLS.
func Context(ctx context.Context, conn net.Conn) context.Context {
	if t, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = t.NetConn()
	}
	if c, ok := conn.(*Conn); ok {
		return context.WithValue(ctx, key{}, c)
	}
	return ctx
}

// connOf returns the connection of a request, nil = of no Listener.
func connOf(ctx context.Context) *Conn {
	c, _ := ctx.Value(key{}).(*Conn)
	return c
}

// Client returns the client of a request, by its context.
func Client(ctx context.Context) netip.Addr {
	if c := connOf(ctx); c != nil {
		return c.client
	}
	return netip.Addr{}
}

// Open returns a Share of b for a request. If its client loses it, its connection is closed at once, and with it all
// its requests end: none that no longer counts goes on.
func Open(ctx context.Context, b *Budget) *Share {
	if c := connOf(ctx); c != nil {
		return b.Open(c.client, c.cut)
	}
	return b.Open(netip.Addr{}, func() {})
}

// Used serves requests, each of which makes its connection the last used one. In HTTP/1.1 a connection has one request
// at a time, so the Budget of connections bounds both.
func Used(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c := connOf(r.Context()); c != nil {
			c.share.Used()
		}
		next.ServeHTTP(w, r)
	})
}

// resetCost is the CPU time of a request that its client resets.
const resetCost = ConnCost / 10

// wasReset counts a request that its client has reset. One that does so again and again loses the connection.
func (c *Conn) wasReset() {
	if c.rate == nil {
		return
	}
	if c.rate.Spend(c.client, resetCost); c.rate.Wait(c.client) > 0 {
		c.cut()
	}
}

// Requests is Used for HTTP/2: its requests, the streams, have a Budget. A request counts until its answer is sent: a
// client that does not read it holds it. Its work has turns.
func (b *Budget) Requests(next http.Handler) http.Handler {
	return Used(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c := connOf(r.Context()); c != nil {
			defer func() {
				if r.Context().Err() != nil {
					c.wasReset()
				}
			}()
		}
		if r.Context().Err() != nil {
			return // a client may begin and reset more requests than may be in progress
		}
		if c := connOf(r.Context()); c != nil && c.fair != nil {
			if c.little.Store(0); r.ProtoMajor == 1 {
				c.works.Store(true) // else it waits for itself
				defer c.works.Store(false)
				c.turn.end()
			}
			t := &task{ResponseWriter: w, ReadCloser: r.Body, conn: c}
			defer t.end()
			if t.begin(c.open, c.fair, c.client, false); c.open.Err() != nil {
				return
			}
			r.Body, w = t, t
		}
		share := Open(r.Context(), b)
		defer share.Close()
		share.Hold(1)
		next.ServeHTTP(w, r)
		_ = http.NewResponseController(w).Flush()
	}))
}
