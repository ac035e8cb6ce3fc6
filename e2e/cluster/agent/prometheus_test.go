// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/prom"
)

// TestPrometheus: Debian's Prometheus scrapes an agent, and answers queries about it.
func TestPrometheus(t *testing.T) {
	gate.Root(t, "prometheus")
	all := pods()
	s := serve(t, start(t, all), "--interval", "1s")
	until(t, "a second scan", func() bool {
		_, text := s.get(t, "/metrics")
		return bytes.Contains(text, []byte("cpu_throttled_ratio{"))
	})
	_, text := s.get(t, "/metrics")
	for _, secret := range []string{"hunter2", "hunter3", "SECRET", "/server"} {
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("the metrics have %s", secret)
		}
	}
	check := exec.Command("promtool", "check", "metrics")
	check.Stdin = bytes.NewReader(text)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
	server := prom.Start(t, t.TempDir(), fmt.Sprintf(`global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
  - job_name: snug
    static_configs: [{targets: [%q]}]
`, strings.TrimPrefix(s.url, "http://")))
	of := func(name string) string {
		return fmt.Sprintf(`{pod_uid="%s",container_id="%s"}`, all[name].uid, all[name].id[:12])
	}
	for _, c := range []struct{ name, query string }{
		{"it is scraped", `up == 1`},
		{"all containers", fmt.Sprintf(`count(snug_go_container_info{pod_uid=~"%s-.*"}) == %d`, run(), len(all))},
		{"who set it", `snug_go_container_info{go_version="go1.24.13",container_aware="false",gomaxprocs_by="environment"} and on(pod_uid) snug_go_container_gomaxprocs` + of("old") + ` == 8`},
		{"the quota", `snug_go_container_cpu_quota_cores` + of("old") + ` == 0.1`},
		{"GOMAXPROCS above the quota and throttled", `snug_go_container_gomaxprocs` + of("old") + ` > 2 * snug_go_container_cpu_quota_cores and snug_go_container_cpu_throttled_ratio > 0.2`},
		{"GOMEMLIMIT above the limit", `snug_go_container_gomemlimit_bytes` + of("blind") + ` > snug_go_container_memory_limit_bytes`},
		{"the finding", `snug_go_container_finding{id="gomemlimit-above-limit",severity="warning"} and on(pod_uid) snug_go_container_info` + of("blind")},
		{"an OOM kill", `snug_go_container_oom_kills_total` + of("spent") + ` == 1`},
		{"the limit", `snug_go_container_memory_limit_bytes` + of("old") + ` == 268435456`},
		{"GOMEMLIMIT off", `snug_go_container_gomemlimit_bytes` + of("plain") + ` == +Inf`},
		{"no quota, no series", `absent(snug_go_container_cpu_throttled_ratio` + of("plain") + `) and absent(snug_go_container_cpu_quota_cores` + of("plain") + `) and absent(snug_go_container_cpu_periods_total` + of("plain") + `)`},
		{"no memory limit, no series", `absent(snug_go_container_memory_limit_bytes` + of("plain") + `)`},
		{"it collects garbage", `rate(snug_go_container_gc_cycles_total` + of("old") + `[5s]) > 0`},
		{"it runs", `rate(snug_go_container_cpu_seconds_total` + of("old") + `[5s]) > 0.01`},
		{"scans go on", `rate(snug_agent_scans_total[5s]) > 0`},
		{"nothing was denied", `snug_agent_processes_skipped{reason="denied"} >= 0`},
		{"the agent's own CPU time", `process_cpu_seconds_total > 0`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for late := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
				got := server.Query(t, c.query)
				if len(got) == 1 {
					return
				}
				if time.Now().After(late) {
					t.Fatalf("%s: %d series, want 1: %v\n%v", c.query, len(got), got, server.Query(t, `{__name__=~"snug_.*|up"}`))
				}
			}
		})
	}
}
