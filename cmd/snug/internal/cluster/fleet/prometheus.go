// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/needs"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/size"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/source/bounded"
)

const (
	// history is how far back the figures of agents are asked for, once an hour: they change slowly, and an agent that
	// forgot at a restart has left them.
	history = "[7d:1h]"
	// queriesTimeout bounds the time of all queries, maxQuery the answer to each in bytes.
	queriesTimeout = time.Minute
	maxQuery       = 64 << 20
	workloadBy     = "by (namespace, workload, container) "
	// daysSeen asks for how many days agents have seen a workload: an agent that forgot begins again.
	seenSeconds = "snug_go_workload_seen_seconds"
	daysOver    = "count_over_time(" + seenSeconds + history + ") / 24"
	daysSeen    = "max " + workloadBy + "(" + daysOver + " or " + seenSeconds + " / 86400)"
)

// Prometheus is a server that has scraped the agents, by its HTTP API
// (https://prometheus.io/docs/prometheus/latest/querying/api/).
type Prometheus struct {
	at     *url.URL
	client *http.Client
}

// NewPrometheus returns the server at an address, "http://HOST:PORT" with or without a path.
func NewPrometheus(address string) (*Prometheus, error) {
	at, err := url.Parse(address)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		what := "--prometheus " + message.Typed(address) + ": wrong value"
		return nil, message.Usage(what, "write an address such as http://localhost:9090")
	}
	return &Prometheus{at: at, client: &http.Client{}}, nil
}

// sample is a series and its value.
type sample struct {
	Metric map[string]string
	Value  promValue
}

// promValue is [seconds, "value"] in JSON.
type promValue float64

func (v *promValue) UnmarshalJSON(text []byte) error {
	var pair [2]json.RawMessage
	var n string
	if err := json.Unmarshal(text, &pair); err != nil {
		return err
	}
	if err := json.Unmarshal(pair[1], &n); err != nil {
		return err
	}
	f, err := strconv.ParseFloat(n, 64)
	*v = promValue(f)
	return err
}

// query returns the vector of a query as of now, without what can be no figure of an agent: infinity, NaN, and numbers
// below 0 or above 1e18. It fails with a message.Failure that says why there is no answer.
func (p *Prometheus) query(ctx context.Context, q string) ([]sample, error) {
	at := *p.at
	at.Path = strings.TrimSuffix(at.Path, "/") + "/api/v1/query"
	at.RawQuery = "query=up"
	try := message.Quote(at.Redacted())
	at.RawQuery = url.Values{"query": {q}}.Encode()
	failed := func(what string) error {
		what = "Prometheus does not answer: " + message.Cut(message.Clean(what), message.MaxShown)
		return message.Failed(message.Typed(p.at.Redacted())+": "+what, "curl "+try+" has to answer")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, failed(message.Reason(err))
	}
	response, err := p.client.Do(request)
	if err != nil {
		if e := (*url.Error)(nil); errors.As(err, &e) {
			err = e.Err // without the whole query
		}
		return nil, failed(unanswered(err))
	}
	defer response.Body.Close()
	text, err := bounded.ReadAll(response.Body, maxQuery)
	if err != nil {
		return nil, failed(unanswered(err))
	}
	var a struct {
		Status, Error string
		Data          struct {
			ResultType string
			Result     json.RawMessage
		}
	}
	var all []sample
	switch err := json.Unmarshal(text, &a); {
	case (err != nil || a.Status == "") && response.StatusCode == http.StatusOK:
		return nil, failed("its answer is not that of a Prometheus")
	case err != nil || a.Status == "":
		return nil, failed(response.Status)
	case a.Status != "success":
		return nil, failed(a.Error)
	case a.Data.ResultType != "vector" || json.Unmarshal(a.Data.Result, &all) != nil:
		return nil, failed("no vector")
	}
	return slices.DeleteFunc(all, func(s sample) bool { return !(s.Value >= 0 && s.Value <= 1e18) }), nil
}

// unanswered says why there is no answer.
func unanswered(err error) string {
	text := message.Reason(err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "it takes too long, more than a minute for all queries"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "it closed the connection too early"
	case strings.Contains(text, "malformed HTTP"):
		return "it does not speak HTTP"
	case strings.Contains(text, "HTTP response to HTTPS client"):
		return "it speaks HTTP, not HTTPS"
	}
	return text
}

// recorded is what a Prometheus has of a workload.
type recorded struct {
	seen size.Seen
	has  needs.Has
	// What is another type there: collections are a second's; of limit and request the count, the sum, the least and the
	// most.
	days, cycles, burst figure.Of[float64]
	amounts             []figure.Of[float64] // eight
}

