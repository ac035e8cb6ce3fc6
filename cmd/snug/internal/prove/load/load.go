// SPDX-License-Identifier: Apache-2.0

// Package load sends HTTP requests to a service and measures how it answers. The
// generator is a process of its own, so that its CPU time, scheduling policy and memory
// are separate from the measured program's and the experiment's: Start starts it,
// ChildMain is its main.
//
// An open loop sends at the moments of a Poisson process, even if the service has not
// answered earlier requests, and measures latency from the time when a request was due.
// If a service stalls for 200 ms, all requests of this time are slow, as they are for its
// users. A closed loop has a fixed number of users, who wait for each answer before they
// send again. During a stall they send nothing, so the stall shows as a few slow requests
// ("coordinated omission", G. Tene, How NOT to Measure Latency, 2013). A closed loop is
// good for throughput.
//
// The client speaks HTTP/1.1 over persistent connections, follows no redirect, uses no
// proxy and does not ask for compression. It sends one request at a time on a connection.
// Over HTTP/2, see client, the requests of an open loop share connections.
package load

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// The kinds of load.
const (
	Open   = "open"
	Closed = "closed"
)

// maxOutstanding is the maximum number of outstanding requests, and of users of a closed
// loop.
const maxOutstanding = 10000

// maxSlices is the maximum number of slices of a window.
const maxSlices = 10_000

// Plan describes what to send. In JSON durations are in nanoseconds.
type Plan struct {
	// URLs are the replicas of the service, http or https. Each request goes to one of
	// them, chosen by Seed only.
	URLs   []string          `json:"urls"`
	Method string            `json:"method"` // "" is GET
	Header map[string]string `json:"header"`
	Body   []byte            `json:"body"`
	// HTTP2 makes the client speak HTTP/2, over plain TCP with prior knowledge.
	HTTP2 bool `json:"http2"`
	// GRPC is the method of unary calls, package.Service/Method, whose message is Body as
	// protobuf; it implies HTTP2. "" is no gRPC.
	GRPC string  `json:"grpc"`
	Kind string  `json:"kind"` // Open or Closed
	Rate float64 `json:"rate"` // of an open loop, requests per second
	// Connections is the number of users of a closed loop. In an open loop it is the
	// maximum number of outstanding requests, up to 10000; 0 is 10000. A request that is
	// due at the maximum counts as failed.
	Connections int `json:"connections"`
	// To is the number of users at the end of the window, if it changes; 0 is Connections. In
	// between, each number of users lasts equally long.
	To int `json:"to_connections"`
	// Slices is in how many slices of equal length the window is counted too; 0 is none.
	Slices int `json:"slices"`
	// Warm is how long to send before the window, at the same rate, without counting; 0
	// is no warm-up.
	Warm    time.Duration `json:"warm_nanos"`
	Window  time.Duration `json:"window_nanos"`
	Timeout time.Duration `json:"timeout_nanos"` // of one request; 0 is 10 s
	// Seed determines when requests are due and where they go. The same seed gives the
	// same arrivals at every rate, only denser.
	Seed uint64 `json:"seed"`
	// RealTime makes the generator SCHED_RR; the generator fails if that is not
	// possible.
	RealTime bool `json:"real_time"`
}

// Result is the result of one window. Times are in seconds. null is not measured.
type Result struct {
	Window float64 `json:"window_seconds"` // as planned
	// Elapsed is the time until the last request ended: Window or more.
	Elapsed float64 `json:"elapsed_seconds"`
	Sent    int64   `json:"sent"` // requests that were due in the window
	// Ops are the requests with an answer of status 200 to 299, and of gRPC status 0, that
	// was read to its end.
	// In an open loop they include answers after the window to requests that were due in
	// it; in a closed loop they do not.
	Ops        int64  `json:"ops"`
	InWindow   int64  `json:"ops_in_window"` // Ops that ended in the window
	Errors     int64  `json:"errors"`
	FirstError string `json:"first_error"` // "" if there was none
	// Unfinished requests of a closed loop were cut off by the end of the window. They
	// are neither Ops nor Errors, except if there was nothing else.
	Unfinished int64   `json:"unfinished"`
	RPS        float64 `json:"rps"` // InWindow per second of the window

	// Latency covers Ops only: if there are errors, look at them first. It runs from when
	// the request was due (open loop) or sent (closed loop) to the end of the answer's
	// body. The percentiles are exact up to a million requests, and to three digits
	// beyond.
	Latency finding.Histogram `json:"latency"`
	P50     *float64          `json:"p50_seconds"`
	P95     *float64          `json:"p95_seconds"`
	P99     *float64          `json:"p99_seconds"`
	Max     *float64          `json:"max_seconds"`

	// Lateness is how long after they were due requests were sent, which is the
	// generator's fault; null in a closed loop, where nothing is due.
	LatenessP99 *float64 `json:"lateness_p99_seconds"`
	LatenessMax *float64 `json:"lateness_max_seconds"`
	CPUSeconds  *float64 `json:"cpu_seconds"` // of the generator, during Elapsed
	// Policy is the scheduling policy of the generator's threads, as read back:
	// SCHED_OTHER, SCHED_RR, ...; "mixed" if they differ; "" is unknown.
	Policy string `json:"policy"`
	// Slices are the slices of the window, in order.
	Slices []Slice `json:"slices,omitempty"`
}

