// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"net"
	"net/netip"
	"sync"
)

// bounded is a listener with at most max connections at a time. A further one takes the place of the
// oldest connection of the client that has most: clients that do not read, or never ask, lose their own
// connections, and a probe from elsewhere gets in.
type bounded struct {
	net.Listener
	max int

	mu   sync.Mutex
	open []*boundedConn // oldest first
}

// boundedConn is a connection of a bounded listener.
type boundedConn struct {
	net.Conn
	of     *bounded
	client netip.Addr // the zero Addr = unknown
}

func (b *bounded) Accept() (net.Conn, error) {
	conn, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &boundedConn{Conn: conn, of: b}
	if from, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil {
		c.client = from.Addr().Unmap().WithZone("")
	}
	b.mu.Lock()
	b.open = append(b.open, c)
	var out *boundedConn
	if len(b.open) > b.max {
		out = b.busiest()
	}
	b.mu.Unlock()
	if out != nil {
		_ = out.Close()
	}
	return c, nil
}

// busiest returns the oldest connection of the client with most connections; of several such clients the
// one whose connection is oldest.
func (b *bounded) busiest() *boundedConn {
	count := map[netip.Addr]int{}
	most := 0
	for _, c := range b.open {
		count[c.client]++
		most = max(most, count[c.client])
	}
	for _, c := range b.open {
		if count[c.client] == most {
			return c
		}
	}
	return nil
}

func (c *boundedConn) Close() error {
	b := c.of
	b.mu.Lock()
	for i, o := range b.open {
		if o == c {
			b.open = append(b.open[:i], b.open[i+1:]...)
			break
		}
	}
	b.mu.Unlock()
	return c.Conn.Close()
}
