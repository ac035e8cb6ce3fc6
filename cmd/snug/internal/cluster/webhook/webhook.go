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
	"strconv"
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
	// review of an update has two. The last byte of its buffer finds the end.
	maxReview = 8<<20 - 1
	// maxHeader bounds the header of a request, in bytes.
	maxHeader = 16 << 10
	// maxHeld bounds the memory for the reviews being read and the answers being written, together,
	// in bytes: a quarter is a review of maxReview while its buffer grows. The collector lets the heap grow
	// to twice of it.
	maxHeld = 48 << 20
	// maxRequests bounds the requests in progress. A quarter is more than twice what an API server
	// answers at a time by default, if two have one address.
	maxRequests = 2048
	// maxConns bounds the connections of API servers, each of which has a few, and one more for each review
	// in progress until the first is made. maxSideConns bounds those of kubelets and Prometheus.
	maxConns, maxSideConns = 512, 32
	// connShare is the share of one CPU for the new connections of one client, 200 in a second after twice as many
	// as it may have.
	connShare = 0.2
	// maxStreams bounds the requests of a connection: with fewer than its reviews in progress, an API server
	// makes a connection for each of the others.
	maxStreams = 250
	// maxUnread bounds what a connection receives before it is read, and maxFrame one frame of it, in bytes: the
	// server keeps a buffer as long as the longest frame that a client has begun. RFC 9113 permits no less.
	maxUnread, maxFrame = 256 << 10, 16 << 10
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
	turns   *bound.Turns
	buffers sync.Pool
	ending  atomic.Bool
	// unanswered is why the webhook does not answer itself; nil = it does.
	unanswered atomic.Pointer[error]
	metrics    *metrics
	// What API servers may hold; state is for the connections of others.
	conns, requests, bytes, state bound.Budget
	rate                          bound.Rate // of new connections
}

// New returns a server.
func New(o Options) *Webhook {
	if o.Note == nil {
		o.Note = func(string) {}
	}
	if o.Ready == nil {
		o.Ready = func() error { return nil }
	}
	w := &Webhook{
		o: o, turns: bound.NewTurns(maxParallel),
		conns: bound.Budget{Max: maxConns}, requests: bound.Budget{Max: maxRequests}, bytes: bound.Budget{Max: maxHeld}, state: bound.Budget{Max: maxSideConns},
		rate: bound.Rate{Share: connShare, Burst: maxConns / 2 * bound.ConnCost},
	}
	w.metrics = &metrics{more: append([]func(*promtext.Page){w.cut}, o.More...)}
	w.buffers.New = func() any { return new(make([]byte, 0, minBuffer)) }
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
	main, side := server(w.requests.Requests(w.Handler())), server((&bound.Budget{Max: maxSideConns}).Requests(w.State()))
	main.ConnContext, side.ConnContext = bound.Context, bound.Context
	main.HTTP2 = &http.HTTP2Config{
		MaxConcurrentStreams: maxStreams, MaxReadFrameSize: maxFrame, MaxReceiveBufferPerConnection: maxUnread, MaxReceiveBufferPerStream: maxUnread, WriteByteTimeout: writeTimeout,
	}
	reviews, state = &bound.Listener{Listener: reviews, Conns: &w.conns, Rate: &w.rate}, &bound.Listener{Listener: state, Conns: &w.state}
	main.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: w.o.Certificate}
	failed := make(chan error, 2)
	asks, enough := context.WithCancel(ctx)
	defer enough()
	go w.watch(asks, reviews.Addr(), askEvery)
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
	mux.HandleFunc("POST "+askSelf, w.self)
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
	memory := bound.Open(r.Context(), &w.bytes)
	defer memory.Close()
	text, outcome, err := w.ask(r, http.MaxBytesReader(rw, r.Body, maxReview), memory, answer)
	if err == nil && !memory.Hold(int64(cap(text))) {
		err = errShare
	}
	if err != nil {
		w.refuse(rw, r, m, err)
		return
	}
	// A client that does not read the answer holds its memory, but no turn.
	rw.Header().Set("Content-Type", "application/json")
	rw.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = rw.Write(text)
	m.done(outcome, time.Since(begin))
}

