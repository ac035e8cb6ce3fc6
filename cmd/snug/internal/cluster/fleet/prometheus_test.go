// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/needs"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/size"
)

// TestPrometheus: a played server's series become rows; who has none, or only some, is said. TestPrometheusReal
// tries the queries themselves.
func TestPrometheus(t *testing.T) {
	web := map[string]string{"namespace": "shop", "workload": "Deployment/web", "container": "app"}
	with := func(m map[string]string, more ...string) map[string]string {
		out := map[string]string{}
		for k, v := range m {
			out[k] = v
		}
		for i := 0; i < len(more); i += 2 {
			out[more[i]] = more[i+1]
		}
		return out
	}
	old := with(web, "workload", "Deployment/old")
	answers := map[string][]any{}
	put := func(part string, labels map[string]string, v float64) {
		answers[part] = append(answers[part], map[string]any{"metric": labels, "value": []any{1.5e9, fmt.Sprint(v)}})
	}
	put("(snug_go_workload_info)", with(web, "go", "1.26", "gogc", "100", "gomaxprocs", "4"), 3)
	put("(snug_go_workload_info)", with(web, "go", "1.24", "gogc", "200", "gomaxprocs", "8"), 1)
	put("(snug_go_workload_info)", with(old, "go", "1.12"), 1)
	put("max(snug_agent_scan", nil, 15)
	put("count(snug_agent_scan", nil, 7)
	put("seen_seconds[7d:1h]", web, 3.5)
	put("seen_seconds[7d:1h]", old, 0.1)
	put("(snug_go_workload_info)", with(web, "go", "1.1"), math.Inf(1))
	put(`_cpu_cores{stat="mean"}`, old, math.Inf(1))
	put(`_cpu_cores{stat="p95"}`, old, math.NaN())
	for series, v := range map[string]float64{
		`heap_live_bytes{stat="mean"}`: 50 * mib, `heap_live_bytes{stat="most"}`: 55 * mib, `go_rest_bytes{stat="least"}`: 10 * mib, `other_bytes{stat="most"}`: 5 * mib,
		`used_bytes{stat="most"}`: 130 * mib, `allocated_bytes_per_second{stat="mean"}`: 20 * mib, `allocated_bytes_per_second{stat="p95"}`: 30 * mib, `cpu_cores{stat="mean"}`: 0.2,
		`cpu_cores{stat="p95"}`: 0.3, `gc_cpu_cores{stat="mean"}`: 0.01, `gc_cycles_per_second{stat="mean"}`: 0.4, `heap_goal_bytes{stat="mean"}`: 100 * mib,
		`memory_limit_bytes{stat="count"}`: 3, `memory_limit_bytes{stat="sum"}`: 3 * 1024 * mib, `memory_limit_bytes{stat="least"}`: 1024 * mib, `memory_limit_bytes{stat="most"}`: 1024 * mib,
	} {
		put("_"+series, web, v)
	}
	put(`_used_bytes{stat="most"}`, old, 40*mib)
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		q := r.URL.Query().Get("query")
		found := []any{}
		for part, all := range answers {
			if r.URL.Path == "/base/api/v1/query" && strings.Contains(q, part) {
				found = all
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": map[string]any{"resultType": "vector", "result": found}})
	}))
	defer s.Close()
	p, err := NewPrometheus(s.URL + "/base")
	if err != nil {
		t.Fatal(err)
	}
	d, err := p.Sizes(t.Context(), Filter{}, size.Fargate)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Workloads) != 2 || d.Agents != 7 || d.Containers != 5 || int(asked.Load()) != 4+len(needs.Names) {
		t.Fatalf("%d workloads, %d agents, %d containers, %d questions", len(d.Workloads), d.Agents, d.Containers, asked.Load())
	}
	w := d.Workloads[0]
	if *w.Name != "Deployment/web" || w.Containers != 4 || w.Days != 3.5 || !w.Modeled || *w.Memory.Value > 256*mib || *w.Memory.Least < 80*mib || w.HasMemory.Unknown != 1 || w.Seen.GOGC.N != 200 || w.Seen.Procs.N != 8 {
		t.Errorf("%+v", w)
	}
	if want := size.Fargate.GiB * 3 * (1024 - *w.Memory.Value/mib) / 1024; !close(*w.Saves, want) {
		t.Errorf("saves %v, want %v", *w.Saves, want)
	}
	if o := d.Workloads[1]; o.Modeled || o.Memory.Value == nil || *o.Memory.Value < 40*mib || o.Saves != nil || o.CPURequest.Value != nil || o.Memory.Why.Cause == nil || !strings.Contains(o.Memory.Why.Cause.Detail, "agents have not exported it") {
		t.Errorf("%+v", o)
	}
	for _, name := range []string{"old", "shop/Deployment/old/app"} { // the second as it is printed
		if d, err = p.Sizes(t.Context(), Filter{Names: []string{name}}, size.Fargate); err != nil || len(d.Workloads) != 1 {
			t.Errorf("%s: %v, %v", name, d, err)
		}
	}
}

// TestPrometheusRefused: what is no address, no Prometheus, or has no such series is one error with a hint.
func TestPrometheusRefused(t *testing.T) {
	for _, address := range []string{"", "localhost:9090", "ftp://x", "http://", ":", "http://a b"} {
		if _, err := NewPrometheus(address); err == nil {
			t.Errorf("%q is an address", address)
		}
	}
	for answer, want := range map[string]string{
		`<html>`: "its answer is not that of a Prometheus", `{}`: "its answer is not that of a Prometheus", `{"status":"error","error":"bad_data: \u001b[31mtoo many samples"}`: "too many samples", `{"status":"success","data":{"resultType":"matrix","result":[]}}`: "no vector",
		`{"status":"success","data":{"resultType":"vector","result":[{"value":[1,"x"]}]}}`: "no vector", `{"status":"success","data":{"resultType":"vector","result":[]}}`: "no snug_go_workload_info in this Prometheus",
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }))
		p, err := NewPrometheus(strings.Replace(s.URL, "http://", "http://user:secret@", 1))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = p.Sizes(t.Context(), Filter{}, size.Fargate); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %s", answer, err, want)
		}
		s.Close()
		if _, err = p.Sizes(t.Context(), Filter{}, size.Fargate); err == nil || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "query=") {
			t.Error(err)
		}
	}
}

// TestPrometheusUnanswered: what is not an answer is said in plain words.
func TestPrometheusUnanswered(t *testing.T) {
	for answer, want := range map[string]string{
		"": "it closed the connection too early", "SSH-2.0\r\n": "it does not speak HTTP", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{": "it closed the connection too early",
		"HTTP/1.1 500 " + strings.Repeat("x", 300) + "\r\n\r\n": "x... (304 bytes)", "wait": "it takes too long",
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if answer == "wait" {
				<-r.Context().Done()
				return
			}
			if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
				fmt.Fprint(c, answer)
				c.Close()
			}
		}))
		p, err := NewPrometheus(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		if answer == "wait" {
			ctx, stop = context.WithTimeout(t.Context(), 20*time.Millisecond)
		}
		if _, err := p.Sizes(ctx, Filter{}, size.Fargate); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", answer, err, want)
		}
		stop()
		s.Close()
	}
}