// Sizes returns what workloads need at a price in dollars, by what agents have exported of them in the last week.
// It fails if Prometheus does not answer, or has nothing of agents.
func (p *Prometheus) Sizes(ctx context.Context, f Filter, price size.Price) (*finding.FleetSize, error) {
	ctx, stop := context.WithTimeout(ctx, queriesTimeout)
	defer stop()
	d := &finding.FleetSize{}
	begin(d, price, time.Now())
	info, err := p.query(ctx, "sum by (namespace, workload, container, go, gogc, gomaxprocs) (snug_go_workload_info)")
	if err != nil {
		return nil, err
	}
	if len(info) == 0 {
		return nil, message.Failed(message.Typed(p.at.Redacted())+": no snug_go_workload_info in this Prometheus",
			"it has to scrape the agents, of this version of snug: monitoring.serviceMonitor.enabled=true of the chart")
	}
	of := map[needs.Key]*recorded{}
	for i := range info {
		if key := keyOfSeries(&info[i]); f.passesKey(&key) {
			if of[key] == nil {
				of[key] = &recorded{amounts: make([]figure.Of[float64], 8)}
			}
			of[key].add(&info[i])
		}
	}
	every, err := p.number(ctx, "max(snug_agent_scan_interval_seconds)")
	if err != nil {
		return nil, err
	}
	agents, err := p.number(ctx, "count(snug_agent_scan_interval_seconds)")
	if err != nil {
		return nil, err
	}
	d.Agents = int(agents)
	each := func(q string, to func(*recorded) *figure.Of[float64]) error {
		found, err := p.query(ctx, q)
		for i := range found {
			if r := of[keyOfSeries(&found[i])]; r != nil {
				to(r).Know(float64(found[i].Value), "")
			}
		}
		return err
	}
	err = each(daysSeen, func(r *recorded) *figure.Of[float64] { return &r.days })
	for i, one := range needs.Names {
		if err == nil {
			err = each(text(one), func(r *recorded) *figure.Of[float64] { return r.figures()[i] })
		}
	}
	if err != nil {
		return nil, err
	}
	for key, r := range of {
		r.seen.Every = every
		r.finish()
		d.Workloads = append(d.Workloads, sized(&key, &r.seen, &r.has, price))
	}
	total(d)
	return d, nil
}

// number returns the number of a query that has one; 0 = none.
func (p *Prometheus) number(ctx context.Context, q string) (float64, error) {
	all, err := p.query(ctx, q)
	if len(all) == 0 {
		return 0, err
	}
	return float64(all[0].Value), err
}

func keyOfSeries(s *sample) needs.Key {
	return needs.Key{Namespace: s.Metric["namespace"], Workload: s.Metric["workload"], Container: s.Metric["container"]}
}

// add adds what containers of a workload are. Of those that differ, the older Go and the larger GOGC count.
func (r *recorded) add(s *sample) {
	r.has.Containers += int(s.Value)
	if _, text, ok := strings.Cut(s.Metric["go"], "."); ok {
		if n, err := strconv.Atoi(text); err == nil && (r.seen.Minor == 0 || n < r.seen.Minor) {
			r.seen.Minor = n
		}
	}
	for name, f := range map[string]*figure.Of[int]{"gogc": &r.seen.GOGC, "gomaxprocs": &r.seen.Procs} {
		if n, err := strconv.Atoi(s.Metric[name]); err == nil && (!f.Known() || n > f.N && f.N >= 0 || n < 0) {
			f.Know(n, "")
		}
	}
}

// finish makes the figures those of a container that was seen as long as the workload.
func (r *recorded) finish() {
	s := &r.seen
	s.Days, s.Burst, s.Seconds = r.days.N, r.burst.N, r.days.N*24*3600
	s.Collections = int(r.cycles.N*s.Seconds + 0.5)
	for i, a := range [...]*needs.Amount{&r.has.Limit, &r.has.Request} {
		f := r.amounts[4*i:]
		*a = needs.Amount{N: int(f[0].N), Sum: f[1].N, Least: f[2].N, Most: f[3].N}
	}
	if n := r.has.Limit.Least; r.has.Limit.N > 0 {
		s.Limit.Know(int64(n), "")
	}
	for _, f := range []*figure.Of[float64]{&s.Live, &s.Allocated, &s.GCCores, &s.Rest, &s.Other} {
		f.Because("agents have not exported it: Go is too old, or several Go processes share a container")
	}
	s.CPUMost.Because("agents look once in a while")
}

// figures are those of needs.Names, in their order.
func (r *recorded) figures() [len(needs.Names)]*figure.Of[float64] {
	s, a := &r.seen, r.amounts
	return [...]*figure.Of[float64]{
		&s.Live, &s.LiveMost, &s.Rest, &s.Other, &s.Used, &s.Allocated, &r.burst,
		&s.CPUMean, &s.CPUHigh, &s.GCCores, &r.cycles, &s.Goal, &s.Throttled,
		&a[0], &a[1], &a[2], &a[3], &a[4], &a[5], &a[6], &a[7],
	}
}

// hows are the functions of Prometheus that merge the figures of nodes and hours.
var hows = map[string]string{"mean": "avg", "least": "min", "most": "max", "p95": "max", "sum": "sum", "count": "sum"}

// text returns the query for a figure. The mean is that of all nodes, and the most that of all nodes and hours;
// limits are those of now. Right after the start there is only what is now.
func text(of needs.Stat) string {
	how := hows[of.Stat]
	series := fmt.Sprintf("snug_go_workload_%s{stat=%q}", of.Name, of.Stat)
	over := series
	if of.Name != "memory_limit_bytes" && of.Name != "cpu_request_cores" {
		if of.Stat == "least" {
			how = "avg" // each node's is the least of its containers
		}
		over = fmt.Sprintf("%s_over_time(%s%s) or %s", how, series, history, series)
	}
	return how + " " + workloadBy + "(" + over + ")"
}
