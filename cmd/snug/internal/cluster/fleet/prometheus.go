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
)

const (
	// history is how far back the figures of agents are asked for, once an hour: they change slowly, and an agent that
	// forgot at a restart has left them.
	history = "[7d:1h]"
	// queryTimeout bounds the time of a query, maxQuery its answer in bytes.
	queryTimeout = 30 * time.Second
	maxQuery     = 64 << 20
	workloadBy   = "by (namespace, workload, container) "
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
		return nil, message.Usage("wrong value, --prometheus "+message.Typed(address), "write an address such as http://localhost:9090")
	}
	return &Prometheus{at: at, client: &http.Client{Timeout: queryTimeout}}, nil
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

// query returns the vector of a query as of now.
func (p *Prometheus) query(ctx context.Context, q string) ([]sample, error) {
	at := p.at.JoinPath("api/v1/query")
	at.RawQuery = url.Values{"query": {q}}.Encode()
	failed := func(what string) error {
		return message.Failed("Prometheus does not answer: "+what+", "+message.Typed(p.at.Redacted()), "curl "+message.Quote(p.at.JoinPath("api/v1/query").Redacted()+"?query=up")+" has to answer")
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
		return nil, failed(message.Reason(err))
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxQuery+1))
	if err != nil {
		return nil, failed(message.Reason(err))
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
	case len(text) > maxQuery:
		return nil, failed("it is too long")
	case err != nil || a.Status == "":
		return nil, failed(response.Status)
	case a.Status != "success":
		return nil, failed(message.Clean(a.Error))
	case a.Data.ResultType != "vector" || json.Unmarshal(a.Data.Result, &all) != nil:
		return nil, failed("no vector")
	}
	return all, nil
}

// recorded is what a Prometheus has of a workload.
type recorded struct {
	seen   size.Seen
	has    needs.Has
	cycles float64 // a second
}

// Sizes returns what workloads need at a price, by what agents have exported of them in the last week.
func (p *Prometheus) Sizes(ctx context.Context, f Filter, price size.Price) (*finding.FleetSize, error) {
	d := &finding.FleetSize{Head: finding.NewHead(finding.KindFleetSize), At: time.Now().UTC().Format(time.RFC3339), Silent: []finding.SilentAgent{}, Unknown: []finding.Gap{},
		Price: finding.SizePrice{Core: price.Core, GiB: price.GiB, From: price.From()}}
	info, err := p.query(ctx, "sum by (namespace, workload, container, go, gogc, gomaxprocs) (snug_go_workload_info)")
	if err != nil {
		return nil, err
	}
	if len(info) == 0 {
		return nil, message.Failed("no snug_go_workload_info in this Prometheus, "+message.Typed(p.at.Redacted()), "it has to scrape the agents, of this version of snug: monitoring.serviceMonitor.enabled=true of the chart")
	}
	of := map[needs.Key]*recorded{}
	for i := range info {
		if key := keyOfSeries(&info[i]); f.passesKey(&key) {
			if of[key] == nil {
				of[key] = &recorded{}
			}
			of[key].add(&info[i])
		}
	}
	every, err := p.query(ctx, "max(snug_agent_scan_interval_seconds)")
	if err != nil {
		return nil, err
	}
	agents, err := p.query(ctx, "count(snug_agent_scan_interval_seconds)")
	if err != nil {
		return nil, err
	}
	for _, s := range agents {
		d.Agents = int(s.Value)
	}
	for _, q := range queries {
		found, err := p.query(ctx, q.text)
		if err != nil {
			return nil, err
		}
		for i := range found {
			if r := of[keyOfSeries(&found[i])]; r != nil && found[i].Value >= 0 {
				q.set(r, float64(found[i].Value))
			}
		}
	}
	for key, r := range of {
		for _, s := range every {
			r.seen.Every = float64(s.Value)
		}
		r.finish()
		d.Workloads = append(d.Workloads, sized(&key, &r.seen, &r.has, price))
	}
	total(d)
	return d, nil
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
	s.Seconds = s.Days * 24 * 3600
	s.Collections = int(r.cycles*s.Seconds + 0.5)
	if n := r.has.Limit.Least; r.has.Limit.N > 0 {
		s.Limit.Know(int64(n), "")
	}
	for _, f := range []*figure.Of[float64]{&s.Live, &s.Allocated, &s.GCCores, &s.Rest, &s.Other} {
		f.Because("agents have not exported it: Go is too old, or several Go processes share a container")
	}
	s.CPUMost.Because("agents look once in a while")
}