var (
	errBusy  = errors.New("too many reviews at the same time")
	errShare = errors.New("too many reviews of one client at the same time")
)

// refuse answers that there is no answer.
func (w *Webhook) refuse(rw http.ResponseWriter, r *http.Request, m *pathMetrics, err error) {
	if context.Cause(r.Context()) == bound.ErrCut {
		err = errShare
	}
	reason, code, text := "cut", http.StatusBadRequest, "the review is truncated"
	var large *http.MaxBytesError
	switch {
	case errors.Is(err, errBusy):
		reason, code, text = "busy", http.StatusServiceUnavailable, err.Error()
	case errors.Is(err, errShare):
		reason, code, text = "share", http.StatusServiceUnavailable, err.Error()
	case errors.As(err, &large):
		reason, code, text = "large", http.StatusRequestEntityTooLarge, "the review is too large"
	}
	m.refused(reason)
	if code == http.StatusServiceUnavailable {
		rw.Header().Set("Retry-After", "1")
	}
	http.Error(rw, text, code)
}

// ask reads a review, waits for a turn and returns the answer.
func (w *Webhook) ask(r *http.Request, body io.Reader, memory *bound.Share, answer func([]byte) ([]byte, review.Outcome)) ([]byte, review.Outcome, error) {
	question, again, err := w.read(body, memory)
	if again != nil {
		defer w.keep(again)
	}
	if err != nil {
		return nil, "", err
	}
	leave, ok := w.turns.Take(r.Context(), turnTimeout)
	if !ok {
		return nil, "", errBusy
	}
	defer leave()
	text, outcome := answer(question)
	return text, outcome, nil
}

// read reads all of a body. It counts the memory for it before it takes it: only what has come makes the buffer
// grow. A buffer that is not nil is for keep.
func (w *Webhook) read(from io.Reader, memory *bound.Share) (text []byte, again *[]byte, err error) {
	if !memory.Hold(firstBuffer) {
		return nil, nil, errShare
	}
	b := make([]byte, 0, firstBuffer)
	for {
		if len(b) == cap(b) {
			size, next := 2*cap(b), new([]byte)
			if again == nil {
				next = w.buffers.Get().(*[]byte)
				again, size = next, cap(*next)
			}
			if !memory.Hold(int64(cap(b) + size)) { // both, until one is copied
				return b, again, errShare
			}
			if cap(*next) < size {
				*next = make([]byte, 0, size)
			}
			b = append((*next)[:0], b...)
			*again = b
			memory.Hold(int64(size))
		}
		n, err := from.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, again, nil
		}
		if err != nil {
			return b, again, err
		}
	}
}

// firstBuffer, minBuffer and maxBuffer are the sizes of buffers, in bytes: that of a request that has sent nothing
// yet, and of those that are used again.
const firstBuffer, minBuffer, maxBuffer = 2 << 10, 16 << 10, 32 << 10

// keep returns a buffer to the pool, unless it is large.
func (w *Webhook) keep(b *[]byte) {
	if cap(*b) <= maxBuffer {
		w.buffers.Put(b)
	}
}

// State returns the handler of the webhook's state:
//
//	/healthz  200 while it runs
//	/readyz   200 while it is ready for reviews, and answers its own, else 503
//	/metrics  for Prometheus
func (w *Webhook) State() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", w.metrics)
	mux.HandleFunc("GET /healthz", func(rw http.ResponseWriter, _ *http.Request) { reply(rw, nil) })
	mux.HandleFunc("GET /readyz", func(rw http.ResponseWriter, _ *http.Request) {
		err := w.o.Ready()
		if why := w.unanswered.Load(); why != nil && err == nil {
			err = *why
		}
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
