// SPDX-License-Identifier: Apache-2.0

package bound

import (
	"container/list"
	"context"
	"maps"
	"net"
	"net/netip"
	"sync"
	"time"
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
	shares list.List // of *Share that hold something, least recently used first
}

// Share is a part of a Budget that a client holds. Its methods are safe for concurrent use.
type Share struct {
	of     *Budget
	client netip.Addr
	n      int64
	used   uint64
	at     *list.Element // in its client's shares; nil = it holds nothing
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
	return &Share{of: b, client: client, end: end}
}

// Hold sets what a Share holds, and reports whether it may. Others lose theirs for it.
func (s *Share) Hold(n int64) bool {
	b := s.of
	b.mu.Lock()
	own, before := b.account(s.client), s.n
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
	own = b.account(s.client)
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
	if s.used = b.uses; s.at != nil {
		b.clients[s.client].shares.MoveToBack(s.at)
	}
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

// account returns what a client holds. It is in clients only while that is something.
func (b *Budget) account(client netip.Addr) *account {
	if a := b.clients[client]; a != nil {
		return a
	}
	return &account{}
}

func (b *Budget) set(s *Share, n int64) {
	a := b.account(s.client)
	b.held += n - s.n
	a.held += n - s.n
	switch s.n = n; {
	case n > 0 && s.at == nil:
		b.uses++
		s.used, s.at = b.uses, a.shares.PushBack(s)
	case n == 0 && s.at != nil:
		a.shares.Remove(s.at)
		s.at = nil
	}
	if b.clients == nil {
		b.clients = map[netip.Addr]*account{}
	}
	if b.clients[s.client] = a; a.shares.Len() == 0 {
		delete(b.clients, s.client)
	}
}

func (b *Budget) remove(s *Share) {
	b.set(s, 0)
	s.gone = true
}

// oldest returns what a client that holds something has used least recently.
func (a *account) oldest() *Share { return a.shares.Front().Value.(*Share) }

// most returns the client that holds most; of several, the one that has used its own least recently.
func (b *Budget) most() (most *account) {
	count := func(a *account) int64 { return max(a.held, b.Max/smallPart) }
	for _, a := range b.clients {
		switch {
		case a.held <= 0:
		case most == nil, count(a) > count(most), count(a) == count(most) && a.oldest().used < most.oldest().used:
			most = a
		}
	}
	return most
}

// Rate bounds the CPU time that a client makes a server spend: Burst at once, and then Share of one CPU.
type Rate struct {
	Share float64 // above 0
	Burst time.Duration

	mu      sync.Mutex
	by      map[netip.Addr]debt
	refused int64
}

// debt is the CPU time that a client has not yet waited for.
type debt struct {
	d  time.Duration
	at time.Time
}

// maxDebtors bounds the clients that a Rate remembers. If more have debts, it forgets them.
const maxDebtors = 4096

// Spend adds to the debt of a client, and reports whether it has to wait.
func (r *Rate) Spend(client netip.Addr, d time.Duration) (wait bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d += r.left(r.by[client])
	if len(r.by) >= maxDebtors {
		maps.DeleteFunc(r.by, func(_ netip.Addr, d debt) bool { return r.left(d) == 0 })
	}
	if r.by == nil || len(r.by) >= maxDebtors {
		r.by = map[netip.Addr]debt{}
	}
	r.by[client] = debt{d, time.Now()}
	return d > r.Burst
}

// Wait returns how long a client has to wait; 0 = it need not. If it has to, that counts as refused.
func (r *Rate) Wait(client netip.Addr) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := r.left(r.by[client])
	if left <= r.Burst {
		return 0
	}
	r.refused++
	return time.Duration(float64(left-r.Burst) / r.Share)
}

// Refused returns how often clients had to wait.
func (r *Rate) Refused() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refused
}

func (r *Rate) left(d debt) time.Duration {
	return max(0, d.d-time.Duration(float64(time.Since(d.at))*r.Share))
}

// Turns bounds the requests that are worked on at a time. No client has more than a quarter of the turns: one that
// asks again and again waits for itself.
type Turns struct {
	all chan struct{}
	mu  sync.Mutex
	by  map[netip.Addr]*turns
}

// turns are those of a client, and how many of its requests have one or wait.
type turns struct {
	taken chan struct{}
	n     int
}

// NewTurns returns n turns.
func NewTurns(n int) *Turns {
	return &Turns{all: make(chan struct{}, n), by: map[netip.Addr]*turns{}}
}

// Take waits for a turn, and reports whether it got one, which leave ends.
func (t *Turns) Take(ctx context.Context, wait time.Duration) (leave func(), ok bool) {
	client := Client(ctx)
	t.mu.Lock()
	own := t.by[client]
	if own == nil {
		own = &turns{taken: make(chan struct{}, quarter(int64(cap(t.all))))}
		t.by[client] = own
	}
	own.n++
	t.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	taken := []chan struct{}{own.taken, t.all}
	leave = func() {
		for _, c := range taken {
			<-c
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if own.n--; own.n == 0 {
			delete(t.by, client)
		}
	}
	for i, c := range taken {
		select {
		case c <- struct{}{}:
			continue
		case <-ctx.Done():
		case <-timer.C:
		}
		taken = taken[:i]
		leave()
		return nil, false
	}
	return leave, true
}
