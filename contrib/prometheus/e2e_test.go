// SPDX-License-Identifier: Apache-2.0

package snugprom_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// need skips the test unless SNUG_E2E contains the word prometheus. With it, a skip is a failure.
func need(t *testing.T) {
	t.Helper()
	if !slices.Contains(strings.Split(os.Getenv("SNUG_E2E"), ","), "prometheus") {
		t.Skip("set SNUG_E2E=prometheus to run this test; it needs the Debian package prometheus")
	}
}

// hang is when something that takes a few seconds counts as stuck.
const hang = 30 * time.Second

func promtool(t *testing.T, stdin string, args ...string) {
	t.Helper()
	cmd := exec.Command("promtool", args...)
	cmd.Stdin = strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// TestAlerts checks the rules and runs their tests with Prometheus's own tool.
func TestAlerts(t *testing.T) {
	need(t)
	promtool(t, "", "check", "rules", "alerts.yml")
	promtool(t, "", "test", "rules", "testdata/alerts_test.yml")
}

// TestPrometheus has a Prometheus server scrape a program, and queries the server.
func TestPrometheus(t *testing.T) {
	need(t)
	program := startProgram(t)

	var text []string
	for _, line := range strings.SplitAfter(get(t, "http://"+program+"/metrics"), "\n") {
		if strings.Contains(line, "snug_") {
			text = append(text, line)
		}
	}
	promtool(t, strings.Join(text, ""), "check", "metrics")

	server := startPrometheus(t, program)
	// The Go runtime's own metrics are the oracle.
	for _, c := range []struct{ name, query string }{
		{"it is scraped", `up == 1`},
		{"it watches", `snug_watching == 1 and snug_failed == 0`},
		{"GOMAXPROCS is the runtime's", `snug_gomaxprocs == on(instance) go_sched_gomaxprocs_threads`},
		{"GOGC is the runtime's", `snug_gogc_percent == on(instance) go_gc_gogc_percent`},
		{"GOMEMLIMIT is the runtime's", `snug_gomemlimit_bytes == on(instance) go_gc_gomemlimit_bytes`},
		{"it looks again and again", `snug_polls_total > 2`},
		{"one verdict holds", `sum by (instance) (snug_verdict) == 1 and count by (instance) (snug_verdict) == 5`},
		{"one level holds", `sum by (instance) (snug_pressure_level) == 1 and count by (instance) (snug_pressure_level) == 3`},
		{"no knob was given up", `sum by (instance) (snug_knob_given_up) == 0`},
		{"every knob has a reason", `count by (instance) (snug_plan_info{code!="",action=~"set|left|already|requested"}) == 3`},
		{"what is not measured without SNUG_ADAPT=memory is absent", `absent(snug_memory_nongo_peak_bytes)`},
	} {
		t.Run(c.name, func(t *testing.T) { answers(t, server, c.query) })
	}
	t.Run("nothing is NaN", func(t *testing.T) {
		for _, series := range query(t, server, `{__name__=~"snug_.*"}`) {
			if strings.HasSuffix(series, " NaN") {
				t.Error(series)
			}
		}
	})
	t.Run("README's queries", func(t *testing.T) {
		text, err := os.ReadFile("README.md")
		if err != nil {
			t.Fatal(err)
		}
		_, table, _ := strings.Cut(string(text), "| query |")
		queries := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(table, -1)
		if len(queries) < 4 {
			t.Errorf("README.md has %d queries", len(queries))
		}
		for _, q := range queries {
			t.Logf("%s: %v", q[1], query(t, server, q[1]))
		}
	})
	t.Run("the rules are evaluated", func(t *testing.T) { rules(t, server) })
}

// answers waits until the query returns one series, as it must after a few scrapes.
func answers(t *testing.T, server, expr string) {
	t.Helper()
	for deadline := time.Now().Add(hang); ; time.Sleep(100 * time.Millisecond) {
		got := query(t, server, expr)
		if len(got) == 1 {
			t.Logf("%s: %s", expr, got[0])
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s has %d series, want 1: %v\n%v", expr, len(got), got, query(t, server, `{__name__=~"snug_.*|up"}`))
		}
	}
}

// query returns the current series with their values.
func query(t *testing.T, server, expr string) []string {
	t.Helper()
	var data struct {
		Result []struct {
			Metric map[string]string
			Value  [2]any
		}
	}
	api(t, server+"/api/v1/query?query="+url.QueryEscape(expr), &data)
	var series []string
	for _, r := range data.Result {
		series = append(series, fmt.Sprint(r.Metric, " ", r.Value[1]))
	}
	return series
}

// rules waits until every rule was evaluated and is healthy.
func rules(t *testing.T, server string) {
	for deadline := time.Now().Add(hang); ; time.Sleep(100 * time.Millisecond) {
		var data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError, State string }
			}
		}
		api(t, server+"/api/v1/rules", &data)
		if len(data.Groups) != 1 || len(data.Groups[0].Rules) < 4 {
			t.Fatalf("%+v, want one group of rules", data.Groups)
		}
		waiting := false
		for _, r := range data.Groups[0].Rules {
			switch r.Health {
			case "ok":
				if r.State == "firing" {
					t.Errorf("%s is firing for an idle program", r.Name)
				}
			case "unknown":
				waiting = true
			default:
				t.Errorf("%s is %s: %s", r.Name, r.Health, r.LastError)
			}
		}
		if !waiting {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("rules were not evaluated: %+v", data.Groups)
		}
	}
}

