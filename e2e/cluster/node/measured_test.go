// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// recordVariable names a directory for the figures. Without it the runs are few and short, and only
// test that measuring works.
const recordVariable = "SNUG_RECORD"

// run is a fresh pod under load.
type run struct {
	Round int    `json:"round"`
	Case  string `json:"case"`

	GOMAXPROCS string `json:"gomaxprocs"`
	GOMEMLIMIT string `json:"gomemlimit"` // bytes
	Variables  string `json:"variables"`  // of the pod
	answers
	// During the load:
	Periods          int64   `json:"periods"`
	ThrottledPeriods int64   `json:"throttled_periods"`
	ThrottledShare   float64 `json:"throttled_share"` // of the periods
	ThrottledSeconds float64 `json:"throttled_seconds"`
	CPUSeconds       float64 `json:"cpu_seconds"`
	PeakBytes        int64   `json:"peak_bytes"` // of the container's memory, since its start
}

// record is the document of all runs.
type record struct {
	Machine struct {
		CPUs   int    `json:"cpus"`
		Kernel string `json:"kernel"`
	} `json:"machine"`
	Kubernetes string `json:"kubernetes"`
	Go         string `json:"go"` // of the server
	Runs       []run  `json:"runs"`
}

// measured measures the server before and after snug, in turns, each time in a fresh pod. It
// asserts only the knobs; the other figures are recorded.
func (c *cluster) measured(t *testing.T) {
	rounds, warm, counted := 1, time.Second, 2*time.Second
	to := os.Getenv(recordVariable)
	if to != "" {
		rounds, warm, counted = 5, 3*time.Second, 15*time.Second
	}
	cases := []struct{ name, deployment, inject, variables, procs, limit string }{
		{"before", "plain", "disabled", "", fmt.Sprint(runtime.NumCPU()), off},
		{"before, as on 8 CPUs", "eight", "disabled", "", "8", off},
		{"after", "plain", "enabled", injected, "1", fittingBytes},
	}
	var r record
	r.Machine.CPUs, r.Kubernetes, r.Go = runtime.NumCPU(), kubebuild.Kubernetes.Version, old
	r.Machine.Kernel = kernel(t)
	// Run nothing but the measured pod.
	c.deployment(t, "shop", "eight", eightImage, "1", "")
	for _, name := range []string{"plain", "eight", "tight"} {
		c.scale(t, name, 0)
	}
	for round := range rounds {
		for i := range cases {
			k := cases[(i+round)%len(cases)]
			c.scale(t, k.deployment, 1)
			p := c.replace(t, "shop", k.deployment, kube.Object{"snug.dev/inject": k.inject}, k.variables)
			one := c.served(t, &p, warm, counted)
			// A busy machine may have counted nothing: then measure longer.
			end, span := time.Now().Add(deadline), counted
			for one.Failed == 0 && (one.Requests == 0 || one.Periods == 0) && time.Now().Before(end) {
				span *= 2
				one = c.served(t, &p, warm, span)
			}
			one.Round, one.Case = round+1, k.name
			c.scale(t, k.deployment, 0)
			if one.GOMAXPROCS != k.procs || one.GOMEMLIMIT != k.limit {
				t.Errorf("%s: GOMAXPROCS %s and GOMEMLIMIT %s, want %s and %s", k.name, one.GOMAXPROCS, one.GOMEMLIMIT, k.procs, k.limit)
			}
			if one.Requests == 0 || one.Failed > 0 || one.Periods == 0 {
				t.Errorf("%s: %+v", k.name, one)
			}
			t.Logf("%-22s GOMAXPROCS %s: %5.0f/s, p50 %3.0f ms, p99 %3.0f ms, throttled in %2.0f %% of periods, %.1f s",
				k.name, one.GOMAXPROCS, one.PerSecond, one.P50, one.P99, 100*one.ThrottledShare, one.ThrottledSeconds)
			r.Runs = append(r.Runs, one)
		}
	}
	if to == "" {
		return
	}
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(to, "runs.json"), append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, k := range cases {
		names = append(names, k.name)
	}
	if err := os.WriteFile(filepath.Join(to, "table.md"), []byte(table(r.Runs, names)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// served loads a pod and returns its counters.
func (c *cluster) served(t *testing.T, p *pod, warm, span time.Duration) run {
	t.Helper()
	stop := make(chan struct{})
	done := make(chan answers)
	begin := time.Now().Add(warm)
	go func() { done <- load("http://"+p.Status.PodIP+":8080/work", clients, begin, stop) }()
	time.Sleep(warm)
	before := p.counts(t)
	time.Sleep(span)
	after := p.counts(t)
	close(stop)
	one := run{answers: <-done, Variables: p.variables()}
	s := p.self(t)
	one.GOMAXPROCS, one.GOMEMLIMIT = s.Procs, s.Limit
	one.Periods, one.ThrottledPeriods = after.Periods-before.Periods, after.Throttled-before.Throttled
	if one.Periods > 0 {
		one.ThrottledShare = float64(one.ThrottledPeriods) / float64(one.Periods)
	}
	one.ThrottledSeconds = after.ThrottledSeconds - before.ThrottledSeconds
	one.CPUSeconds, one.PeakBytes = after.CPUSeconds-before.CPUSeconds, after.PeakBytes
	return one
}

// scale sets the number of pods of a Deployment in namespace shop. With 0 it waits until its pods
// are gone.
func (c *cluster) scale(t *testing.T, name string, replicas int) {
	t.Helper()
	if a := c.Patch(t, "/apis/apps/v1/namespaces/shop/deployments/"+name, kube.Object{"spec": kube.Object{"replicas": replicas}}); !a.OK() {
		t.Fatal(a.Message())
	}
	if replicas > 0 {
		return
	}
	c.Wait(t, name+" has no pod", func() bool {
		var list struct{ Items []any }
		if err := c.Read("/api/v1/namespaces/shop/pods?labelSelector=app%3D"+name, &list); err != nil {
			t.Fatal(err)
		}
		return len(list.Items) == 0
	})
}

// table formats the median of each figure, with minimum and maximum.
func table(runs []run, cases []string) string {
	var b strings.Builder
	b.WriteString("| case | GOMAXPROCS | GOMEMLIMIT | requests/s | p50 ms | p99 ms | throttled periods % | throttled s | CPU s | peak MiB |\n|--|--|--|--|--|--|--|--|--|--|\n")
	for _, name := range cases {
		of := func(digits int, figure func(run) float64) string {
			var all []float64
			for _, r := range runs {
				if r.Case == name {
					all = append(all, figure(r))
				}
			}
			slices.Sort(all)
			return fmt.Sprintf("%.*f (%.*f to %.*f)", digits, all[len(all)/2], digits, all[0], digits, all[len(all)-1])
		}
		i := slices.IndexFunc(runs, func(r run) bool { return r.Case == name })
		limit := runs[i].GOMEMLIMIT
		if limit == off {
			limit = "off"
		} else if n, err := strconv.ParseInt(limit, 10, 64); err == nil {
			limit = fmt.Sprintf("%d MiB", n>>20)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", name, runs[i].GOMAXPROCS, limit,
			of(0, func(r run) float64 { return r.PerSecond }), of(1, func(r run) float64 { return r.P50 }), of(0, func(r run) float64 { return r.P99 }),
			of(0, func(r run) float64 { return 100 * r.ThrottledShare }), of(1, func(r run) float64 { return r.ThrottledSeconds }),
			of(1, func(r run) float64 { return r.CPUSeconds }), of(0, func(r run) float64 { return float64(r.PeakBytes) / (1 << 20) }))
	}
	return b.String()
}
