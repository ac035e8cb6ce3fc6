// SPDX-License-Identifier: Apache-2.0

// Package webhook serves the answers of package review to API servers, with TLS, and its own state
// to kubelets and Prometheus, without TLS.
package webhook

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
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

// Paths for API servers. Package review explains them.
const (
	FitByPod       = "/fit/pod"
	FitByNamespace = "/fit/namespace"
)

const (
	// maxReview bounds a review, in bytes. An object is sent with at most 3 MiB, and the
	// review of an update would have two. The last byte of its buffer finds the end.
	maxReview = 8<<20 - 1
	// firstBuffer is the memory for a review that has sent nothing yet, in bytes. It grows by growth, so that
	// while it is copied both take little more than the new one.
	firstBuffer, growth = 2 << 10, 8
	// maxHeader bounds the header of a request, in bytes.
	maxHeader = 16 << 10
	// maxHeld bounds the memory for the reviews being read and the answers being written, together,
	// in bytes: a quarter is a review of maxReview while its buffer grows, beside small ones. The collector lets
	// the heap grow to twice of it.
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
	// freeShare of one CPU, after freeBurst, is what a client may use without turns: 2,000 requests in a second after
	// 200 at once.
	freeShare, freeBurst = 0.1, 10 * time.Millisecond
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
	o      Options
	turns  *bound.Turns
	ending atomic.Bool
	// askSelf is the path of its own questions. No other client knows it: what it asks there is in no metric.
	askSelf string
	// unanswered is why the webhook does not answer itself; nil = it does.
	unanswered atomic.Pointer[error]
	metrics    *metrics
	// What API servers may hold; state is for the connections of others.
	conns, requests, bytes, state bound.Budget
	rate                          bound.Rate // of new connections
	hellos, fair                  bound.Fair
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
		o: o, turns: bound.NewTurns(maxParallel), askSelf: "/self/" + rand.Text(),
		conns: bound.Budget{Max: maxConns}, requests: bound.Budget{Max: maxRequests},
		bytes: bound.Budget{Max: maxHeld, Refuse: true}, state: bound.Budget{Max: maxSideConns},
		rate:   bound.Rate{Share: connShare, Burst: maxConns / 2 * bound.ConnCost},
		hellos: bound.Fair{Wait: turnTimeout},
		fair:   bound.Fair{Rate: bound.Rate{Share: freeShare, Burst: freeBurst}, Wait: turnTimeout},
	}
	w.metrics = &metrics{more: append([]func(*promtext.Page){w.cut}, o.More...)}
	return w
}

