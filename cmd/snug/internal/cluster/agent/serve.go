// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/bound"
	"github.com/snug-go/snug/cmd/snug/internal/profile/promtext"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

const (
	// readTimeout and writeTimeout bound a request, idleTimeout an unused connection.
	readTimeout, writeTimeout, idleTimeout = 5 * time.Second, 5 * time.Second, 2 * time.Minute
	// maxHeaderBytes bounds the header of a request.
	maxHeaderBytes = 16 << 10
	// maxConns bounds the connections, and so the answers that wait to be read: Prometheus, the
	// kubelet and some people have one each.
	maxConns = 32
	// maxMade bounds the answers that are made at a time.
	maxMade = 2
	// clientShare and clientBurst bound the CPU time for one client's answers: a share of one CPU, after as much as
	// hundreds of pages take. requestCost is that of a request beside its answer, and byteCost that of a byte sent.
	clientShare, clientBurst, requestCost, byteCost = 0.1, 3 * time.Second, time.Millisecond, time.Nanosecond
	// refusePause is the time before a client is told that it asks too often, over a connection that then closes.
	refusePause = 250 * time.Millisecond
	// shutdownTimeout bounds the requests that are in progress when the agent ends.
	shutdownTimeout = 5 * time.Second
)

// Serve scans and serves on l until ctx ends. It closes l.
func (a *Agent) Serve(ctx context.Context, l net.Listener) error {
	server, l := a.server(l)
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
	a.sizes.end()
	return err
}

// server returns the server, and the listener for it: l with its bounds.
func (a *Agent) server(l net.Listener) (*http.Server, net.Listener) {
	a.conns.Max = maxConns
	l = &bound.Listener{Listener: l, Conns: &a.conns}
	if a.opts.Certificate != nil {
		l = tls.NewListener(l, &tls.Config{GetCertificate: a.opts.Certificate, MinVersion: tls.VersionTLS12})
	}
	return &http.Server{ // of HTTP/1.1
		Handler: bound.Used(a.Handler()), ConnContext: bound.Context,
		ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
	}, l
}

// Handler returns the handler of:
//
//	/          the page
//	/findings  the document
//	/metrics   for Prometheus
//	/needs     what sizing needs of each workload
//	/healthz   200 while scans succeed, else 503
func (a *Agent) Handler() http.Handler {
	turns := bound.NewTurns(maxMade)
	a.rate.Share, a.rate.Burst = clientShare, clientBurst
	answers := func(made func(*http.Request) answer) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			leave, ok := turns.Take(r.Context(), writeTimeout)
			if !ok {
				notNow("too many requests at the same time").write(w)
				return
			}
			var answer answer
			took := threadTime(func() {
				defer leave() // only the making has turns: no other client waits for one that does not read
				answer = made(r)
			})
			a.rate.Spend(bound.Client(r.Context()), took+time.Duration(answer.size())*byteCost)
			answer.write(w)
		}
	}
	mux := http.NewServeMux()
	// Not compressed: that costs more CPU time than the rest of a scrape, and Prometheus is usually near.
	mux.HandleFunc("GET /metrics", answers(a.scraped))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { a.health().write(w) })
	mux.HandleFunc("GET /findings", answers(a.findings))
	mux.HandleFunc("GET /needs", answers(func(*http.Request) answer { return a.needs() }))
	mux.HandleFunc("GET /{$}", answers(a.page))
	var next http.Handler = mux
	if a.opts.Guard != nil {
		next = a.opts.Guard.Handler(mux, []string{"/", "/findings", "/metrics", "/needs"}, []string{"/healthz"})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		if r.URL.Path != "/healthz" { // of it a refusal would restart the agent
			client := bound.Client(r.Context())
			wait := a.rate.Wait(client)
			a.rate.Spend(client, requestCost) // whatever the answer is
			if wait > 0 {
				_ = pause(r.Context(), refusePause)
				h.Set("Connection", "close")
				h.Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
				http.Error(w, "this client asks too often", http.StatusTooManyRequests)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// answer is a whole answer.
type answer struct {
	kind   string // Content-Type; "" is plain text
	text   []byte
	before *made // before text
	failed bool  // 503
	header map[string]string
}

// notNow returns an answer for what may succeed later.
func notNow(why string) answer { return answer{text: []byte(why + "\n"), failed: true} }

func (a answer) size() int {
	if a.before != nil {
		return a.before.size + len(a.text)
	}
	return len(a.text)
}

func (a answer) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", cmp.Or(a.kind, "text/plain; charset=utf-8"))
	for key, value := range a.header {
		h.Set(key, value)
	}
	if a.failed {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	if a.before == nil {
		_, _ = w.Write(a.text)
		return
	}
	h.Set("Content-Length", strconv.Itoa(a.size()))
	b := bufio.NewWriterSize(w, 64<<10)
	a.before.write(b)
	_, _ = b.Write(a.text)
	_ = b.Flush()
}

func (a *Agent) scraped(*http.Request) answer {
	var self promtext.Page
	_, cut := a.conns.Held()
	self.Family("snug_agent_cut_total", "Connections that clients lost because they held too many (reason=client), or most while all were taken (full), and requests refused because a client asks too often (rate).", promtext.Counter)
	for _, c := range []struct {
		reason string
		n      int64
	}{{"client", cut.Client}, {"full", cut.Full}, {"rate", a.rate.Refused()}} {
		self.Sample(float64(c.n), promtext.Text(promtext.Label{Name: "reason", Value: c.reason}))
	}
	self.Self(finding.NewBuild().Version)
	return answer{kind: promtext.ContentType, before: a.metrics(), text: self.Bytes()}
}

func (a *Agent) health() answer {
	if err := a.Healthy(); err != nil {
		return notNow(err.Error())
	}
	return answer{text: []byte("ok\n")}
}

func (a *Agent) findings(*http.Request) answer {
	d, _ := a.Last()
	if d == nil {
		return notNow("no scan yet")
	}
	text, err := finding.Encode(d)
	if err != nil {
		return notNow("the document cannot be written")
	}
	return answer{kind: "application/json", text: text}
}
