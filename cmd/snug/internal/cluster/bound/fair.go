// SPDX-License-Identifier: Apache-2.0

package bound

import (
	"container/list"
	"context"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Fair gives turns for work, as many at a time as there are Ps. So what clients send at once is not at once in the
// queues of Go's scheduler, where the work of all others would wait behind it. The next turn is of the client whose
// turns took least, and of several the one that waits the shortest: one that comes after hundreds waits for none of
// them.
type Fair struct {
	Rate Rate          // what a client may do without turns; none if it is zero
	Wait time.Duration // bounds a wait

	mu            sync.Mutex
	busy, waiting int           // turns, and who waits for one
	least         time.Duration // what the turns took of the client that got the last one
	clients       map[netip.Addr]*client
	pipe          *os.File  // see next
	asked         int       // turns that were asked of it
	looked        time.Time // when it gave the last one
}

// client is one that waits for turns, or did. What its turns took is at least what least was when it began to wait.
type client struct {
	took    time.Duration
	since   time.Time
	waiting list.List // of chan struct{}
}

const (
	// workCost is the CPU time of a request, or of what a connection receives at once.
	workCost = ConnCost / 20
	// lookEvery is how long turns are given without a look at the network.
	lookEvery = ConnCost / 5
	// maxIdle bounds the clients that a Fair knows, but for those that wait.
	maxIdle = 512
)

// turn is one that its owner may have.
type turn struct{ leave atomic.Pointer[func()] }

// end gives it back.
func (t *turn) end() {
	if leave := t.leave.Swap(nil); leave != nil {
		(*leave)()
	}
}

// begin waits for a turn if a client needs one, and reports whether it has waited long enough. Work that goes on
// is before what its client begins.
func (t *turn) begin(ctx context.Context, f *Fair, from netip.Addr, on bool) bool {
	if !f.Rate.Spend(from, workCost) {
		return true
	}
	got := make(chan struct{})
	f.mu.Lock()
	c := f.client(from)
	at := c.waiting.PushBack(got)
	if on {
		c.waiting.MoveToFront(at)
	}
	f.waiting++
	f.next()
	f.mu.Unlock()
	timer := time.NewTimer(f.Wait)
	defer timer.Stop()
	select {
	case <-got:
	case <-timer.C:
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-got:
	default:
		c.waiting.Remove(at)
		f.waiting--
		return false
	}
	begin := time.Now()
	leave := func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.busy--
		c.took += time.Since(begin)
		f.next()
	}
	t.leave.Store(&leave)
	return true
}

// client returns one that begins to wait.
func (f *Fair) client(from netip.Addr) *client {
	c := f.clients[from]
	if c == nil {
		if c = (&client{}); len(f.clients) >= maxIdle {
			maps.DeleteFunc(f.clients, func(_ netip.Addr, c *client) bool { return c.waiting.Len() == 0 })
		}
		if f.clients == nil {
			f.clients = map[netip.Addr]*client{}
		}
		f.clients[from] = c
	}
	if c.waiting.Len() == 0 {
		c.took, c.since = max(c.took, f.least), time.Now()
	}
	return c
}

// next gives a turn if there is one. Go's scheduler looks at the network only if it has nothing else to run, or after
// 10 ms. So at times a turn is given by a goroutine that waits for a pipe: what has come before it runs before it.
func (f *Fair) next() {
	if f.asked >= f.waiting || f.busy+f.asked >= runtime.GOMAXPROCS(0) {
		return
	}
	if f.pipe == nil {
		if here, there, err := os.Pipe(); err == nil {
			f.pipe = there
			go f.look(here)
		}
	}
	if f.pipe == nil || time.Since(f.looked) < lookEvery {
		f.give()
		return
	}
	f.asked++
	_, _ = f.pipe.Write([]byte{0})
}

func (f *Fair) look(pipe io.Reader) {
	for {
		_, _ = pipe.Read(make([]byte, 1))
		f.mu.Lock()
		f.asked--
		f.looked = time.Now()
		f.give()
		f.mu.Unlock()
	}
}

func (f *Fair) give() {
	var next *client
	for _, c := range f.clients {
		if c.waiting.Len() > 0 && (next == nil || c.took < next.took || c.took == next.took && c.since.After(next.since)) {
			next = c
		}
	}
	if next == nil {
		return
	}
	f.busy++
	f.waiting--
	f.least = max(f.least, next.took)
	close(next.waiting.Remove(next.waiting.Front()).(chan struct{}))
}

// task is a request. Its work has a turn, but not while it waits for its client, and ends with its answer.
type task struct {
	http.ResponseWriter
	io.ReadCloser // the body
	turn
	conn *Conn
}

func (t *task) Read(p []byte) (int, error) {
	t.end()
	defer t.begin(context.Background(), t.conn.fair, t.conn.client, true)
	return t.ReadCloser.Read(p)
}

func (t *task) Write(p []byte) (int, error) {
	t.end()
	return t.ResponseWriter.Write(p)
}

// Rest ends the turn of a request, by its body, before it waits for something else than its client.
func Rest(body io.ReadCloser) {
	if t, ok := body.(*task); ok {
		t.end()
	}
}

// Unwrap is for a [http.ResponseController].
func (t *task) Unwrap() http.ResponseWriter {
	t.end()
	return t.ResponseWriter
}
