// SPDX-License-Identifier: Apache-2.0

// Package serve answers with the last scan of a node: metrics, documents and a page, made of its snapshot alone.
package serve

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/tls"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/snapshot"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/bound"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/guard"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/profile/promtext"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/page"
)

const (
	// maxWait bounds the wait for a turn; an answer that says so must be written within writeTimeout.
	maxWait = 3 * time.Second
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
)

// Options configure a server.
type Options struct {
	// Last returns what the last scan left.
	Last func() snapshot.Snapshot
	// Interval is the time from the beginning of one scan to that of the next.
	Interval time.Duration
	// Outside means that scans read no process's memory.
	Outside bool
	// Certificate is that of the address; nil = no TLS.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Guard decides who may read the address; nil = everybody.
	Guard *guard.Guard
}

// Server answers with snapshots. Its methods are safe for concurrent use.
type Server struct {
	opts Options

	mu    sync.Mutex
	made  *made        // of the last scrape; nil = there was none
	conns bound.Budget // of the address
	rate  bound.Rate   // of its clients
}

// New returns a server.
func New(o Options) *Server { return &Server{opts: o} }

// On returns the HTTP server, and the listener for it: l with its bounds.
func (s *Server) On(l net.Listener) (*http.Server, net.Listener) {
	s.conns.Max = maxConns
	l = &bound.Listener{Listener: l, Conns: &s.conns}
	if s.opts.Certificate != nil {
		l = tls.NewListener(l, &tls.Config{GetCertificate: s.opts.Certificate, MinVersion: tls.VersionTLS12})
	}
	return &http.Server{ // of HTTP/1.1
		Handler: bound.Used(s.Handler()), ConnContext: bound.Context,
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
func (s *Server) Handler() http.Handler {
	turns := bound.NewTurns(maxMade)
	s.rate.Share, s.rate.Burst = clientShare, clientBurst
	answers := func(made func(*http.Request) answer) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			leave, ok := turns.Take(r.Context(), maxWait)
			if !ok {
				notNow("too many requests at the same time").write(w)
				return
			}
			var answer answer
			took := threadTime(func() {
				defer leave() // only the making has turns: no other client waits for one that does not read
				answer = made(r)
			})
			s.rate.Spend(bound.Client(r.Context()), took+time.Duration(answer.size())*byteCost)
			answer.write(w)
		}
	}
	mux := http.NewServeMux()
	// Not compressed: that costs more CPU time than the rest of a scrape, and Prometheus is usually near.
	mux.HandleFunc("GET /metrics", answers(s.scraped))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { s.health().write(w) })
	mux.HandleFunc("GET /findings", answers(s.findings))
	mux.HandleFunc("GET /needs", answers(s.needs))
	mux.HandleFunc("GET /{$}", answers(s.page))
	var next http.Handler = mux
	if s.opts.Guard != nil {
		next = s.opts.Guard.Handler(mux, []string{"/", "/findings", "/metrics", "/needs"}, []string{"/healthz"})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		if r.URL.Path != "/healthz" { // of it a refusal would restart the agent
			client := bound.Client(r.Context())
			wait := s.rate.Wait(client)
			s.rate.Spend(client, requestCost) // whatever the answer is
			if wait > 0 {
				select {
				case <-r.Context().Done():
				case <-time.After(refusePause):
				}
				h.Set("Connection", "close")
				h.Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
				http.Error(w, "this client asks too often", http.StatusTooManyRequests)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) scraped(*http.Request) answer {
	var self promtext.Page
	_, cut := s.conns.Held()
	self.Family("snug_agent_cut_total", "Connections that clients lost because they held too many (reason=client), "+
		"or most while all were taken (full), and requests refused because a client asks too often (rate).", promtext.Counter)
	for _, c := range []struct {
		reason string
		n      int64
	}{{"client", cut.Client}, {"full", cut.Full}, {"rate", s.rate.Refused()}} {
		self.Sample(float64(c.n), promtext.Text(promtext.Label{Name: "reason", Value: c.reason}))
	}
	self.Self(finding.NewBuild().Version)
	return answer{kind: promtext.ContentType, before: s.metrics(), text: self.Bytes()}
}

func (s *Server) health() answer {
	from := s.opts.Last()
	if err := from.Healthy(s.opts.Interval); err != nil {
		return notNow(err.Error())
	}
	return answer{text: []byte("ok\n")}
}

func (s *Server) findings(*http.Request) answer {
	from := s.opts.Last()
	if from.Node == nil {
		return notNow("no scan yet")
	}
	text, err := finding.Encode(from.Node)
	if err != nil {
		return notNow("the document cannot be written")
	}
	return answer{kind: "application/json", text: text}
}

// needs answers with what sizing needs of each workload.
func (s *Server) needs(*http.Request) answer {
	from := s.opts.Last()
	if from.Node == nil {
		return notNow("no scan yet")
	}
	text, err := from.Needs.Encode()
	if err != nil {
		return notNow("the document cannot be written")
	}
	return answer{kind: "application/json", text: text}
}

// page returns a scan as HTML. It ignores unknown parameters. These are known:
//
//	?sort=COLUMN   a column, as in the links of the heads
//	?reverse=1     in reverse order
//	?wrong=1       only containers with a warning
//	?find=TEXT     only containers with this text in a name
func (s *Server) page(r *http.Request) answer {
	from := s.opts.Last()
	if from.Node == nil {
		return notNow("no scan yet, try again in a moment")
	}
	o := page.NodePage{Age: time.Since(from.Ended), Step: s.opts.Interval, Trend: from.Trends.Of}
	q := r.URL.Query()
	if order := q.Get("sort"); slices.Contains(page.NodeOrders(), order) {
		o.Order = order
	}
	o.Reverse, o.Wrong = q.Get("reverse") == "1", q.Get("wrong") == "1"
	o.Find = strings.TrimSpace(q.Get("find"))
	if err := from.Healthy(s.opts.Interval); err != nil {
		o.Ill = err.Error()
	}
	var b bytes.Buffer
	if err := page.NodeHTML(&b, from.Node, o); err != nil {
		return notNow("the page cannot be made")
	}
	return answer{kind: "text/html; charset=utf-8", text: b.Bytes(), header: map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; " +
			"form-action 'self'; frame-ancestors 'none'",
		"Referrer-Policy": "no-referrer",
	}}
}

// metrics returns the text of the last scan. A scrape reads no process, and only the first one after a scan
// makes the text, of the containers that were made anew.
func (s *Server) metrics() *made {
	from := s.opts.Last()
	s.mu.Lock()
	known := s.made
	s.mu.Unlock()
	if known == nil || known.scans != from.Scans {
		known = newMade(&from, &s.opts, known)
		s.mu.Lock()
		s.made = known
		s.mu.Unlock()
	}
	return known
}

// threadTime returns the CPU time that f takes in this goroutine.
func threadTime(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin := proc.ThreadTime()
	f()
	return proc.ThreadTime() - begin
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
