// SPDX-License-Identifier: Apache-2.0

package bound

import (
	"net"
	"net/netip"
	"slices"
	"sync"
)

// Budget is what all clients of a server may hold at a time: connections, requests or bytes. No client holds more
// than a quarter. If a client would, it loses what it has used least recently. If all is taken, the client that
// holds most loses that; clients that hold little count alike.
type Budget struct {
	Max int64 // above 0
	// Refuse makes a client lose nothing for a Share of its own that grows: that one may not grow. A quarter of
	// what the Share would hold stays free for smaller ones of the client.
	Refuse bool

	mu      sync.Mutex
	held    int64
	clients map[netip.Addr]*account
	uses    uint64
	cut     Cut
}

// Cut counts what clients lost, and what was refused.
type Cut struct {
	Client int64 // because the client held more than a quarter
	Full   int64 // because all was taken
}

// account is what a client holds.
type account struct {
	held   int64
	shares []*Share // least recently used first
}

// Share is a part of a Budget that a client holds. Its methods are safe for concurrent use.
type Share struct {
	of     *Budget
	client netip.Addr
	n      int64
	used   uint64
	end    func()
	gone   bool
}

// smallPart is the part of a Budget up to which clients count alike: an attacker with many addresses, of which
// each holds little, takes nothing from a client that holds a little more.
const smallPart = 32

// quarter returns the most that a client may hold of n.
func quarter(n int64) int64 { return max(1, n/4) }

// clientAt returns the client with an address: IPv4, or the /64 of IPv6, of which a host has all. The zero
// Addr is every client without such an address.
func clientAt(a net.Addr) netip.Addr {
	from, _ := netip.ParseAddrPort(a.String())
	client := from.Addr().Unmap().WithZone("")
	if client.Is6() {
		p, _ := client.Prefix(64)
		return p.Addr()
	}
	return client
}

// Open returns a Share that holds nothing yet. If the client loses it, end is called.
func (b *Budget) Open(client netip.Addr, end func()) *Share {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.clients == nil {
		b.clients = map[netip.Addr]*account{}
	}
	if b.clients[client] == nil {
		b.clients[client] = &account{}
	}
	b.uses++
	s := &Share{of: b, client: client, used: b.uses, end: end}
	b.clients[client].shares = append(b.clients[client].shares, s)
	return s
}

// Hold sets what a Share holds, and reports whether it may. Others lose theirs for it.
func (s *Share) Hold(n int64) bool {
	b := s.of
	b.mu.Lock()
	own, before := b.clients[s.client], s.n
	if s.gone || n > quarter(b.Max) || b.Refuse && n > before && own.held-before+n+n/4 > quarter(b.Max) {
		if !s.gone {
			b.cut.Client++
		}
		b.mu.Unlock()
		return false
	}
	var out []*Share
	lose := func(a *account, cut *int64) {
		*cut++
		if b.Refuse && a == own {
			b.set(s, before)
			return
		}
		o := a.oldest()
		b.remove(o)
		out = append(out, o)
	}
	b.set(s, n)
	for own.held > quarter(b.Max) {
		lose(own, &b.cut.Client)
	}
	for b.held > b.Max {
		lose(b.most(), &b.cut.Full)
	}
	kept := !s.gone && s.n == n
	b.mu.Unlock()
	for _, o := range out {
		o.end()
	}
	return kept
}

// Used makes a Share the one that its client used last.
func (s *Share) Used() {
	b := s.of
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.gone {
		return
	}
	b.uses++
	s.used = b.uses
	all := b.clients[s.client].shares
	i := slices.Index(all, s)
	copy(all[i:], all[i+1:])
	all[len(all)-1] = s
}

// Close gives a Share back.
func (s *Share) Close() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if !s.gone {
		s.of.remove(s)
	}
}

// Held returns what all clients hold, and what they lost.
func (b *Budget) Held() (int64, Cut) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held, b.cut
}

func (b *Budget) set(s *Share, n int64) {
	b.held += n - s.n
	b.clients[s.client].held += n - s.n
	s.n = n
}

func (b *Budget) remove(s *Share) {
	b.set(s, 0)
	s.gone = true
	a := b.clients[s.client]
	i := slices.Index(a.shares, s)
	if a.shares = slices.Delete(a.shares, i, i+1); len(a.shares) == 0 {
		delete(b.clients, s.client)
	}
}

// oldest returns what a client that holds something has used least recently.
func (a *account) oldest() *Share {
	return a.shares[slices.IndexFunc(a.shares, func(s *Share) bool { return s.n > 0 })]
}

// most returns the client that holds most; of several, the one that has used its own least recently.
func (b *Budget) most() (most *account) {
	count := func(a *account) int64 { return max(a.held, b.Max/smallPart) }
	for _, a := range b.clients {
		if a.held > 0 && (most == nil || count(a) > count(most) || count(a) == count(most) && a.oldest().used < most.oldest().used) {
			most = a
		}
	}
	return most
}