// Slice counts the requests that ended in a part of the window, see Result.
type Slice struct {
	Ops    int64    `json:"ops"`
	Errors int64    `json:"errors"`
	P50    *float64 `json:"p50_seconds"` // null if no request had an answer
	P95    *float64 `json:"p95_seconds"`
}

// Error reports a load generator that could not do its work. Failures of the service are
// not Errors; a Result counts them.
type Error struct {
	What string
	Cure string // "" if none is known
}

func (e *Error) Error() string { return e.What }

// Hint returns the cure, or "".
func (e *Error) Hint() string { return e.Cure }

// RealTimeCure is what real-time priority needs.
const RealTimeCure = "be root, or have CAP_SYS_NICE or a limit of real-time priority (ulimit -r); " +
	"in a cgroup of version 1 also a real-time budget (cpu.rt_runtime_us)"

// Check returns an error for a plan that cannot be carried out anywhere.
func (p Plan) Check() error {
	_, err := p.withDefaults()
	return err
}

// withDefaults returns the plan with its defaults.
func (p Plan) withDefaults() (Plan, error) {
	if p.Method == "" {
		p.Method = http.MethodGet
	}
	if p.Timeout == 0 {
		p.Timeout = 10 * time.Second
	}
	bad := func(format string, args ...any) (Plan, error) {
		return Plan{}, &Error{What: "bad load plan: " + fmt.Sprintf(format, args...)}
	}
	if len(p.URLs) == 0 {
		return bad("no URL")
	}
	for _, text := range p.URLs {
		if !HTTP(text) && strings.Contains(text, "://") {
			return Plan{},
				&Error{What: text + ": neither http nor https", Cure: "give it as http://HOST:PORT/PATH"}
		}
		if _, err := address(text); err != nil {
			return Plan{}, err
		}
	}
	switch {
	case p.Window <= 0:
		return bad("a window of %v", p.Window)
	case p.Warm < 0:
		return bad("a warm-up of %v", p.Warm)
	case p.Timeout < 0 || p.Timeout > longest:
		return bad("a timeout of %v, it can be up to %v", p.Timeout, longest)
	case p.Connections < 0 || p.Connections > maxOutstanding:
		return bad("%d connections, there can be up to %d", p.Connections, maxOutstanding)
	case p.To < 0 || p.To > maxOutstanding:
		return bad("%d users, there can be up to %d", p.To, maxOutstanding)
	case p.Slices < 0 || p.Slices > maxSlices:
		return bad("%d slices, there can be up to %d", p.Slices, maxSlices)
	case p.To > 0 && p.Kind == Open:
		return bad("an open loop has no users")
	}
	switch p.Kind {
	case Open:
		if !(p.Rate > 0) || p.Rate > 1e6 {
			return bad("%v requests per second, there can be up to a million", p.Rate)
		}
		if p.Connections == 0 {
			p.Connections = maxOutstanding
		}
	case Closed:
		if p.Connections == 0 {
			return bad("a closed loop without users")
		}
		if p.Rate != 0 {
			return bad("a closed loop has no rate")
		}
	default:
		return bad("kind %q is neither %q nor %q", p.Kind, Open, Closed)
	}
	return p, nil
}

// target is one replica.
type target struct {
	url     string // for messages, without a password
	secure  bool
	name    string // the host, for TLS
	address string // host:port
	request []byte // the bytes of one request
	head    bool   // answers have no body
	retry   bool   // may be sent again if a connection turns out to be closed
	call    *call  // over HTTP/2; nil is HTTP/1.1
}

// newTarget builds the request of a plan for one of its URLs.
func newTarget(p Plan, text string) (target, error) {
	addr, err := address(text)
	if err != nil {
		return target{}, err
	}
	u, err := url.Parse(text)
	if err != nil {
		return target{}, err
	}
	request, err := requestBytes(p, text)
	if err != nil {
		return target{}, &Error{What: fmt.Sprintf("%s: bad load plan: %v", text, err)}
	}
	t := target{url: u.Redacted(), secure: u.Scheme == "https", name: u.Hostname(), address: addr, request: request}
	if p.HTTP2 || p.GRPC != "" {
		if t.call, err = newCall(p, text); err != nil {
			return target{}, &Error{What: fmt.Sprintf("%s: bad load plan: %v", text, err)}
		}
	}
	t.head = p.Method == http.MethodHead
	switch p.Method { // RFC 9110, 9.2.2
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		t.retry = true
	}
	return t, nil
}
