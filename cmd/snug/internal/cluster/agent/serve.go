// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/profile/promtext"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

const (
	// readTimeout and writeTimeout bound a request, idleTimeout an unused connection.
	readTimeout, writeTimeout, idleTimeout = 10 * time.Second, 30 * time.Second, 2 * time.Minute
	// maxHeaderBytes bounds the header of a request.
	maxHeaderBytes = 16 << 10
	// maxRequests bounds the requests at a time; others get Retry-After.
	maxRequests = 8
	// shutdownTimeout bounds the requests that are in progress when the agent ends.
	shutdownTimeout = 5 * time.Second
)

// Serve scans and serves on l until ctx ends. It closes l.
func (a *Agent) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:     a.Handler(),
		ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	scanned := make(chan struct{})
	go func() {
		defer close(scanned)
		a.Run(ctx)
	}()
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		late, stop := context.WithTimeout(context.Background(), shutdownTimeout)
		defer stop()
		if err = server.Shutdown(late); errors.Is(err, context.DeadlineExceeded) {
			err = server.Close() // end them
		}
		<-failed // it has closed l
	}
	cancel()
	<-scanned
	return err
}

// Handler returns the handler of:
//
//	/          the page
//	/findings  the document
//	/metrics   for Prometheus
//	/healthz   200 while scans succeed, else 503
func (a *Agent) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		// Not compressed: that costs more CPU time than the rest of a scrape, and Prometheus is
		// usually near.
		w.Header().Set("Content-Type", promtext.ContentType)
		_, _ = io.WriteString(w, a.metrics())
	})
	mux.HandleFunc("GET /healthz", a.health)
	mux.HandleFunc("GET /findings", a.findings)
	mux.HandleFunc("GET /{$}", a.page)
	return limited(mux)
}

// limited answers at most maxRequests requests at a time, and adds the headers nosniff and
// no-store.
func limited(next http.Handler) http.Handler {
	turn := make(chan struct{}, maxRequests)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many requests at the same time", http.StatusServiceUnavailable)
			return
		}
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

func (a *Agent) health(w http.ResponseWriter, _ *http.Request) {
	if err := a.Healthy(); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n"))
}

func (a *Agent) findings(w http.ResponseWriter, _ *http.Request) {
	d, _ := a.Last()
	if d == nil {
		http.Error(w, "no scan yet", http.StatusServiceUnavailable)
		return
	}
	text, err := finding.Encode(d)
	if err != nil {
		http.Error(w, "the document cannot be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}
