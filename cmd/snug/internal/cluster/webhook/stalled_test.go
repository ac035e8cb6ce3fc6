// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/review"
)

// TestStalled: connections that send a header but no review do not delay other answers.
func TestStalled(t *testing.T) {
	w := New(Options{Reviewer: &review.Reviewer{Config: configured(t, "")}})
	arrived := make(chan struct{}, 100)
	h := w.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		h.ServeHTTP(rw, r)
	}))
	defer server.Close()
	for range 2 * maxParallel {
		c, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", FitByPod, maxReview)
		<-arrived
	}
	got := 0
	for range 3 { // on an overloaded machine a review arrives late
		r, err := http.Post(server.URL+FitByPod, "application/json", strings.NewReader(question))
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if got = r.StatusCode; got == 200 {
			break
		}
	}
	if got != 200 {
		t.Errorf("status %d", got)
	}
}

// deaf is a client that does not read an answer until the test lets it.
type deaf struct {
	*httptest.ResponseRecorder
	begun chan<- struct{}
	reads <-chan struct{}
}

func (d *deaf) Write(b []byte) (int, error) {
	d.begun <- struct{}{}
	<-d.reads
	return d.ResponseRecorder.Write(b)
}

// TestDeaf: clients that do not read their answers do not delay others, and hold only the memory of
// these answers.
func TestDeaf(t *testing.T) {
	w := New(Options{Reviewer: &review.Reviewer{Config: configured(t, "")}})
	begun, reads, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	const size = 1 << 20
	for range maxParallel {
		go func() {
			rw := &deaf{httptest.NewRecorder(), begun, reads}
			w.Handler().ServeHTTP(rw, httptest.NewRequest("POST", FitByPod, strings.NewReader(strings.Repeat(" ", size)+question)))
			if rw.Code != 200 {
				t.Errorf("status %d", rw.Code)
			}
			done <- struct{}{}
		}()
	}
	for range maxParallel {
		<-begun
	}
	if turns, held := len(w.turn), w.held.Load(); turns != 0 || held == 0 || held > maxParallel*smallAnswer {
		t.Errorf("%d turns are taken, %d bytes held", turns, held)
	}
	got := httptest.NewRecorder()
	if w.Handler().ServeHTTP(got, httptest.NewRequest("POST", FitByPod, strings.NewReader(question))); got.Code != 200 {
		t.Errorf("status %d", got.Code)
	}
	close(reads)
	for range maxParallel {
		<-done
	}
	if w.held.Load() != 0 {
		t.Errorf("%d bytes held", w.held.Load())
	}
}

// TestAnswers: an answer without room is refused, unless it is small; and a turn ends whatever the
// outcome.
func TestAnswers(t *testing.T) {
	w := New(Options{Reviewer: &review.Reviewer{Config: configured(t, "")}})
	m := w.metrics.of("fit/pod")
	ask := func(answer func([]byte) ([]byte, review.Outcome)) int {
		got := httptest.NewRecorder()
		w.answer(got, httptest.NewRequest("POST", FitByPod, strings.NewReader("x")), m, answer)
		return got.Code
	}
	long := func(n int) func([]byte) ([]byte, review.Outcome) {
		return func([]byte) ([]byte, review.Outcome) { return make([]byte, n), review.Fine }
	}
	for _, c := range []struct {
		held int64
		size int
		code int
	}{
		{0, 1 << 20, 200},
		{maxHeld - reserved - 1<<20, 1 << 20, 200},
		{maxHeld - reserved - 1<<20, 1<<20 + 1, 503},
		{maxHeld - smallReview, smallReview, 200},
		{maxHeld - firstBuffer, smallAnswer, 200},
		{maxHeld - firstBuffer + 1, smallAnswer, 503},
	} {
		w.held.Store(c.held)
		if code := ask(long(c.size)); code != c.code || w.held.Load() != c.held {
			t.Errorf("an answer of %d bytes beside %d: %d, then %d are held", c.size, c.held, code, w.held.Load())
		}
	}
	w.held.Store(0)
	func() {
		defer func() { _ = recover() }()
		ask(func([]byte) ([]byte, review.Outcome) { panic("x") })
		t.Error("no panic")
	}()
	if len(w.turn) != 0 || w.held.Load() != 0 {
		t.Errorf("%d turns are taken, %d bytes held", len(w.turn), w.held.Load())
	}
}

// TestHeld: reviews may hold maxHeld bytes, and release them.
func TestHeld(t *testing.T) {
	w := New(Options{Reviewer: &review.Reviewer{Config: configured(t, "")}})
	ask := func() int {
		got := httptest.NewRecorder()
		w.Handler().ServeHTTP(got, httptest.NewRequest("POST", FitByPod, strings.NewReader(question)))
		return got.Code
	}
	w.held.Store(maxHeld - firstBuffer + 1)
	if code := ask(); code != 503 {
		t.Errorf("full: %d", code)
	}
	w.held.Store(maxHeld - firstBuffer)
	if code := ask(); code != 200 || w.held.Load() != maxHeld-firstBuffer {
		t.Errorf("with room: %d, %d held", code, w.held.Load())
	}
}

// TestRead: a body of any length is read whole, and what it takes is counted before.
func TestRead(t *testing.T) {
	for _, n := range []int{0, 1, firstBuffer - 1, firstBuffer, firstBuffer + 1, 300_000, maxReview} {
		var all atomic.Int64
		h := &held{all: &all}
		text := strings.Repeat("x", n)
		buffer := new([]byte)
		if err := h.read(iotest.DataErrReader(strings.NewReader(text)), buffer); err != nil || string(*buffer) != text || all.Load() < int64(cap(*buffer)) {
			t.Errorf("%d bytes: %v, %d bytes, %d held of %d", n, err, len(*buffer), all.Load(), cap(*buffer))
		}
		if err := h.read(iotest.OneByteReader(strings.NewReader("again")), buffer); err != nil || string(*buffer) != "again" {
			t.Errorf("%d bytes before: %v, %.10q", n, err, *buffer)
		}
	}
	var all atomic.Int64
	all.Store(maxHeld - reserved - 1<<20)
	h, buffer := &held{all: &all}, new([]byte)
	if err := h.read(strings.NewReader(strings.Repeat("x", 2<<20)), buffer); err != errBusy || cap(*buffer) > 1<<20 {
		t.Errorf("%v, %d bytes", err, cap(*buffer))
	}
	if h.hold(0); all.Load() != maxHeld-reserved-1<<20 {
		t.Errorf("%d", all.Load())
	}
}
