// SPDX-License-Identifier: Apache-2.0

// Package webhook serves the answers of package review to API servers, with TLS, and its own state
// to kubelets and Prometheus, without TLS.
package webhook

import (
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

	"github.com/snug-go/snug/cmd/snug/internal/cluster/bound"
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
	// maxHeld bounds the memory for the reviews being read and the answers being written, together,
	// in bytes. The collector lets the heap grow to twice of it.
	maxHeld = 32 << 20
	// reserved is the part of it for reviews of at most smallReview, which nearly all are: some large
	// ones do not keep pods waiting. Both in bytes.
	reserved, smallReview = 8 << 20, 256 << 10
	// maxConns bounds the connections of API servers, each of which has a few, and maxSideConns those
	// of kubelets and Prometheus.
	maxConns, maxSideConns = 256, 32
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
	w.buffers.New = func() any { return new([]byte) }
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
	main.ConnContext = bound.Context
	reviews, state = &bound.Listener{Listener: reviews, Max: maxConns}, &bound.Listener{Listener: state, Max: maxSideConns}
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
	memory := &held{all: &w.held}
	defer memory.hold(0)
	text, outcome, err := w.ask(r, http.MaxBytesReader(rw, r.Body, maxReview), memory, answer)
	if err == nil && !memory.hold(cap(text)) && cap(text) > smallAnswer {
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
	bound.Served(r.Context())
	m.done(outcome, time.Since(begin))
}

// ask reads a review, waits for a turn and returns the answer.
func (w *Webhook) ask(r *http.Request, body io.Reader, memory *held, answer func([]byte) ([]byte, review.Outcome)) ([]byte, review.Outcome, error) {
	buffer := w.buffers.Get().(*[]byte)
	defer w.keep(buffer)
	if err := memory.read(body, buffer); err != nil {
		return nil, "", err
	}
	if !w.take(r.Context()) {
		return nil, "", errBusy
	}
	defer w.leave()
	text, outcome := answer(*buffer)
	return text, outcome, nil
}

// held is the memory of one request, which counts towards maxHeld.
type held struct {
	all *atomic.Int64
	n   int64
}

var errBusy = errors.New("too many reviews at the same time")

// read reads all of a body. It counts the memory for it before it takes it.
func (h *held) read(from io.Reader, to *[]byte) error {
	b := (*to)[:0]
	defer func() { *to = b }()
	for {
		if len(b) == cap(b) {
			size := max(firstBuffer, 2*cap(b))
			if !h.hold(cap(b) + size) { // both, until one is copied
				return errBusy
			}
			b = append(make([]byte, 0, size), b...)
		}
		if !h.hold(cap(b)) {
			return errBusy
		}
		n, err := from.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// hold sets the number of bytes held to n, and reports whether there is room for them.
func (h *held) hold(n int) bool {
	more, room := int64(n)-h.n, int64(maxHeld)
	h.n = int64(n)
	if n > smallReview {
		room -= reserved
	}
	return h.all.Add(more) <= room || more <= 0
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

// firstBuffer and maxBuffer are the sizes of buffers, the first and the largest that is used again, in bytes.
const firstBuffer, maxBuffer = 16 << 10, 128 << 10

// keep returns a buffer to the pool, unless it is large.
func (w *Webhook) keep(b *[]byte) {
	if cap(*b) <= maxBuffer {
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
