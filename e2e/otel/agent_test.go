// SPDX-License-Identifier: Apache-2.0

package otel

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/internal/cgv1"
	"github.com/snug-go/snug/e2e/internal/daemon"
	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/kubebuild"
	"github.com/snug-go/snug/e2e/internal/programs"
)

// conventional are the names that --conventional adds, with their type, and whether the program, which has
// OpenTelemetry's instrumentation of the Go runtime, sends them too.
var conventional = map[string]struct {
	kind string
	sent bool
}{
	"go_processor_limit":           {"gauge", true},
	"go_memory_limit_bytes":        {"gauge", true},
	"go_config_gogc_percent":       {"gauge", true},
	"go_memory_gc_goal_bytes":      {"gauge", true},
	"go_goroutine_count":           {"gauge", true},
	"go_memory_gc_cycles_total":    {"counter", false},
	"go_schedule_duration_seconds": {"histogram", false},
}

// TestAgent: a real Collector scrapes an agent with --conventional. The figures of a program come out by the
// same names as those that the program sends itself by OTLP, and with the same values.
func TestAgent(t *testing.T) {
	gate.Root(t, "otel")
	free, err := daemon.FreeAddresses(4)
	if err != nil {
		t.Fatal(err)
	}
	otlp, sent, scraped, agent := free[0], free[1], free[2], free[3]
	collector := daemon.Start(t, t.TempDir(), kubebuild.Command(t, "otelcol"), "--config", fmt.Sprintf(`yaml:
receivers:
  otlp: {protocols: {http: {endpoint: %q}}}
  prometheus: {config: {scrape_configs: [{job_name: snug, scrape_interval: 1s, scrape_timeout: 1s, static_configs: [{targets: [%q]}]}]}}
exporters: {prometheus/sent: {endpoint: %q}, prometheus/scraped: {endpoint: %q}}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    metrics/sent: {receivers: [otlp], exporters: [prometheus/sent]}
    metrics/scraped: {receivers: [prometheus], exporters: [prometheus/scraped]}
`, otlp, agent, sent, scraped))
	startAgent(t, agent, inPod(t, "GOMAXPROCS=3", "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+otlp))

	from := func(address string) string { return get("http://" + address + "/metrics") }
	const of = `\{(.*,)?container="app",(.*,)?namespace="shop",(.*,)?pod="web-5d4f7c9b6d-x7k2p"[^}]*\} `
	values := map[string]string{"go_processor_limit": "3", "go_memory_limit_bytes": `4\.194304e\+08`, "go_config_gogc_percent": "150"}
	for name, c := range conventional {
		series, value := name, values[name]
		if c.kind == "histogram" {
			series += "_count"
		}
		if value == "" {
			value = `[1-9][0-9.e+]*`
		}
		for at, labels := range map[string]string{scraped: of, sent: `\{[^}]*\} `} {
			if at == sent && !c.sent {
				continue
			}
			there := regexp.MustCompile("(?m)^# TYPE " + name + " " + c.kind + "\n(.*\n)*" + series + labels + value + "$")
			for deadline := time.Now().Add(hang); !there.MatchString(from(at)); time.Sleep(100 * time.Millisecond) {
				if time.Now().After(deadline) || collector.Ended() != nil {
					t.Fatalf("no %s:\n%s\n%s", there, from(at), collector.Log())
				}
			}
		}
	}
	text := from(scraped)
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (go_\S+) (\S+)$`).FindAllStringSubmatch(text, -1) {
		if c, ok := conventional[m[1]]; m[1] != "go_info" && m[1] != "go_goroutines" && (!ok || c.kind != m[2]) { // those two are of the agent itself
			t.Errorf("another name by convention: %s, a %s", m[1], m[2])
		}
	}
	if !strings.Contains(text, "\nsnug_go_container_gomaxprocs{") {
		t.Error("snug's own names are gone")
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "go_") && strings.Contains(line, `pod="web-`) {
			t.Log(line)
		}
	}
}

// inPod runs the program in a group with the name of a container's, until the test ends, and returns the id of
// the container.
func inPod(t *testing.T, env ...string) (id string) {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "program")
	if out, err := exec.Command("go", "build", "-o", exe, "./program").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	id = strings.Repeat(fmt.Sprintf("%08x", os.Getpid()), 8)
	group := fmt.Sprintf("/kubepods/burstable/pod%08x-0000-4000-8000-000000000001/%s", os.Getpid(), id)
	groups := map[string]map[string]string{}
	for at := group; at != "/"; at = filepath.Dir(at) {
		groups[at] = map[string]string{}
	}
	base := cgv1.New(t, "cpu", "memory")
	base.Make(t, map[string]map[string]map[string]string{"cpu": groups, "memory": groups})
	cmd := base.Command(t, group, exe)
	cmd.SysProcAttr.Pdeathsig = 0 // this thread may end before
	cmd.Env, cmd.Stderr = append(env, "GOGC=150", "GOMEMLIMIT=400MiB"), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Process.Kill(); cmd.Wait() })
	return id
}

// startAgent runs an agent at an address. It has the names of a container from its node.
func startAgent(t *testing.T, address, id string) {
	t.Helper()
	dir := t.TempDir()
	snug, root := filepath.Join(dir, "snug"), filepath.Join(dir, "root")
	if err := programs.BuildTool(programs.Root(t), snug); err != nil {
		t.Fatal(err)
	}
	logs := filepath.Join(root, "var/log/containers")
	if err := errors.Join(os.MkdirAll(logs, 0o755), os.MkdirAll(filepath.Join(root, "sys/fs/cgroup"), 0o755),
		os.WriteFile(filepath.Join(logs, "web-5d4f7c9b6d-x7k2p_shop_app-"+id+".log"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	// In a mount namespace of its own, which ends with it.
	daemon.Start(t, dir, "unshare", "--mount", "--propagation", "private", "sh", "-c", `mount --rbind /sys/fs/cgroup "$0/sys/fs/cgroup" && exec "$@"`,
		root, snug, "agent", "--listen", address, "--interval", "1s", "--conventional", "--root", root, "--names=node")
}
