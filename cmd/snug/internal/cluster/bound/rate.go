// SPDX-License-Identifier: Apache-2.0

package bound

import (
	"maps"
	"net/netip"
	"sync"
	"time"
)

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
