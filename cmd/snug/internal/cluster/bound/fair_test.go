// SPDX-License-Identifier: Apache-2.0

package bound

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// until waits for a condition.
func until(met func() bool) {
	for !met() {
		time.Sleep(time.Millisecond)
	}
}

// counts returns how many have a turn of f, and how many wait for one.
func (f *Fair) counts() (busy, waiting int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.busy, f.waiting
}

func addr(n byte) netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, n}) }

// fill takes all turns of f for a client.
func (f *Fair) fill(client byte) (leave []*turn) {
	for range runtime.GOMAXPROCS(0) {
		leave = append(leave, new(turn))
		leave[len(leave)-1].begin(context.Background(), f, addr(client), false)
	}
	return leave
}

// TestFair: the next turn is of the client whose turns took least, of several of the newest, and of a client of its
// work that goes on and then its oldest. One that is gone takes no turn with it, and one within its rate waits for none.
func TestFair(t *testing.T) {
	for _, c := range []struct {
		name  string
		waits string // clients in the order in which they begin to wait; upper case: the work goes on
		gone  string // of these
		want  string
	}{
		{"newest first", "abc", "", "cba"},
		{"in turns", "aaabc", "", "cbaaa"},
		{"what took less", "zab", "", "baz"}, // z has all turns
		{"what goes on", "aabA", "", "bAaa"},
		{"gone", "abcd", "db", "ca"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &Fair{Wait: time.Hour}
			leave := f.fill('z')
			type next struct {
				who rune
				*turn
			}
			got := make(chan next)
			var leaving []func()
			for i, who := range c.waits {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if strings.ContainsRune(c.gone, who) {
					leaving = append(leaving, cancel)
				}
				low := strings.ToLower(string(who))
				go func() {
					n := next{who, new(turn)}
					if n.begin(ctx, f, addr(low[0]), low != string(who)) {
						got <- n
					}
				}()
				until(func() bool { _, waiting := f.counts(); return waiting == i+1 })
			}
			for _, cancel := range leaving {
				cancel()
			}
			until(func() bool { _, waiting := f.counts(); return waiting == len(c.waits)-len(c.gone) })
			order := ""
			for range c.want {
				leave[0].end()
				n := <-got
				order += string(n.who)
				leave[0] = n.turn
			}
			for _, turn := range leave {
				turn.end()
			}
			if busy, waiting := f.counts(); order != c.want || busy != 0 || waiting != 0 {
				t.Errorf("in the order %q, want %q; %d turns, %d wait", order, c.want, busy, waiting)
			}
		})
	}
	f := &Fair{Rate: Rate{Share: 1e-9, Burst: 2 * workCost}, Wait: time.Hour}
	f.Rate.Spend(addr('z'), time.Hour)
	f.fill('z')
	for i, want := range []bool{true, true, false} {
		var own turn
		gone, leave := context.WithCancel(t.Context())
		leave()
		if own.begin(gone, f, addr('a'), false) != want || own.leave.Load() != nil {
			t.Errorf("work %d of a client that may do two without a turn: want %v, and no turn", i+1, want)
		}
	}
}

// TestFairClients: a Fair knows few clients that do not wait, and all that do.
func TestFairClients(t *testing.T) {
	f := &Fair{Wait: time.Hour}
	for i := range 3 * maxIdle {
		var own turn
		own.begin(t.Context(), f, netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), false)
		own.end()
	}
	if len(f.clients) > maxIdle {
		t.Errorf("%d clients", len(f.clients))
	}
	leave := f.fill('z')
	done := make(chan *turn)
	for i := range 2 * maxIdle {
		go func() {
			own := new(turn)
			own.begin(t.Context(), f, netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), false)
			done <- own
		}()
	}
	until(func() bool { _, waiting := f.counts(); return waiting == 2*maxIdle })
	leave[0].end()
	for range 2 * maxIdle {
		(<-done).end()
	}
}

// TestFairRequests: a request has a turn while it works, and none while it waits for its body, or for its client to
// read the answer. In each case more wait than there are turns, and one more is answered.
func TestFairRequests(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		most := runtime.GOMAXPROCS(0)
		work, may := make(chan struct{}), make(chan struct{})
		l, requests, url := served(t, 1<<10, 1<<10, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/work":
				work <- struct{}{}
				<-may
			case "/body":
				_, _ = io.ReadAll(r.Body)
			case "/deaf":
				_, _ = io.WriteString(w, strings.Repeat("x", 8<<20))
			}
		}))
		client := from(t, "127.0.0.2", h2)
		ended := make(chan error, 1<<10)
		ask := func(path string, body io.Reader) {
			go func() {
				r, err := client.Post(url+path, "", body)
				if err == nil && r.StatusCode != 200 {
					err = fmt.Errorf("%s", r.Status)
				}
				ended <- err
				if err == nil && path != "/deaf" {
					r.Body.Close()
				}
			}()
		}
		one := func(what string) {
			t.Helper()
			if ask("/", nil); <-ended != nil {
				t.Errorf("HTTP/2 %t: none is answered while others wait for %s", h2, what)
			}
		}
		var bodies []*io.PipeWriter
		for range most + 1 {
			r, w := io.Pipe()
			bodies = append(bodies, w)
			ask("/body", r)
		}
		until(func() bool { return now(requests) == int64(most)+1 })
		one("their bodies")
		for _, w := range bodies {
			w.Close()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		for range most + 1 {
			ask("/deaf", nil)
		}
		until(func() bool { return now(requests) == int64(most)+1 })
		one("their readers")
		for range most + 1 {
			<-ended
		}
		for range most {
			ask("/work", nil)
			<-work
		}
		ask("/work", nil)
		until(func() bool { busy, waiting := l.Fair.counts(); return busy == most && waiting > 0 })
		select {
		case <-work:
			t.Errorf("HTTP/2 %t: more work than turns", h2)
		default:
		}
		may <- struct{}{}
		<-work // of the one that waited
		for range most {
			may <- struct{}{}
		}
		for range most + 1 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
}

// TestLittle: a connection that sends little again and again, and no request, waits before it is read.
func TestLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer here.Close()
		defer there.Close()
		c := &Conn{Conn: here, fair: &Fair{Rate: Rate{Share: 1, Burst: time.Hour}}, open: t.Context()}
		c.wrote.Store(true)
		for _, step := range []struct {
			reads, size int
			request     bool // before them
			want        int  // reads that wait
		}{{maxLittle, 1, false, 0}, {3, littleSize, false, 3}, {maxLittle, 1, true, 0}, {1, littleSize + 1, false, 1}, {maxLittle, 1, false, 0}} {
			if step.request {
				c.little.Store(0)
			}
			begin := time.Now()
			for range step.reads {
				go there.Write(make([]byte, step.size))
				if n, err := c.Read(make([]byte, 2*littleSize)); n != step.size || err != nil {
					t.Fatal(n, err)
				}
			}
			if took := time.Since(begin); took != time.Duration(step.want)*littleWait {
				t.Errorf("%+v: %v", step, took)
			}
		}
	})
}
