// SPDX-License-Identifier: Apache-2.0

package bound

import (
	"context"
	"net/netip"
	"sync"
	"time"
)

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
