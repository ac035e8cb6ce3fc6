// SPDX-License-Identifier: Apache-2.0

package bound

import (
	"context"
	"crypto/tls"
	"runtime"
	"slices"
	"sync"
)

// Handshakes lets as many TLS handshakes compute at a time as there are Ps, and of those that wait the newest first: one
// that comes after hundreds waits for none of them. An old one waits only while new ones take all CPU time.
type Handshakes struct {
	mu      sync.Mutex
	busy    int
	waiting []chan struct{}
}

// Begin is a [tls.Config.GetConfigForClient], for connections of a Listener. A handshake computes until the server
// first writes: that has its signature (RFC 8446, 4.4.3).
func (h *Handshakes) Begin(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	c, ok := hello.Conn.(*Conn)
	if !ok || !h.enter(hello.Context()) {
		return nil, hello.Context().Err()
	}
	c.turn.Store(h)
	return nil, nil
}

// enter waits for a turn, and reports whether it got one.
func (h *Handshakes) enter(ctx context.Context) bool {
	h.mu.Lock()
	if h.busy < runtime.GOMAXPROCS(0) {
		h.busy++
		h.mu.Unlock()
		return true
	}
	turn := make(chan struct{})
	h.waiting = append(h.waiting, turn)
	h.mu.Unlock()
	select {
	case <-turn:
		return true
	case <-ctx.Done():
	}
	h.mu.Lock()
	i := slices.Index(h.waiting, turn)
	if i >= 0 {
		h.waiting = slices.Delete(h.waiting, i, i+1)
	}
	h.mu.Unlock()
	if i < 0 {
		h.leave() // it got one meanwhile
	}
	return false
}

// leave gives a turn to the newest that waits.
func (h *Handshakes) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.waiting) - 1; n >= 0 {
		close(h.waiting[n])
		h.waiting = h.waiting[:n]
		return
	}
	h.busy--
}
