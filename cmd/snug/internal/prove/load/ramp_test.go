// SPDX-License-Identifier: Apache-2.0

package load

import (
	"net/http"
	"sync"
	"testing"
	"time"
)

// TestActive: the number of users of a ramp, at the middle of each of its steps.
func TestActive(t *testing.T) {
	for _, c := range []struct {
		from, to int
		want     []int
	}{
		{2, 5, []int{2, 3, 4, 5}}, {5, 2, []int{5, 4, 3, 2}}, {3, 3, []int{3, 3, 3, 3}}, {3, 0, []int{3, 3, 3, 3}}, {1, 4, []int{1, 2, 3, 4}},
	} {
		const length = 4 * time.Second
		l := newClosedLoop(Plan{Kind: Closed, Connections: c.from, To: c.to}, nil)
		for k, want := range c.want {
			at := time.Duration(k)*time.Second + 500*time.Millisecond
			warm, window := 0, 0
			for i := range l.users {
				if from, until := l.active(i, length, streamWarm); from <= at && at < until {
					warm++
				}
				if from, until := l.active(i, length, streamWindow); from <= at && at < until {
					window++
				}
			}
			if warm != c.from || window != want {
				t.Errorf("%d..%d at %s: %d in the warm-up, %d in the window; want %d and %d", c.from, c.to, at, warm, window, c.from, want)
			}
		}
	}
}

// TestRamp: the service sees no more users than there are at the end, the slices add up to the whole,
// and the last ones had more users than the first. Each answer waits for a time, so that throughput
// follows the number of users.
func TestRamp(t *testing.T) {
	for _, c := range []struct {
		from, to int
		how      Plan
	}{{1, 12, Plan{}}, {12, 1, Plan{}}, {1, 12, Plan{HTTP2: true}}, {12, 1, Plan{GRPC: "greet.Greeter/Hello"}}} {
		var mu sync.Mutex
		now, most, other := 0, 0, 0
		s := serve2(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			now++
			most = max(most, now)
			if (r.ProtoMajor == 2) != (c.how.HTTP2 || c.how.GRPC != "") {
				other++
			}
			mu.Unlock()
			w.Header().Set("Grpc-Status", "0") // that of an answer without a message
			time.Sleep(20 * time.Millisecond)
			mu.Lock()
			now--
			mu.Unlock()
		})
		p := Plan{URLs: []string{s.URL}, Kind: Closed, Connections: c.from, To: c.to, Slices: 4, Warm: 50 * time.Millisecond, Window: time.Second}
		p.HTTP2, p.GRPC = c.how.HTTP2, c.how.GRPC
		follows := func(r Result) bool { // where others have the CPU, only a longer ramp does
			return len(r.Slices) == 4 && (r.Slices[3].Ops > r.Slices[0].Ops) == (c.to > c.from)
		}
		_, r := enough(t, p, func(_ Plan, r Result) bool { return r.Ops > 100 && follows(r) })
		if most > 12 || other > 0 {
			t.Errorf("%+v: %d users at a time, %d requests in another protocol", c, most, other)
		}
		if len(r.Slices) != 4 {
			t.Fatalf("%d..%d: %d slices", c.from, c.to, len(r.Slices))
		}
		sum := Slice{}
		for i, s := range r.Slices {
			sum.Ops += s.Ops
			sum.Errors += s.Errors
			if s.Ops > 0 && (s.P50 == nil || *s.P50 < 0.02 || *s.P95 < *s.P50) {
				t.Errorf("%d..%d: slice %d has %d answers, P50 %v, P95 %v", c.from, c.to, i, s.Ops, s.P50, s.P95)
			}
		}
		if sum.Ops != r.Ops || sum.Errors != r.Errors {
			t.Errorf("%d..%d: the slices have %d answers and %d errors, the window %d and %d", c.from, c.to, sum.Ops, sum.Errors, r.Ops, r.Errors)
		}
		if !follows(r) {
			t.Errorf("%d..%d: %d answers in the first slice, %d in the last", c.from, c.to, r.Slices[0].Ops, r.Slices[3].Ops)
		}
	}
}

func TestRampPlans(t *testing.T) {
	good := Plan{URLs: []string{"http://127.0.0.1:1/"}, Kind: Closed, Connections: 1, To: 2, Slices: 3, Window: time.Second}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Plan){
		"too many users": func(p *Plan) { p.To = maxOutstanding + 1 }, "fewer than none": func(p *Plan) { p.To = -1 },
		"too many slices": func(p *Plan) { p.Slices = maxSlices + 1 }, "open loop": func(p *Plan) { p.Kind, p.Rate = Open, 1 },
	} {
		p := good
		if change(&p); p.Check() == nil {
			t.Errorf("%s is not refused", name)
		}
	}
}
