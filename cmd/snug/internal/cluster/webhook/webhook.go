// SPDX-License-Identifier: Apache-2.0

// Package webhook serves the answers of package review to API servers, over TLS, and its
// own state to kubelets and Prometheus, without it.
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

// Paths that an API server asks at. See package review for what the first two tell.
const (
	FitByPod       = "/fit/pod"
	FitByNamespace = "/fit/namespace"
	Resize         = "/resize"
)

const (
	// mostQuestion bounds a question, in bytes. An object is at most 3 MiB as it is sent,
	// and the question about an update has two.
	mostQuestion = 8 << 20
	// mostHeader bytes are read of a request's header.
	mostHeader = 16 << 10
	// mostHeld bounds the questions that are read and the answers that are written at the
	// same time, in bytes: each may be large, and memory is not.
	mostHeld = 64 << 20
	// smallAnswer is as long as an answer may be that is never refused, in bytes: it takes no
	// more room than its connection does.
	smallAnswer = 64 << 10
	// mostAtOnce bounds the questions that are answered at the same time. Others wait.
	mostAtOnce = 16
	// waitAtMost is how long a question waits for its turn. Then the API server is asked to
	// come again, and creates the pod as it is.
	waitAtMost = 2 * time.Second
	// readWithin is how long a question may take to come, with HTTP/2 each by itself. An API
	// server waits for 2 s.
	readWithin = 3 * time.Second
	// writeWithin is how long an API server may take to read the answer.
	writeWithin = 10 * time.Second
	// idleFor is how long a connection is kept without a question. An API server ends one
	// after 90 s: that it is ended here, just as a question comes, is to be a rare case.
	idleFor = 3 * time.Minute
	// endsWithin is how long questions may go on when the webhook has been asked to end.
	endsWithin = 10 * time.Second
)

// Options are what a webhook is made of.
type Options struct {
	Reviewer *review.Reviewer
	// Certificate is what the server shows; it is asked at each handshake.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Ready says why questions should not come here; nil is always ready.
	Ready func() error
	// Drain is how long to go on after the end was asked for, while the endpoints of the
	// service are told of it.
	Drain time.Duration
	// More are further metrics.
	More []func(*promtext.Page)
	Note func(string) // says something to who runs it; nil = nobody listens
}

// Webhook is a webhook's server.
type Webhook struct {
	o       Options
	turn    chan struct{}
	held    atomic.Int64 // bytes of questions and answers
	buffers sync.Pool
	ending  atomic.Bool
	metrics *metrics
}

// New makes a server.
func New(o Options) *Webhook {
	if o.Note == nil {
		o.Note = func(string) {}
	}
	if o.Ready == nil {
		o.Ready = func() error { return nil }
	}
	w := &Webhook{o: o, turn: make(chan struct{}, mostAtOnce), metrics: &metrics{more: o.More}}
	w.buffers.New = func() any { return new(bytes.Buffer) }
	return w
}

// Serve answers API servers on questions, by TLS, and everybody else on state, until ctx
// ends; then it is no longer ready, goes on for Drain, finishes what it has begun, and
// returns. It closes both listeners.
func (w *Webhook) Serve(ctx context.Context, questions, state net.Listener) error {
	server := func(h http.Handler) *http.Server {
		return &http.Server{
			Handler: h, ReadTimeout: readWithin, WriteTimeout: writeWithin, IdleTimeout: idleFor, MaxHeaderBytes: mostHeader,
			ErrorLog: quietLog(w.o.Note),
		}
	}
	asked, seen := server(w.Handler()), server(w.State())
	asked.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: w.o.Certificate}
	failed := make(chan error, 2)
	go func() { failed <- asked.ServeTLS(questions, "", "") }()
	go func() { failed <- seen.Serve(state) }()
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
	late, stop := context.WithTimeout(context.Background(), endsWithin)
	defer stop()
	for _, s := range []*http.Server{asked, seen} {
		if e := s.Shutdown(late); errors.Is(e, context.DeadlineExceeded) {
			_ = s.Close() // they had their time
		}
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// Handler answers questions.
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

// answer reads a question, takes its turn and answers it.
func (w *Webhook) answer(rw http.ResponseWriter, r *http.Request, m *pathMetrics, answer func([]byte) ([]byte, review.Outcome)) {
	begin := time.Now()
	if w.ending.Load() {
		// Who asks again is to find another of us. With HTTP/2 what is asked at this
		// moment is answered all the same; HTTP/1.1 can lose a question on a connection
		// that ends just then, which is why a third less CPU time is not taken.
		rw.Header().Set("Connection", "close")
	}
	body := &heldReader{from: http.MaxBytesReader(rw, r.Body, mostQuestion), all: &w.held}
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
			http.Error(rw, "the question is too large", http.StatusRequestEntityTooLarge)
		default:
			m.refused("cut")
			http.Error(rw, "the question did not come to its end", http.StatusBadRequest)
		}
		return
	}
	// Who does not read the answer keeps the room that it takes, and no turn.
	rw.Header().Set("Content-Type", "application/json")
	_, _ = rw.Write(text)
	m.done(outcome, time.Since(begin))
}

// ask reads a question and has it answered, for which it waits for a turn.
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

// heldReader counts what is read among all that is held, up to mostHeld.
type heldReader struct {
	from io.Reader
	all  *atomic.Int64
	n    int64
}

var errBusy = errors.New("too many questions at the same time")

func (r *heldReader) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	if !r.hold(int(r.n) + n) {
		err = errBusy
	}
	return n, err
}

// hold counts n bytes from now on, and tells whether there is room for them.
func (r *heldReader) hold(n int) bool {
	more := int64(n) - r.n
	r.n = int64(n)
	return r.all.Add(more) <= mostHeld || more <= 0
}

// take waits for a turn.
func (w *Webhook) take(ctx context.Context) bool {
	select {
	case w.turn <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(waitAtMost)
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

// keep puts a buffer back, unless it is one of the few large ones.
func (w *Webhook) keep(b *bytes.Buffer) {
	if b.Cap() <= 128<<10 {
		b.Reset()
		w.buffers.Put(b)
	}
}

// State tells of the webhook:
//
//	/healthz  200 while it runs
//	/readyz   200 while questions should come here, else 503
//	/metrics  for Prometheus
func (w *Webhook) State() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", w.metrics)
	mux.HandleFunc("GET /healthz", func(rw http.ResponseWriter, _ *http.Request) { say(rw, nil) })
	mux.HandleFunc("GET /readyz", func(rw http.ResponseWriter, _ *http.Request) {
		err := w.o.Ready()
		if w.ending.Load() {
			err = errors.New("ending")
		}
		say(rw, err)
	})
	return mux
}

func say(rw http.ResponseWriter, err error) {
	if err != nil {
		http.Error(rw, err.Error(), http.StatusServiceUnavailable)
		return
	}
	rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(rw, "ok\n")
}