// api queries Prometheus and fills data (https://prometheus.io/docs/prometheus/latest/querying/api/).
func api(t *testing.T, address string, data any) {
	t.Helper()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	text := get(t, address)
	if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Status != "success" {
		t.Fatalf("%s: %v: %s", address, err, text)
	}
	if err := json.Unmarshal(answer.Data, data); err != nil {
		t.Fatalf("%s: %v: %s", address, err, text)
	}
}

func get(t *testing.T, address string) string {
	t.Helper()
	client := http.Client{Timeout: hang}
	resp, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %s", address, resp.Status, text)
	}
	return string(text)
}

// startProgram builds and starts internal/program and returns its address.
func startProgram(t *testing.T) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "program")
	if out, err := exec.Command("go", "build", "-o", exe, "./internal/program").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(exe)
	// The library must decide, not the tests' environment. GOGC and GOMEMLIMIT have values
	// that are finite on both sides.
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "SNUG_") && !strings.HasPrefix(v, "SNUG=") && !strings.HasPrefix(v, "GOMAXPROCS=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "GOGC=150", "GOMEMLIMIT=400MiB")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
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
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the program says no address: %v", err)
	}
	return strings.TrimSpace(address)
}

// listening matches the line in which Prometheus logs the free port it took.
var listening = regexp.MustCompile(`msg="Listening on".* address=(127\.0\.0\.1:[1-9][0-9]*)`)

// startPrometheus starts a server that scrapes the target five times a second and keeps
// everything in a temporary directory, and returns its URL.
func startPrometheus(t *testing.T, target string) string {
	t.Helper()
	dir := t.TempDir()
	alerts, err := filepath.Abs("alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(`global: {scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 200ms}
rule_files: [%q]
scrape_configs:
  - job_name: snug
    static_configs: [{targets: [%q]}]
`, alerts, target)
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	promtool(t, "", "check", "config", file)
	cmd := exec.Command("prometheus", "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "tsdb"), "--web.listen-address=127.0.0.1:0")
	cmd.Dir = dir
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said []string // read only once drained
	drained, port := make(chan struct{}), make(chan string, 1)
	go func() {
		defer close(drained)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			said = append(said, lines.Text())
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				select {
				case port <- m[1]:
				default:
				}
			}
		}
	}()
	t.Cleanup(func() {
		cmd.Process.Kill() // its files are removed with the directory
		<-drained
		cmd.Wait()
		if t.Failed() {
			t.Logf("prometheus said:\n%s", strings.Join(said, "\n"))
		}
	})
	select {
	case at := <-port:
		server := "http://" + at
		for deadline := time.Now().Add(hang); ; time.Sleep(50 * time.Millisecond) {
			resp, err := http.Get(server + "/-/ready")
			if err == nil {
				resp.Body.Close()
				if resp.StatusCode == http.StatusOK {
					return server
				}
			}
			if time.Now().After(deadline) {
				t.Fatalf("prometheus is not ready: %v", err)
			}
		}
	case <-drained:
		t.Fatal("prometheus ended before it listened")
	case <-time.After(hang):
		t.Fatal("prometheus does not listen")
	}
	return ""
}
