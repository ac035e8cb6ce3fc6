// SPDX-License-Identifier: Apache-2.0

// Package webhook serves the answers of package review to API servers, with TLS, and its own state
// to kubelets and Prometheus, without TLS.
package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/review"
	"github.com/snug-go/snug/cmd/snug/internal/profile/promtext"
)

// Paths for API servers. Package review explains the first two.
const (
	FitByPod       = "/fit/pod"
	FitByNamespace = "/fit/namespace"
	Resize         = "/resize"
)

const (
	// maxReview bounds a review, in bytes. An object is sent with at most 3 MiB, and the
	// review of an update has two.
	maxReview = 8 << 20
	// maxHeader bounds the header of a request, in bytes.
	maxHeader = 16 << 10
	// maxHeld bounds the reviews being read and the answers being written, together, in
	// bytes.
	maxHeld = 64 << 20
	// smallAnswer is the length up to which an answer is never refused, in bytes: it takes no
	// more memory than its connection.
	smallAnswer = 64 << 10
	// maxParallel bounds the reviews being answered. Others wait.
	maxParallel = 16
	// turnTimeout bounds the wait of a review. Then the answer is 503, and the API server
	// creates the pod as it is.
	turnTimeout = 2 * time.Second
	// readTimeout bounds the time to read a review, in HTTP/2 of each by itself. An API server
	// waits for 2 s.
	readTimeout = 3 * time.Second
	// writeTimeout bounds the time to write an answer.
	writeTimeout = 10 * time.Second
	// idleTimeout closes a connection without reviews. An API server closes it after 90 s. A
	// longer timeout here avoids closing it just as a review arrives.
	idleTimeout = 3 * time.Minute
	// shutdownTimeout bounds the time for reviews in progress after the drain.
	shutdownTimeout = 10 * time.Second
)

// Options configure a webhook.
type Options struct {
	Reviewer *review.Reviewer
	// Certificate returns the certificate, for each handshake.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Ready returns why the webhook is not ready; a nil Ready is always ready.
	Ready func() error
	// Drain is how long to keep serving after the end of the context, until the endpoints of
	// the service are updated.
	Drain time.Duration
	// More are further metrics.
	More []func(*promtext.Page)
	Note func(string) // prints a note for the operator; nil = none
}

// Webhook is the server of a webhook.
type Webhook struct {
	o       Options
	turn    chan struct{}
	held    atomic.Int64 // bytes of reviews and answers
	buffers sync.Pool
	ending  atomic.Bool
	metrics *metrics
}

// New returns a server.
func New(o Options) *Webhook {
	if o.Note == nil {
		o.Note = func(string) {}
	}
	if o.Ready == nil {
		o.Ready = func() error { return nil }
	}
	w := &Webhook{o: o, turn: make(chan struct{}, maxParallel), metrics: &metrics{more: o.More}}
	w.buffers.New = func() any { return new(bytes.Buffer) }
	return w
}

