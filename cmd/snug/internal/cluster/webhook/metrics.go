// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/bound"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/learned"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/review"
	"github.com/snug-go/snug/cmd/snug/internal/profile/promtext"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// metrics holds the counters of a webhook, by path. Labels have few values, none from a review.
type metrics struct {
	mu    sync.Mutex
	paths map[string]*pathMetrics
	more  []func(*promtext.Page)
}

// pathMetrics holds the metrics of one path. All its series exist from the start.
type pathMetrics struct {
	outcomes map[review.Outcome]*atomic.Int64
	reasons  map[string]*atomic.Int64

	mu      sync.Mutex
	buckets [len(bounds)]uint64 // answers at or below the bound and above the previous one
	count   uint64
	seconds float64
}

// bounds are the upper bounds of the buckets of answer times, in seconds.
var bounds = [...]float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1}

// refusals are the reasons for not answering a review.
var refusals = []string{"busy", "share", "large", "cut"}

// of returns the metrics of a path.
func (m *metrics) of(path string) *pathMetrics {
	p := &pathMetrics{outcomes: map[review.Outcome]*atomic.Int64{}, reasons: map[string]*atomic.Int64{}}
	for _, o := range review.Outcomes {
		p.outcomes[o] = new(atomic.Int64)
	}
	for _, reason := range refusals {
		p.reasons[reason] = new(atomic.Int64)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.paths == nil {
		m.paths = map[string]*pathMetrics{}
	}
	m.paths[path] = p
	return p
}

func (p *pathMetrics) done(o review.Outcome, took time.Duration) {
	p.outcomes[o].Add(1)
	s := took.Seconds()
	i, _ := slices.BinarySearch(bounds[:], s)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	p.seconds += s
	if i < len(bounds) {
		p.buckets[i]++
	}
}

func (p *pathMetrics) refused(reason string) { p.reasons[reason].Add(1) }

// ServeHTTP serves Prometheus.
func (m *metrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	m.mu.Lock()
	paths := maps.Clone(m.paths)
	m.mu.Unlock()
	names := slices.Sorted(maps.Keys(paths))
	var page promtext.Page
	page.Family("snug_webhook_reviews_total", "Reviews answered, by path and outcome.", promtext.Counter)
	for _, name := range names {
		for _, o := range review.Outcomes {
			page.Sample(float64(paths[name].outcomes[o].Load()), labelled("outcome", string(o), "path", name))
		}
	}
	page.Family("snug_webhook_refused_total",
		"Reviews not answered, by path and reason: busy, share, large, cut.", promtext.Counter)
	for _, name := range names {
		for _, reason := range refusals {
			page.Sample(float64(paths[name].reasons[reason].Load()), labelled("path", name, "reason", reason))
		}
	}
	page.Family("snug_webhook_review_duration_seconds",
		"Time from the header of a request to the answer, by path.", promtext.Histogram)
	for _, name := range names {
		p := paths[name]
		p.mu.Lock()
		buckets, seconds, count := p.buckets, p.seconds, p.count
		p.mu.Unlock()
		for i := 1; i < len(buckets); i++ {
			buckets[i] += buckets[i-1]
		}
		page.Buckets(bounds[:], buckets[:], seconds, count, labelled("path", name))
	}
	for _, add := range m.more {
		add(&page)
	}
	page.Self(finding.NewBuild().Version)
	w.Header().Set("Content-Type", promtext.ContentType)
	_, _ = io.WriteString(w, page.String())
}

// labelled returns labels from names, sorted, and their values.
func labelled(pairs ...string) promtext.Labels {
	var all []promtext.Label
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, promtext.Label{Name: pairs[i], Value: pairs[i+1]})
	}
	return promtext.Text(all...)
}

// ValidUntil returns a metric of the end of the certificate in use.
func ValidUntil(until func() time.Time) func(*promtext.Page) {
	return func(p *promtext.Page) {
		end := 0.0
		if t := until(); !t.IsZero() {
			end = float64(t.Unix())
		}
		p.Family("snug_webhook_certificate_expiry_timestamp_seconds",
			"End of validity of the certificate in use; 0 = none.", promtext.Gauge)
		p.Sample(end, "")
	}
}

// Learned returns metrics of the known programs and of the agents.
func Learned(k *learned.Keeper) func(*promtext.Page) {
	return func(p *promtext.Page) {
		known := 0
		if f := k.Facts(); f != nil {
			known = f.Len()
		}
		asked, silent := k.Asked()
		for _, m := range []struct {
			name, help string
			n          int
		}{
			{"snug_webhook_facts", "Containers of workloads with a known program.", known},
			{"snug_webhook_facts_dropped",
				"Containers with a learned program for which the ConfigMap had no room.", k.Dropped()},
			{"snug_webhook_agents", "Agents asked in the last round.", asked},
			{"snug_webhook_agents_silent", "Agents asked in the last round that did not answer.", silent},
		} {
			p.Family(m.name, m.help, promtext.Gauge)
			p.Sample(float64(m.n), "")
		}
	}
}

// cut is the metric of what clients lost.
func (w *Webhook) cut(p *promtext.Page) {
	p.Family("snug_webhook_cut_total", "What clients lost, or in review_memory were refused, because they held too much "+
		"(reason=client), most while all was taken (full), or came too often (rate).", promtext.Counter)
	sample := func(of, reason string, n int64) { p.Sample(float64(n), labelled("of", of, "reason", reason)) }
	for _, b := range []struct {
		name string
		of   *bound.Budget
	}{{"connections", &w.conns}, {"requests", &w.requests}, {"review_memory", &w.bytes}, {"state_connections", &w.state}} {
		_, cut := b.of.Held()
		sample(b.name, "client", cut.Client)
		sample(b.name, "full", cut.Full)
	}
	sample("connections", "rate", w.rate.Refused())
}
