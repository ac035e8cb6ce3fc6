// SPDX-License-Identifier: Apache-2.0

package load

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// tally counts the requests of a warm-up or a window. Times count from its start.
type tally struct {
	start   time.Time
	length  time.Duration
	open    bool          // whether requests have a due time
	timeout time.Duration // for messages

	mu         sync.Mutex
	sent       int64
	ops        int64
	inWindow   int64
	errors     int64
	unfinished int64
	first      string
	latency    Samples
	lateness   Samples
	slices     []part // nil is none
}

// part counts a slice of the window.
type part struct {
	ops, errors int64
	latency     Samples
}

func newTally(p Plan, length time.Duration, expected float64) *tally {
	t := &tally{length: length, open: p.Kind == Open, timeout: p.Timeout}
	room := int(min(expected*1.1, maxRaw)) + 100
	t.latency.raw = make([]int64, 0, room)
	if t.open {
		t.lateness.raw = make([]int64, 0, room)
	}
	t.start = time.Now()
	return t
}

// slice makes the tally count n slices of equal length too. It must be called before any request.
func (t *tally) slice(n int) { t.slices = make([]part, n) }

// part returns the slice that holds a moment; nil if there are none.
func (t *tally) part(at time.Duration) *part {
	if len(t.slices) == 0 || at >= t.length {
		return nil
	}
	return &t.slices[int(float64(len(t.slices))*float64(at)/float64(t.length))]
}

func (t *tally) now() time.Duration { return time.Since(t.start) }

// end counts a request that was sent and has ended.
func (t *tally) end(j job, end time.Duration, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent++
	if t.open {
		t.lateness.Add(j.sent - j.due)
	}
	part := t.part(end)
	if err != nil {
		t.fail(j, err)
		if part != nil {
			part.errors++
		}
		return
	}
	if part != nil {
		part.ops++
		part.latency.Add(end - j.due)
	}
	t.ops++
	if end < t.length {
		t.inWindow++
	}
	t.latency.Add(end - j.due)
}

// drop counts a request that was due and could not be sent.
func (t *tally) drop(j job, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent++
	t.fail(j, err)
}

// cut counts a request that the end of the window cut off.
func (t *tally) cut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent++
	t.unfinished++
}

func (t *tally) fail(j job, err error) {
	t.errors++
	if t.first == "" {
		if isTimeout(err) {
			err = fmt.Errorf("no complete answer within %v", t.timeout)
		}
		t.first = fmt.Sprintf("%v, %s", err, j.target.url)
	}
}

func isTimeout(err error) bool {
	var e interface{ Timeout() bool }
	return errors.As(err, &e) && e.Timeout()
}

// result returns the counts. Nothing may be added after it.
func (t *tally) result(elapsed time.Duration) Result {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ops == 0 && t.errors == 0 && t.unfinished > 0 {
		// No user of a closed loop got an answer: these are errors.
		t.errors, t.unfinished = t.unfinished, 0
		t.first = fmt.Sprintf("no answer in the whole window of %v", t.length)
	}
	for _, s := range []*Samples{&t.latency, &t.lateness} {
		s.Done()
	}
	var slices []Slice
	for i := range t.slices {
		p := &t.slices[i]
		p.latency.Done()
		slices = append(slices,
			Slice{Ops: p.ops, Errors: p.errors, P50: p.latency.Quantile(0.50, 0), P95: p.latency.Quantile(0.95, 0)})
	}
	return Result{
		Window: t.length.Seconds(), Elapsed: elapsed.Seconds(),
		Sent: t.sent, Ops: t.ops, InWindow: t.inWindow, Errors: t.errors,
		FirstError: t.first, Unfinished: t.unfinished,
		RPS:         float64(t.inWindow) / t.length.Seconds(),
		Latency:     t.latency.Histogram(),
		P50:         t.latency.Quantile(0.50, 0),
		P95:         t.latency.Quantile(0.95, 0),
		P99:         t.latency.Quantile(0.99, 0),
		Max:         t.latency.Largest(),
		LatenessP99: t.lateness.Quantile(0.99, 0),
		LatenessMax: t.lateness.Largest(),
		Slices:      slices,
	}
}
