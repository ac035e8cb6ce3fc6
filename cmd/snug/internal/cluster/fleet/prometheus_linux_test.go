// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/size"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// exported is what the agent of a node exports of a workload with a live heap in MiB, seen for some days.
func exported(name string, live, days float64) string {
	of := fmt.Sprintf(`namespace="shop",workload="Deployment/%s",container="app"`, name)
	var b strings.Builder
	add := func(name, stat string, v float64) {
		fmt.Fprintf(&b, "snug_go_workload_%s{%s,stat=%q} %v\n", name, of, stat, v)
	}
	fmt.Fprintf(&b, "snug_go_workload_info{%s,go=\"1.26\",gogc=\"100\",gomaxprocs=\"4\"} 2\nsnug_go_workload_seen_seconds{%s} %v\n", of, of, days*24*3600)
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

// scraped is a real server that scrapes agents that export this until the test ends, and how to wait for it: again fails
// if it is late.
func scraped(t *testing.T, agents ...string) (p *Prometheus, again func(what any)) {
	t.Helper()
	if !strings.Contains(","+os.Getenv("SNUG_E2E")+",", ",prometheus,") {
		t.Skip("set SNUG_E2E=prometheus to run Prometheus")
	}
	var targets []string
	for _, text := range agents {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			fmt.Fprint(w, "snug_agent_scan_interval_seconds 15\n"+text)
		}))
		t.Cleanup(s.Close)
		targets = append(targets, strconv.Quote(strings.TrimPrefix(s.URL, "http://")))
	}
	dir := t.TempDir()
	file, log := filepath.Join(dir, "prometheus.yml"), filepath.Join(dir, "log")
	config := fmt.Sprintf("global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n- {job_name: snug, honor_labels: true, static_configs: [{targets: [%s]}]}\n", strings.Join(targets, ", "))
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	cmd := exec.Command("prometheus", "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "tsdb"), "--web.listen-address=127.0.0.1:0")
	cmd.Stderr = out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	listening := regexp.MustCompile(`msg="Listening on".* address=(127\.0\.0\.1:[1-9][0-9]*)`)
	var m [][]byte
	late := time.Now().Add(3 * time.Minute)
	again = func(what any) {
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
	p, err = NewPrometheus("http://" + string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return p, again
}

// TestPrometheusReal: a real server adds up what two agents have exported.
func TestPrometheusReal(t *testing.T) {
	p, again := scraped(t, exported("web", 40, 2), exported("web", 60, 2))
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

// TestAlertAgrees: what the chart's alert GoNeedAboveLimit is about may be killed, by the decision of snug size. The
// runbook says why snug size finds more.
func TestAlertAgrees(t *testing.T) {
	text, err := os.ReadFile("../../../../../deploy/helm/snug/files/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ = bytes.Cut(text, []byte("- alert: GoNeedAboveLimit\n        expr: |\n"))
	expr, _, ok := bytes.Cut(text, []byte("        for: "))
	if !ok {
		t.Fatal("there is no such alert")
	}
	var old, young strings.Builder
	for live := 20.0; live <= 600; live += 20 {
		old.WriteString(exported(fmt.Sprintf("old-%v", live), live, 2))
		young.WriteString(exported(fmt.Sprintf("young-%v", live), live, 0.5))
	}
	p, again := scraped(t, old.String(), young.String())
	var d *finding.FleetSize
	for {
		if d, err = p.Sizes(t.Context(), Filter{}, size.Fargate); err == nil && d.Agents == 2 {
			break
		}
		again(fmt.Sprint(d, err))
	}
	found, err := p.query(t.Context(), string(expr))
	if err != nil {
		t.Fatal(err)
	}
	fires := map[string]bool{}
	for _, s := range found {
		fires[s.Metric["workload"]] = true
	}
	both, more := 0, 0
	for _, w := range d.Workloads {
		risk := len(w.Risks) > 0 && w.Risks[0].Code == finding.SizeKilled
		switch {
		case fires[*w.Name] && !risk:
			t.Errorf("the alert fires for %s: %v", *w.Name, w.Risks)
		case fires[*w.Name]:
			both++
		case risk:
			more++
			t.Logf("the alert does not fire for %s: %s", *w.Name, w.Risks[0].Code)
		}
	}
	if both != len(found) || both < 10 || more > both/2 {
		t.Errorf("of %d workloads the alert fires for %d, and snug size finds %d of them and %d more", len(d.Workloads), len(found), both, more)
	}
}