// Serve serves API servers on reviews, with TLS, and others on state, until ctx ends. Then it is no
// longer ready, keeps serving for Drain, finishes the requests in progress, and returns. It closes
// both listeners.
func (w *Webhook) Serve(ctx context.Context, reviews, state net.Listener) error {
	server := func(h http.Handler) *http.Server {
		return &http.Server{
			Handler: h, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
			ErrorLog: quietLog(w.o.Note),
		}
	}
	main, side := server(w.Handler()), server(w.State())
	main.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: w.o.Certificate}
	failed := make(chan error, 2)
	go func() { failed <- main.ServeTLS(reviews, "", "") }()
	go func() { failed <- side.Serve(state) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		w.ending.Store(true)
		select {
		case err = <-failed:
		case <-time.After(w.o.Drain):
		}
	}
	late, stop := context.WithTimeout(context.Background(), shutdownTimeout)
	defer stop()
	for _, s := range []*http.Server{main, side} {
		if e := s.Shutdown(late); errors.Is(e, context.DeadlineExceeded) {
			_ = s.Close()
		}
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// Handler returns the handler of reviews.
func (w *Webhook) Handler() http.Handler {
	mux := http.NewServeMux()
	for path, answer := range map[string]func([]byte) ([]byte, review.Outcome){
		FitByPod:       func(q []byte) ([]byte, review.Outcome) { return w.o.Reviewer.Fit(q, review.ByPod) },
		FitByNamespace: func(q []byte) ([]byte, review.Outcome) { return w.o.Reviewer.Fit(q, review.ByNamespace) },
		Resize:         w.o.Reviewer.Resize,
	} {
		m := w.metrics.of(strings.TrimPrefix(path, "/"))
		mux.HandleFunc("POST "+path, func(rw http.ResponseWriter, r *http.Request) { w.answer(rw, r, m, answer) })
	}
	return mux
}

// answer reads a review, waits for a turn and answers it.
func (w *Webhook) answer(rw http.ResponseWriter, r *http.Request, m *pathMetrics, answer func([]byte) ([]byte, review.Outcome)) {
	begin := time.Now()
	if w.ending.Load() {
		// The next review should go to another replica. HTTP/2 still answers reviews in
		// flight. HTTP/1.1 would take a third less CPU time, but can lose a review on a
		// connection that closes.
		rw.Header().Set("Connection", "close")
	}
	body := &heldReader{from: http.MaxBytesReader(rw, r.Body, maxReview), all: &w.held}
	defer body.hold(0)
	text, outcome, err := w.ask(r, body, answer)
	if err == nil && !body.hold(cap(text)) && cap(text) > smallAnswer {
		err = errBusy
	}
	if err != nil {
		var large *http.MaxBytesError
		switch {
		case errors.Is(err, errBusy):
			m.refused("busy")
			rw.Header().Set("Retry-After", "1")
			http.Error(rw, err.Error(), http.StatusServiceUnavailable)
		case errors.As(err, &large):
			m.refused("large")
			http.Error(rw, "the review is too large", http.StatusRequestEntityTooLarge)
		default:
			m.refused("cut")
			http.Error(rw, "the review is truncated", http.StatusBadRequest)
		}
		return
	}
	// A client that does not read the answer holds its memory, but no turn.
	rw.Header().Set("Content-Type", "application/json")
	_, _ = rw.Write(text)
	m.done(outcome, time.Since(begin))
}

// ask reads a review, waits for a turn and returns the answer.
func (w *Webhook) ask(r *http.Request, body io.Reader, answer func([]byte) ([]byte, review.Outcome)) ([]byte, review.Outcome, error) {
	buffer := w.buffers.Get().(*bytes.Buffer)
	defer w.keep(buffer)
	if n := r.ContentLength; n > 0 {
		buffer.Grow(int(min(n, 64<<10)) + bytes.MinRead)
	}
	if _, err := buffer.ReadFrom(body); err != nil {
		return nil, "", err
	}
	if !w.take(r.Context()) {
		return nil, "", errBusy
	}
	defer w.leave()
	text, outcome := answer(buffer.Bytes())
	return text, outcome, nil
}

// heldReader counts the bytes read towards maxHeld.
type heldReader struct {
	from io.Reader
	all  *atomic.Int64
	n    int64
}

var errBusy = errors.New("too many reviews at the same time")

func (r *heldReader) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	if !r.hold(int(r.n) + n) {
		err = errBusy
	}
	return n, err
}

// hold sets the number of bytes held to n, and reports whether there is room for them.
func (r *heldReader) hold(n int) bool {
	more := int64(n) - r.n
	r.n = int64(n)
	return r.all.Add(more) <= maxHeld || more <= 0
}

// take waits for a turn, and reports whether it got one.
func (w *Webhook) take(ctx context.Context) bool {
	select {
	case w.turn <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(turnTimeout)
	defer timer.Stop()
	select {
	case w.turn <- struct{}{}:
		return true
	case <-ctx.Done():
	case <-timer.C:
	}
	return false
}

func (w *Webhook) leave() { <-w.turn }

// keep returns a buffer to the pool, unless it is large.
func (w *Webhook) keep(b *bytes.Buffer) {
	if b.Cap() <= 128<<10 {
		b.Reset()
		w.buffers.Put(b)
	}
}

// State returns the handler of the webhook's state:
//
//	/healthz  200 while it runs
//	/readyz   200 while it is ready for reviews, else 503
//	/metrics  for Prometheus
func (w *Webhook) State() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", w.metrics)
	mux.HandleFunc("GET /healthz", func(rw http.ResponseWriter, _ *http.Request) { reply(rw, nil) })
	mux.HandleFunc("GET /readyz", func(rw http.ResponseWriter, _ *http.Request) {
		err := w.o.Ready()
		if w.ending.Load() {
			err = errors.New("ending")
		}
		reply(rw, err)
	})
	return mux
}

func reply(rw http.ResponseWriter, err error) {
	if err != nil {
		http.Error(rw, err.Error(), http.StatusServiceUnavailable)
		return
	}
	rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(rw, "ok\n")
}
