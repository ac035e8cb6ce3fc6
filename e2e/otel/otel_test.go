// SPDX-License-Identifier: Apache-2.0

// Package otel has a real Collector receive what a program sends by contrib/otel.
package otel

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/internal/daemon"
	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// hang is when something that takes a few seconds counts as stuck.
const hang = 30 * time.Second

// TestCollector: the figures arrive, those of the runtime by their conventional names, and come out
// for Prometheus as contrib/prometheus names and labels them.
func TestCollector(t *testing.T) {
	gate.Need(t, "otel")
	free, err := daemon.FreeAddresses(2)
	if err != nil {
		t.Fatal(err)
	}
	in, out := free[0], free[1]
	collector := daemon.Start(t, t.TempDir(), kubebuild.Command(t, "otelcol"), "--config", fmt.Sprintf(`yaml:
receivers: {otlp: {protocols: {http: {endpoint: %q}}}}
exporters: {prometheus: {endpoint: %q}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {metrics: {receivers: [otlp], exporters: [prometheus]}}
`, in, out))
	startProgram(t, "http://"+in)

	var got string
	for deadline := time.Now().Add(hang); missing(got) != ""; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) || collector.Ended() != nil {
			t.Fatalf("no %s:\n%s\n%s", missing(got), got, collector.Log())
		}
		got = get("http://" + out + "/metrics")
	}
	t.Log(got)

	readme, err := os.ReadFile("../../contrib/prometheus/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range regexp.MustCompile(`(?m)^# TYPE (snug_\S+) (\S+)$`).FindAllStringSubmatch(got, -1) {
		if !strings.Contains(string(readme), "\n| `"+f[1]) {
			t.Errorf("contrib/prometheus has no %s", f[1])
		}
		if kind := map[bool]string{true: "counter", false: "gauge"}[strings.HasSuffix(f[1], "_total")]; f[2] != kind {
			t.Errorf("%s is a %s, want %s", f[1], f[2], kind)
		}
	}
	if strings.Contains(got, "NaN") {
		t.Error("something is NaN")
	}
}

// wanted are series that must arrive, with regular expressions for values. GOMEMLIMIT and GOGC are
// those of startProgram.
var wanted = []string{
	`snug_watching{.*} 1`,
	`snug_failed{.*} 0`,
	`snug_cpu_limit_cores{.*} [0-9.]+`,
	`snug_polls_total{.*} [1-9][0-9]*`,
	`snug_pressure_level{.*level="calm".*} 1`,
	`snug_verdict{.*verdict="unknown".*} [01]`,
	`snug_knob_given_up{.*knob="GOGC".*} 0`,
	`snug_plan_info{.*knob="GOMAXPROCS".*} 1`,
	`snug_memory_unreclaimable_bytes{.*} [0-9.e+]+`,
	`go_processor_limit\S*{.*} [1-9][0-9]*`,
	`go_memory_limit_bytes{.*} 4.194304e\+08`,
	`go_config_gogc_percent{.*} 150`,
	`go_memory_used_bytes{.*go_memory_type="other".*} [0-9.e+]+`,
}

// missing returns the first of the wanted series that a text lacks, or "".
func missing(text string) string {
	i := slices.IndexFunc(wanted, func(w string) bool { return !regexp.MustCompile("(?m)^" + w + "$").MatchString(text) })
	if i < 0 {
		return ""
	}
	return wanted[i]
}

// get returns what is at a URL, or "" while nothing answers.
func get(url string) string {
	client := http.Client{Timeout: hang}
	r, err := client.Get(url)
	if err != nil {
		return ""
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		return ""
	}
	return string(text)
}

// startProgram builds and starts the program, which sends to a Collector until the test ends.
func startProgram(t *testing.T, collector string) {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "program")
	if out, err := exec.Command("go", "build", "-o", exe, "./program").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(exe)
	cmd.Env = []string{"GOGC=150", "GOMEMLIMIT=400MiB", "OTEL_EXPORTER_OTLP_ENDPOINT=" + collector}
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		stuck := time.AfterFunc(hang, func() { cmd.Process.Kill() })
		defer stuck.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the program: %v", err)
		}
	})
}
