// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/size"
)

// exported is what the agent of a node exports of a workload with a live heap in MiB.
func exported(live float64) string {
	const of = `namespace="shop",workload="Deployment/web",container="app"`
	var b strings.Builder
	add := func(name, stat string, v float64) {
		fmt.Fprintf(&b, "snug_go_workload_%s{%s,stat=%q} %v\n", name, of, stat, v)
	}
	fmt.Fprintf(&b, "snug_agent_scan_interval_seconds 15\nsnug_go_workload_info{%s,go=\"1.26\",gogc=\"100\",gomaxprocs=\"4\"} 2\nsnug_go_workload_seen_seconds{%s} 172800\n", of, of)
	add("memory_limit_bytes", "count", 2)
	add("memory_limit_bytes", "sum", 2048*mib)
	add("memory_limit_bytes", "least", 512*mib)
	add("memory_limit_bytes", "most", 1536*mib)
	add("heap_live_bytes", "mean", live*mib)
	add("heap_live_bytes", "most", 1.1*live*mib)
	add("go_rest_bytes", "least", 10*mib)
	add("other_bytes", "most", 5*mib)
	add("used_bytes", "most", 2.5*live*mib)
	add("allocated_bytes_per_second", "mean", 20*mib)
	add("allocated_bytes_per_second", "p95", 30*mib)
	add("cpu_cores", "mean", 0.2)
	add("cpu_cores", "p95", 0.3)
	add("gc_cpu_cores", "mean", 0.01)
	add("gc_cycles_per_second", "mean", 0.4)
	add("heap_goal_bytes", "mean", 2*live*mib)
	return b.String()
}

// TestPrometheusReal: a real server adds up what two agents have exported.
func TestPrometheusReal(t *testing.T) {
	if !strings.Contains(","+os.Getenv("SNUG_E2E")+",", ",prometheus,") {
		t.Skip("set SNUG_E2E=prometheus to run Prometheus")
	}
	var targets []string
	for _, live := range []float64{40, 60} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			fmt.Fprint(w, exported(live))
		}))
		defer s.Close()
		targets = append(targets, strings.TrimPrefix(s.URL, "http://"))
	}
	dir := t.TempDir()
	file, log := filepath.Join(dir, "prometheus.yml"), filepath.Join(dir, "log")
	config := fmt.Sprintf("global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n- {job_name: snug, honor_labels: true, static_configs: [{targets: [%q, %q]}]}\n", targets[0], targets[1])
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command("prometheus", "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "tsdb"), "--web.listen-address=127.0.0.1:0")
	cmd.Stderr = out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	listening := regexp.MustCompile(`msg="Listening on".* address=(127\.0\.0\.1:[1-9][0-9]*)`)
	var m [][]byte
	late := time.Now().Add(3 * time.Minute)
	again := func(what any) {
		t.Helper()
		if time.Now().After(late) {
			text, _ := os.ReadFile(log)
			t.Fatalf("%v\n%s", what, text)
		}
		time.Sleep(100 * time.Millisecond)
	}
	for m == nil {
		text, _ := os.ReadFile(log)
		if m = listening.FindSubmatch(text); m == nil {
			again("it does not listen")
		}
	}
	p, err := NewPrometheus("http://" + string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	for {
		d, err := p.Sizes(t.Context(), Filter{}, size.Fargate)
		if err != nil || d.Agents != 2 || d.Containers != 4 {
			again(fmt.Sprint(d, err))
			continue
		}
		w := d.Workloads[0]
		s := &w.Seen
		if !close(s.Live.N, 50*mib) || !close(s.LiveMost.N, 1.1*60*mib) || s.CPUHigh.N != 0.3 || w.Days != 2 || w.HasMemory.Least.N != 512*mib || w.HasMemory.Most.N != 1536*mib || !w.Modeled {
			t.Errorf("%+v", w)
		}
		if want := size.Fargate.GiB * 4 * (1024 - *w.Memory.Value/mib) / 1024; !close(*w.Saves, want) {
			t.Errorf("saves %v, want %v", *w.Saves, want)
		}
		return
	}
}
