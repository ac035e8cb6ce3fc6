// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
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

// held returns the memory of all reviews.
func held(w *Webhook) int64 { n, _ := w.bytes.Held(); return n }

// TestDeaf: clients that do not read their answers do not delay others, and hold only the memory of
// these answers.
func TestDeaf(t *testing.T) {
	w := New(Options{Reviewer: &review.Reviewer{Config: configured(t, "")}})
	begun, reads, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	const size = 1 << 17 // all of them are of one client, which may hold a quarter of the memory
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
	if n := held(w); n == 0 || n > maxParallel*firstBuffer {
		t.Errorf("%d bytes held", n)
	}
	got := httptest.NewRecorder()
	if w.Handler().ServeHTTP(got, httptest.NewRequest("POST", FitByPod, strings.NewReader(question))); got.Code != 200 {
		t.Errorf("status %d", got.Code)
	}
	close(reads)
	for range maxParallel {
		<-done
	}
	if held(w) != 0 {
		t.Errorf("%d bytes held", held(w))
	}
}

// TestAnswers: an answer of more than a quarter of the memory is refused, and a turn and the memory are given back
// whatever the outcome.
func TestAnswers(t *testing.T) {
	w := New(Options{Reviewer: &review.Reviewer{Config: configured(t, "")}})
	m := w.metrics.of("fit/pod")
	ask := func(answer func([]byte) ([]byte, review.Outcome)) int {
		got := httptest.NewRecorder()
		w.answer(got, httptest.NewRequest("POST", FitByPod, strings.NewReader("x")), m, answer)
		return got.Code
	}
	for size, want := range map[int]int{1 << 20: 200, maxHeld / 4: 200, maxHeld/4 + 1: 503} {
		if code := ask(func([]byte) ([]byte, review.Outcome) { return make([]byte, size), review.Fine }); code != want || held(w) != 0 {
			t.Errorf("an answer of %d bytes: %d, then %d are held", size, code, held(w))
		}
	}
	for range maxParallel { // more than the client has turns
		func() {
			defer func() { _ = recover() }()
			ask(func([]byte) ([]byte, review.Outcome) { panic("x") })
			t.Error("no panic")
		}()
	}
	if code := ask(func([]byte) ([]byte, review.Outcome) { return nil, review.Fine }); code != 200 || held(w) != 0 {
		t.Errorf("%d, %d bytes held", code, held(w))
	}
}

// TestRead: a body of any length is read whole, and what it takes is counted before.
func TestRead(t *testing.T) {
	w := New(Options{Reviewer: &review.Reviewer{Config: configured(t, "")}})
	for _, n := range []int{0, 1, firstBuffer - 1, firstBuffer, firstBuffer + 1, minBuffer, 300_000, maxReview} {
		memory := w.bytes.Open(netip.Addr{}, func() {})
		text := strings.Repeat("x", n)
		got, again, err := w.read(iotest.DataErrReader(strings.NewReader(text)), memory)
		if err != nil || string(got) != text || held(w) != int64(cap(got)) {
			t.Errorf("%d bytes: %v, %d bytes, %d held of %d", n, err, len(got), held(w), cap(got))
		}
		if again != nil {
			w.keep(again)
		}
		if memory.Close(); held(w) != 0 {
			t.Errorf("%d bytes: %d held", n, held(w))
		}
	}
	w.bytes.Max = 4 << 20
	memory := w.bytes.Open(netip.Addr{}, func() {})
	if got, _, err := w.read(strings.NewReader(strings.Repeat("x", 2<<20)), memory); err != errShare || cap(got) > 1<<19 {
		t.Errorf("%v, %d bytes", err, cap(got))
	}
}
