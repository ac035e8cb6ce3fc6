// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"io"
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

// TestAnswers: an answer of a quarter of the memory is refused, and a turn and the memory are given back
// whatever the outcome.
func TestAnswers(t *testing.T) {
	w := New(Options{Reviewer: &review.Reviewer{Config: configured(t, "")}})
	m := w.metrics.of("fit/pod")
	ask := func(answer func([]byte) ([]byte, review.Outcome)) int {
		got := httptest.NewRecorder()
		w.answer(got, httptest.NewRequest("POST", FitByPod, strings.NewReader("x")), m, answer)
		return got.Code
	}
	for size, want := range map[int]int{1 << 20: 200, maxHeld / 5: 200, maxHeld / 4: 503} {
		if code := ask(func([]byte) ([]byte, review.Outcome) { return make([]byte, size), review.Other }); code != want || held(w) != 0 {
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
	if code := ask(func([]byte) ([]byte, review.Outcome) { return nil, review.Other }); code != 200 || held(w) != 0 {
		t.Errorf("%d, %d bytes held", code, held(w))
	}
}

// gone is a client that is gone before its answer, which Write or Flush says.
type gone struct {
	*httptest.ResponseRecorder
	write, flush error
}

func (g *gone) Write([]byte) (int, error) { return 0, g.write }
func (g *gone) FlushError() error         { return g.flush }

// TestGone: a review counts as answered if its answer is sent, and else as cut.
func TestGone(t *testing.T) {
	w := New(Options{Reviewer: &review.Reviewer{Config: configured(t, "")}})
	h := w.Handler()
	for _, rw := range []*gone{{}, {write: io.ErrClosedPipe}, {flush: io.ErrClosedPipe}} {
		rw.ResponseRecorder = httptest.NewRecorder()
		h.ServeHTTP(rw, httptest.NewRequest("POST", FitByPod, strings.NewReader(question)))
	}
	m := w.metrics.paths["fit/pod"]
	if answered, cut := m.outcomes[review.Patched].Load(), m.reasons["cut"].Load(); answered != 1 || cut != 2 || m.count != 1 {
		t.Errorf("%d answered, %d timed, %d cut", answered, m.count, cut)
	}
}

// TestRead: a body of any length, known or not, is read whole, and what it takes is counted before.
func TestRead(t *testing.T) {
	w := New(Options{Reviewer: &review.Reviewer{Config: configured(t, "")}})
	asks := func(n int, length int64) *http.Request {
		r := httptest.NewRequest("POST", FitByPod, iotest.DataErrReader(strings.NewReader(strings.Repeat("x", n))))
		r.ContentLength = length
		return r
	}
	for _, n := range []int{0, 1, firstBuffer - 1, firstBuffer, firstBuffer + 1, growth * firstBuffer, 300_000, maxReview} {
		for _, length := range []int{n, -1} {
			memory := w.bytes.Open(netip.Addr{}, func() {})
			got, why := read(asks(n, int64(length)), memory)
			if why != nil || len(got) != n || held(w) != int64(cap(got)) || length == n && cap(got) > n+1 {
				t.Errorf("%d bytes: %v, %d bytes, %d held of %d", n, why, len(got), held(w), cap(got))
			}
			if memory.Close(); held(w) != 0 {
				t.Errorf("%d bytes: %d held", n, held(w))
			}
		}
	}
	w.bytes.Max = 4 << 20
	for _, length := range []int64{-1, 2 << 20, maxReview} {
		memory := w.bytes.Open(netip.Addr{}, func() {})
		if _, why := read(asks(2<<20, length), memory); why != refusedShare || held(w) > 1<<18 {
			t.Errorf("%v, %d bytes held", why, held(w))
		}
		memory.Close()
	}
}

// waiting is a body that has sent its beginning, and sends the rest when it may.
type waiting struct {
	begin, rest io.Reader
	sent        chan<- struct{}
	may         <-chan struct{}
}

func (b *waiting) Read(p []byte) (int, error) {
	if n, err := b.begin.Read(p); err == nil {
		return n, nil
	}
	if b.sent != nil {
		b.sent <- struct{}{}
		b.sent = nil
	}
	<-b.may
	return b.rest.Read(p)
}

// TestLargeBesideSmall: beside 50 small reviews of a client its large one is answered, and a second that has no room
// is refused. None of the small ones is lost.
func TestLargeBesideSmall(t *testing.T) {
	w := New(Options{Reviewer: &review.Reviewer{Config: configured(t, "")}})
	h := w.Handler()
	large, small := strings.Repeat(" ", 6<<20)+question, strings.Repeat(" ", 10<<10)+question
	ask := func(text string, body io.Reader) int {
		got := httptest.NewRecorder()
		r := httptest.NewRequest("POST", FitByPod, body)
		r.ContentLength = int64(len(text)) // as of an API server
		h.ServeHTTP(got, r)
		return got.Code
	}
	sent, may, never := make(chan struct{}), make(chan struct{}), make(chan struct{})
	codes := make(chan int, 60)
	begin := func(text string, at int, may <-chan struct{}) {
		t.Helper()
		go func() {
			codes <- ask(text, &waiting{strings.NewReader(text[:at]), strings.NewReader(text[at:]), sent, may})
		}()
		select {
		case <-sent:
		case code := <-codes:
			t.Fatalf("%d before its end", code)
		}
	}
	for range 50 {
		begin(small, 10<<10, may)
	}
	if code := ask(large, strings.NewReader(large)); code != 200 {
		t.Errorf("the large one: %d", code)
	}
	begin(large, 6<<20, never)
	if code := ask(large, strings.NewReader(large)); code != 503 {
		t.Errorf("the second large one: %d", code)
	}
	if code := ask(small, strings.NewReader(small)); code != 200 {
		t.Errorf("a small one beside the large one: %d", code)
	}
	close(may)
	for range 50 {
		if code := <-codes; code != 200 {
			t.Errorf("a small one: %d", code)
		}
	}
	if close(never); <-codes != 200 || held(w) != 0 {
		t.Errorf("%d bytes held", held(w))
	}
}