// query is one of the queries, and what its values are.
type query struct {
	text string
	set  func(*recorded, float64)
}

// queries are all for figures. The mean is that of all nodes, and the most that of all nodes and hours.
var queries = slices.Concat(
	[]query{{"max " + workloadBy + "(count_over_time(snug_go_workload_seen_seconds" + history + ") / 24 or snug_go_workload_seen_seconds / 86400)", func(r *recorded, v float64) { r.seen.Days = v }}},
	over("avg", "heap_live_bytes", "mean", func(r *recorded) *figure.Of[float64] { return &r.seen.Live }),
	over("max", "heap_live_bytes", "most", func(r *recorded) *figure.Of[float64] { return &r.seen.LiveMost }),
	over("avg", "go_rest_bytes", "least", func(r *recorded) *figure.Of[float64] { return &r.seen.Rest }),
	over("max", "other_bytes", "most", func(r *recorded) *figure.Of[float64] { return &r.seen.Other }),
	over("max", "used_bytes", "most", func(r *recorded) *figure.Of[float64] { return &r.seen.Used }),
	over("avg", "allocated_bytes_per_second", "mean", func(r *recorded) *figure.Of[float64] { return &r.seen.Allocated }),
	over("avg", "cpu_cores", "mean", func(r *recorded) *figure.Of[float64] { return &r.seen.CPUMean }),
	over("max", "cpu_cores", "p95", func(r *recorded) *figure.Of[float64] { return &r.seen.CPUHigh }),
	over("avg", "gc_cpu_cores", "mean", func(r *recorded) *figure.Of[float64] { return &r.seen.GCCores }),
	over("avg", "heap_goal_bytes", "mean", func(r *recorded) *figure.Of[float64] { return &r.seen.Goal }),
	over("avg", "throttled_ratio", "mean", func(r *recorded) *figure.Of[float64] { return &r.seen.Throttled }),
	[]query{
		{text("max", "allocated_bytes_per_second", "p95"), func(r *recorded, v float64) { r.seen.Burst = v }},
		{text("avg", "gc_cycles_per_second", "mean"), func(r *recorded, v float64) { r.cycles = v }},
	},
	amount("memory_limit_bytes", func(r *recorded) *needs.Amount { return &r.has.Limit }),
	amount("cpu_request_cores", func(r *recorded) *needs.Amount { return &r.has.Request }),
)

func over(how, name, stat string, to func(*recorded) *figure.Of[float64]) []query {
	return []query{{text(how, name, stat), func(r *recorded, v float64) { to(r).Know(v, "") }}}
}

// text returns the query for a figure over nodes and time; right after the start there is only the present one.
func text(how, name, stat string) string {
	series := fmt.Sprintf("snug_go_workload_%s{stat=%q}", name, stat)
	return fmt.Sprintf("%s %s(%s_over_time(%s%s) or %s)", how, workloadBy, how, series, history, series)
}

// amount returns the queries for a limit as it is now. Of containers that are not counted it is unknown.
func amount(name string, to func(*recorded) *needs.Amount) []query {
	now := func(how, stat string) string {
		return fmt.Sprintf("%s %s(snug_go_workload_%s{stat=%q})", how, workloadBy, name, stat)
	}
	return []query{
		{now("sum", "count"), func(r *recorded, v float64) { to(r).N = int(v) }},
		{now("sum", "sum"), func(r *recorded, v float64) { to(r).Sum = v }},
		{now("min", "least"), func(r *recorded, v float64) { to(r).Least = v }},
		{now("max", "most"), func(r *recorded, v float64) { to(r).Most = v }},
	}
}