// Serve serves API servers on reviews, with TLS, and others on state, until ctx ends. Then it is no
// longer ready, keeps serving for Drain, finishes the requests in progress, and returns. It closes
// both listeners.
func (w *Webhook) Serve(ctx context.Context, reviews, state net.Listener) error {
	server := func(h http.Handler) *http.Server {
		return &http.Server{
			Handler: h, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
			MaxHeaderBytes: maxHeader, ErrorLog: quietLog(w.o.Note),
		}
	}
	main, side := server(w.requests.Requests(w.Handler())), server(bound.Used(w.State()))
	main.ConnContext, side.ConnContext = bound.Context, bound.Context
	main.HTTP2 = &http.HTTP2Config{
		MaxConcurrentStreams: maxStreams, MaxReadFrameSize: maxFrame, WriteByteTimeout: writeTimeout,
		MaxReceiveBufferPerConnection: maxUnread, MaxReceiveBufferPerStream: maxUnread,
	}
	reviews = &bound.Listener{Listener: reviews, Conns: &w.conns, Rate: &w.rate, Hellos: &w.hellos, Fair: &w.fair}
	state = &bound.Listener{Listener: state, Conns: &w.state}
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

// answering answers a review.
type answering = func([]byte) ([]byte, review.Outcome)

// Handler returns the handler of reviews.
func (w *Webhook) Handler() http.Handler {
	mux := http.NewServeMux()
	for path, answer := range map[string]answering{
		FitByPod:       func(q []byte) ([]byte, review.Outcome) { return w.o.Reviewer.Fit(q, review.ByPod) },
		FitByNamespace: func(q []byte) ([]byte, review.Outcome) { return w.o.Reviewer.Fit(q, review.ByNamespace) },
	} {
		m := w.metrics.of(strings.TrimPrefix(path, "/"))
		mux.HandleFunc("POST "+path, func(rw http.ResponseWriter, r *http.Request) { w.answer(rw, r, m, answer) })
	}
	mux.HandleFunc("POST "+w.askSelf, w.self)
	return mux
}

// answer reads a review, waits for a turn and answers it.
func (w *Webhook) answer(rw http.ResponseWriter, r *http.Request, m *pathMetrics, answer answering) {
	begin := time.Now()
	if w.ending.Load() {
		// The next review should go to another replica. HTTP/2 still answers reviews in
		// flight. HTTP/1.1 would take a third less CPU time, but can lose a review on a
		// connection that closes.
		rw.Header().Set("Connection", "close")
	}
	memory := bound.Open(r.Context(), &w.bytes)
	defer memory.Close()
	text, outcome, why := w.ask(r, memory, answer)
	if why == nil && !memory.Hold(int64(cap(text))) {
		why = refusedShare
	}
	if why != nil {
		m.refused(why.reason)
		if why.code == http.StatusServiceUnavailable {
			rw.Header().Set("Retry-After", "1")
		}
		http.Error(rw, why.text, why.code)
		return
	}
	// A client that does not read the answer holds its memory, but no turn.
	rw.Header().Set("Content-Type", "application/json")
	rw.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, err := rw.Write(text)
	if err == nil {
		err = http.NewResponseController(rw).Flush()
	}
	if err != nil {
		m.refused(refusedCut.reason)
		return
	}
	m.done(outcome, time.Since(begin))
}

// refusal is why there is no answer: the reason in the metrics, and what the client gets.
type refusal struct {
	reason string
	code   int
	text   string
}

var (
	refusedBusy  = &refusal{"busy", http.StatusServiceUnavailable, "too many reviews at the same time"}
	refusedShare = &refusal{"share", http.StatusServiceUnavailable, "too many reviews of one client at the same time"}
	refusedLarge = &refusal{"large", http.StatusRequestEntityTooLarge, "the review is too large"}
	refusedCut   = &refusal{"cut", http.StatusBadRequest, "the review is truncated"}
)

// ask reads a review, waits for a turn and returns the answer.
func (w *Webhook) ask(r *http.Request, memory *bound.Share, answer answering) ([]byte, review.Outcome, *refusal) {
	question, why := read(r, memory)
	if why != nil {
		return nil, "", why
	}
	bound.Rest(r.Body)
	leave, ok := w.turns.Take(r.Context(), turnTimeout)
	if !ok {
		return nil, "", refusedBusy
	}
	defer leave()
	text, outcome := answer(question)
	return text, outcome, nil
}

// read reads all of a review. It counts the memory for it before it takes it: only what has come makes the buffer
// grow, whatever length the client promises.
func read(r *http.Request, memory *bound.Share) ([]byte, *refusal) {
	length := maxReview
	if n := r.ContentLength; n >= 0 && n < maxReview {
		length = int(n)
	}
	var b []byte
	for {
		if len(b) > length {
			return nil, refusedLarge
		}
		if len(b) == cap(b) {
			size := min(max(growth*cap(b), firstBuffer), length+1)
			if !memory.Hold(int64(cap(b) + size)) { // both, until one is copied
				return nil, refusedShare
			}
			b = append(make([]byte, 0, size), b...)
			memory.Hold(int64(size))
		}
		n, err := r.Body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return nil, refusedCut
		}
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

// The webhook asks itself at askSelf every askEvery, over a new connection. If maxUnanswered questions in a row get
// no answer within askTimeout, which is how long an API server waits, it is not ready. What clients send and lose
// does not count: else they could make it not ready.
const (
	askEvery      = 5 * time.Second
	askTimeout    = 2 * time.Second
	maxUnanswered = 2
)

// self answers the webhook's own questions, in the way of a review.
func (w *Webhook) self(rw http.ResponseWriter, r *http.Request) {
	w.answer(rw, r, (&metrics{}).of(""), func([]byte) ([]byte, review.Outcome) { return []byte("{}"), review.Other })
}

// watch asks the webhook at an address, with a rest before each question, until ctx ends.
func (w *Webhook) watch(ctx context.Context, at net.Addr, rest time.Duration) {
	client := http.Client{Timeout: askTimeout, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // it asks itself, and says nothing
	}}
	for n := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(rest):
		}
		r, err := client.Post("https://"+at.String()+w.askSelf, "", nil)
		if err == nil {
			if r.Body.Close(); r.StatusCode != http.StatusOK {
				err = errors.New(r.Status)
			}
		}
		if n++; err == nil {
			n = 0
			w.unanswered.Store(nil)
		}
		if n >= maxUnanswered {
			err = fmt.Errorf("reviews get no answer: %w", err)
			w.unanswered.Store(&err)
		}
	}
}

// quiet limits the rate of an HTTP server's log lines, because clients cause them as often as they
// like.
type quiet struct {
	note func(string)
	mu   sync.Mutex
	last time.Time
	held int // lines since then
}

// noteEvery is the minimum time between two notes.
const noteEvery = 10 * time.Second

func quietLog(note func(string)) *log.Logger { return log.New(&quiet{note: note}, "", 0) }

func (q *quiet) Write(line []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now := time.Now(); now.Sub(q.last) < noteEvery {
		q.held++
	} else {
		text := strings.TrimSpace(string(line))
		if q.held > 0 {
			text += fmt.Sprintf(" (and %d more before)", q.held)
		}
		q.last, q.held = now, 0
		q.note(text)
	}
	return len(line), nil
}
