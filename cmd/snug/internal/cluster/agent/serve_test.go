// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"io"
	"math"
	"net"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/figure"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/profile/promtext"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// idle returns an agent that never scans, with d as its last scan if not nil.
func idle(d *finding.Node, age time.Duration) *Agent {
	a, err := New(Options{Interval: time.Minute, Files: goproc.NewCache("")})
	if err != nil {
		panic(err) // without Root it opens nothing
	}
	if d != nil {
		a.last, a.ended, a.scans = d, time.Now().Add(-age), 3
		a.remember(d, time.Now())
	}
	return a
}

// sampleNode returns the document of a scan.
func sampleNode() *finding.Node {
	process := func(pid int, started string) finding.NodeProcess {
		return finding.NodeProcess{
			Process: finding.Process{
				PID: pid, Exe: "/srv/server", GoVersion: figure.New("go1.24.3", ""), GOMAXPROCS: figure.New(8, ""), GOMAXPROCSSource: figure.New("host", ""),
				GOGC: figure.New(finding.Amount{N: 100}, ""), Cycles: figure.New(int64(7), ""), Memory: figure.New(int64(5<<20), ""),
				Findings: []finding.Finding{{ID: "oom-kills", Severity: finding.SeverityWarning, Title: "Killed <script>", Fix: "GOMEMLIMIT=230MiB", Evidence: []finding.Evidence{{What: "kills", Value: 2, Unit: finding.UnitCount}}}},
				Unknown:  []finding.Gap{},
			},
			Name: "server", Started: &started, Line: new("1.24"), Aware: new(false), CPUs: figure.New(2, ""), CPUTotal: 1.5,
		}
	}
	limited := finding.Container{
		PodUID: new("0ad2ec32-5d7e-4f53-a7a8-6b9d0e1c2f34"), ID: new(strings.Repeat("ab", 32)), Class: new("Burstable"),
		Quota: figure.New(0.5, ""), Request: figure.New(0.25, ""), Periods: figure.New(int64(100), ""), ThrottledPeriods: figure.New(int64(40), ""), ThrottledSeconds: figure.New(2.5, ""), Throttled: figure.New(0.4, ""),
		MemoryLimit: figure.New(int64(256<<20), ""), Memory: figure.New(int64(99<<20), ""), Unreclaimable: figure.New(int64(64<<20), ""), OOMKills: figure.New(int64(2), ""),
		Processes: []finding.NodeProcess{process(10, "2026-11-22T10:00:00Z"), process(11, "2026-11-22T10:00:05Z")},
	}
	free := finding.Container{
		PodUID: new("1ad2ec32-5d7e-4f53-a7a8-6b9d0e1c2f34"), ID: new(strings.Repeat("cd", 32)),
		Periods: figure.New(int64(0), ""), Processes: []finding.NodeProcess{process(12, "2026-11-22T10:00:00Z")},
	}
	free.Processes[0].GOGC = figure.New(finding.Amount{Off: true}, "")
	free.Processes[0].Findings = []finding.Finding{}
	free.Processes[0].GOMEMLIMIT = figure.New(int64(123), "")
	unread := finding.Container{
		ID: new(strings.Repeat("ef", 32)), Processes: []finding.NodeProcess{process(13, "2026-11-22T10:00:00Z")},
	}
	unread.Processes[0].Unknown = []finding.Gap{{Field: "gomemlimit_bytes"}, {Field: "gogc_percent"}}
	unread.Processes[0].GOGC = figure.Of[finding.Amount]{}
	unread.Processes[0].GOMAXPROCS.None()
	unread.Processes[0].Findings = nil
	own := finding.Container{Unit: new("kubelet.service"), Group: new("/system.slice/kubelet.service"), Processes: []finding.NodeProcess{process(14, "2026-11-22T10:00:00Z")}}
	d := &finding.Node{
		Head: finding.NewHead(finding.KindAgent), At: "2026-11-22T10:01:00Z", Memory: true, Lost: []string{},
		Scan:       finding.Scan{Seconds: 0.5, CPU: 0.1, Processes: 200, Go: 5, Programs: 9},
		Containers: []finding.Container{limited, free, unread, own},
		Unsupported: []finding.UnsupportedHere{
			{PodUID: limited.PodUID, ID: limited.ID, Unsupported: finding.Unsupported{PID: 15, Exe: "/usr/bin/python3", Why: "Go in a library, /app/fast.so"}},
			{PodUID: limited.PodUID, ID: limited.ID, Unsupported: finding.Unsupported{PID: 16, Exe: "/usr/bin/python3", Why: "Go in a library, /app/fast.so"}},
			{Unsupported: finding.Unsupported{PID: 17, Exe: "/usr/bin/python3", Why: "Go in a library, /app/fast.so"}},
		},
		Skipped: []finding.Left{{Reason: skipDenied, Count: 3, Hint: "run as root"}}, Unknown: []finding.Gap{},
	}
	for i := range d.Containers {
		c := &d.Containers[i]
		finding.Settle(c, c.Unknown)
		for j := range c.Processes {
			finding.Settle(&c.Processes[j], c.Processes[j].Unknown)
		}
	}
	return d
}

// gathered returns the values of a scrape by series: "name{a=b}" without empty labels.
func gathered(t *testing.T, a *Agent) map[string]float64 {
	t.Helper()
	page := scraped(t, a)
	read, err := promtext.Read(strings.NewReader(page), "snug_")
	if err != nil || read.Bad != 0 {
		t.Fatalf("%d bad lines, %v, in\n%s", read.Bad, err, page)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(page) {
		word := strings.Fields(line)
		if word[0] != "#" {
			continue
		}
		if word[1] == "HELP" && (len(word) < 5 || seen[word[2]]) {
			t.Errorf("no help, or the family twice: %s", line)
		}
		if word[1] == "TYPE" && (word[3] == "counter") != strings.HasSuffix(word[2], "_total") {
			t.Errorf("%s", line)
		}
		seen[word[2]] = seen[word[2]] || word[1] == "TYPE"
	}
	series := map[string]float64{}
	for _, m := range read.Samples {
		var labels []string
		for _, l := range m.Labels {
			labels = append(labels, l.Name+"="+l.Value)
		}
		name := m.Name + "{" + strings.Join(labels, ",") + "}"
		if _, twice := series[name]; twice || !seen[m.Name] {
			t.Errorf("twice, or of no family: %s", name)
		}
		series[name] = m.Value
	}
	return series
}

// TestMetrics: known values are there, none and unknown are not.
func TestMetrics(t *testing.T) {
	got := gathered(t, idle(sampleNode(), 0))
	limited := "{container_id=" + strings.Repeat("ab", 6) + ",pod_uid=0ad2ec32-5d7e-4f53-a7a8-6b9d0e1c2f34}"
	free := "{container_id=" + strings.Repeat("cd", 6) + ",pod_uid=1ad2ec32-5d7e-4f53-a7a8-6b9d0e1c2f34}"
	unread := "{container_id=" + strings.Repeat("ef", 6) + "}"
	for series, want := range map[string]float64{
		"snug_go_container_gomaxprocs" + limited:                  8,
		"snug_go_container_processes" + limited:                   2,
		"snug_go_container_cpu_quota_cores" + limited:             0.5,
		"snug_go_container_cpu_throttled_ratio" + limited:         0.4,
		"snug_go_container_cpu_throttled_seconds_total" + limited: 2.5,
		"snug_go_container_memory_limit_bytes" + limited:          256 << 20,
		"snug_go_container_gomemlimit_bytes" + limited:            math.Inf(1),
		"snug_go_container_gomemlimit_bytes" + free:               123,
		"snug_go_container_gogc_percent" + free:                   math.Inf(1),
		"snug_go_container_gogc_percent" + limited:                100,
		"snug_go_container_start_time_seconds" + free:             1795341600,
		"snug_go_container_oom_kills_total" + limited:             2,
		"snug_go_container_unsupported_processes" + limited:       2,
		"snug_agent_processes_skipped{reason=denied}":             3,
		"snug_agent_processes_skipped{reason=zombie}":             0,
		"snug_agent_go_processes{place=container}":                4,
		"snug_agent_go_processes{place=node}":                     1,
		"snug_agent_scans_total{}":                                3,
		"snug_agent_memory_read{}":                                1,
		"snug_go_container_finding{" + strings.Split(limited, ",")[0][1:] + ",id=oom-kills,pod_uid=0ad2ec32-5d7e-4f53-a7a8-6b9d0e1c2f34,severity=warning}": 1,
	} {
		if v, ok := got[series]; !ok || v != want {
			t.Errorf("%s: %v, %t, want %v", series, v, ok, want)
		}
	}
	for _, absent := range []string{
		"snug_go_container_cpu_quota_cores" + free, "snug_go_container_cpu_periods_total" + free, "snug_go_container_cpu_throttled_ratio" + free,
		"snug_go_container_memory_limit_bytes" + free, "snug_go_container_gomemlimit_bytes" + unread, "snug_go_container_gogc_percent" + unread,
		"snug_go_container_gomaxprocs" + unread, "snug_go_container_gc_cpu_ratio" + limited,
	} {
		if v, ok := got[absent]; ok {
			t.Errorf("%s is there: %v", absent, v)
		}
	}
	for series := range got {
		if strings.Contains(series, "kubelet") || strings.Contains(series, "/srv") {
			t.Errorf("%s", series)
		}
	}
}

// TestMetricsNamed: with names there are no ids, and of two containers with the same names the
// later one counts.
func TestMetricsNamed(t *testing.T) {
	d := sampleNode()
	for i := range d.Containers[:2] {
		c := &d.Containers[i]
		c.Namespace, c.Pod, c.Name = new("shop"), new("cart-1"), new("app")
	}
	d.Containers[1].Processes[0].Started = new("2026-11-22T11:00:00Z")
	d.Unsupported = d.Unsupported[:1]
	d.Unsupported[0].ContainerNames = d.Containers[0].ContainerNames
	got := gathered(t, idle(d, 0))
	if v := got["snug_go_container_unsupported_processes{container=app,namespace=shop,pod=cart-1}"]; v != 1 {
		t.Errorf("%v processes of Go that is not read", v)
	}
	if v, ok := got["snug_go_container_gomemlimit_bytes{container=app,namespace=shop,pod=cart-1}"]; !ok || v != 123 {
		t.Errorf("%v, %t\n%v", v, ok, got)
	}
	for series := range got {
		if strings.Contains(series, "pod_uid") {
			t.Error(series)
		}
	}
}

// TestMetricsSpread: a histogram has few buckets and no sum, and no container without names has one.
func TestMetricsSpread(t *testing.T) {
	d := sampleNode()
	bounds := observe.Bounds()
	for i := range d.Containers {
		p := &d.Containers[i].Processes[0]
		p.Goroutines = figure.New(42, "")
		p.Latency = figure.New(finding.Spread{Count: 9, Below: []uint64{1, 2, 3, 4, 5, 8}}, "")
	}
	if n := len(d.Containers[0].Processes[0].Latency.N.Below); n != len(bounds) {
		t.Fatalf("%d bounds, want %d", len(bounds), n)
	}
	c := &d.Containers[0]
	c.Namespace, c.Pod, c.Name = new("shop"), new("cart-1"), new("app")
	page := scraped(t, idle(d, 0))
	const name = "snug_go_container_sched_latency_seconds"
	var lines []string
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, name) {
			lines = append(lines, strings.TrimPrefix(strings.TrimSpace(line), name))
		}
	}
	labels := `container="app",namespace="shop",pod="cart-1"`
	want := []string{
		"_bucket{" + labels + `,le="1.6384e-05"} 1`, "_bucket{" + labels + `,le="0.000131072"} 2`, "_bucket{" + labels + `,le="0.001048576"} 3`,
		"_bucket{" + labels + `,le="0.008388608"} 4`, "_bucket{" + labels + `,le="0.067108864"} 5`, "_bucket{" + labels + `,le="0.536870912"} 8`,
		"_bucket{" + labels + `,le="+Inf"} 9`, "_count{" + labels + "} 9",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	if !strings.Contains(page, "snug_go_container_goroutines{"+labels+"} 42\n") {
		t.Error("no goroutines")
	}
}

// TestMetricsConventional: the names of OpenTelemetry have the same values, and are there only if asked for.
func TestMetricsConventional(t *testing.T) {
	d := sampleNode()
	c := &d.Containers[0]
	c.Namespace, c.Pod, c.Name = new("shop"), new("cart-1"), new("app")
	p := &c.Processes[0]
	p.Goroutines, p.Cycles, p.Goal = figure.New(42, ""), figure.New(int64(7), ""), figure.New(int64(1<<20), "")
	p.GOMEMLIMIT, p.GOGC = figure.New(int64(5<<20), ""), figure.New(finding.Amount{N: 150}, "")
	p.Latency = figure.New(finding.Spread{Count: 9, Below: []uint64{1, 2, 3, 4, 5, 8}}, "")
	a := idle(d, 0)
	if page := scraped(t, a); strings.Contains(page, "go_processor_limit") {
		t.Error("it was not asked for")
	}
	a = idle(d, 0)
	a.opts.Conventional = true
	page := scraped(t, a)
	const labels = `{container="app",namespace="shop",pod="cart-1"} `
	for own, theirs := range map[string]string{
		"gomaxprocs": "go_processor_limit", "gomemlimit_bytes": "go_memory_limit_bytes", "gogc_percent": "go_config_gogc_percent",
		"heap_goal_bytes": "go_memory_gc_goal_bytes", "gc_cycles_total": "go_memory_gc_cycles_total", "goroutines": "go_goroutine_count",
		"sched_latency_seconds_count": "go_schedule_duration_seconds_count",
	} {
		_, rest, ok := strings.Cut(page, "\nsnug_go_container_"+own+labels)
		value, _, _ := strings.Cut(rest, "\n")
		if !ok || !strings.Contains(page, "\n"+theirs+labels+value+"\n") {
			t.Errorf("%s is %s; there is no %s of that value", own, value, theirs)
		}
	}
	// The second container has GOGC off.
	if n := strings.Count(page, "\ngo_config_gogc_percent{"); n != strings.Count(page, "\nsnug_go_container_gogc_percent{")-1 {
		t.Errorf("%d series of GOGC", n)
	}
	if strings.Contains(page, "go_memory_limit_bytes{container=\"app\",namespace=\"shop\",pod=\"cart-1\"} +Inf") {
		t.Error("no limit is no number there")
	}
}

// TestMetricsEmpty: before the first scan there are only series of the agent.
func TestMetricsEmpty(t *testing.T) {
	got := gathered(t, idle(nil, 0))
	if len(got) != 6 || got["snug_agent_cut_total{reason=full}"] != 0 || got["snug_agent_scans_total{}"] != 0 || got["snug_build_info{version=devel}"] != 1 {
		t.Errorf("%v", got)
	}
}

// TestAnswers checks each path, before and after a scan, and with an old scan.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name, method, path string
		agent              *Agent
		code               int
		kind, holds        string
	}{
		{"health at first", "GET", "/healthz", idle(nil, 0), 503, "text/plain", "no scan yet"},
		{"health", "GET", "/healthz", idle(sampleNode(), 2*time.Minute), 200, "text/plain", "ok"},
		{"health of an old scan", "GET", "/healthz", idle(sampleNode(), 4*time.Minute), 503, "text/plain", "4m"},
		{"findings at first", "GET", "/findings", idle(nil, 0), 503, "text/plain", "no scan yet"},
		{"findings", "GET", "/findings", idle(sampleNode(), 0), 200, "application/json", `{"snug":"v1","kind":"agent"`},
		{"page at first", "GET", "/", idle(nil, 0), 503, "text/plain", "no scan yet"},
		{"page", "GET", "/", idle(sampleNode(), 0), 200, "text/html", "GOMEMLIMIT=230MiB"},
		{"page of an old scan", "GET", "/", idle(sampleNode(), 4*time.Minute), 200, "text/html", "Unreliable"},
		{"page, unknown words", "GET", "/?sort=taste&reverse=2&wrong=x", idle(sampleNode(), 0), 200, "text/html", "5 Go processes"},
		{"page, only warnings", "GET", "/?wrong=1", idle(sampleNode(), 0), 200, "text/html", "Also those without a warning"},
		{"page, by workload", "GET", "/?group=workload&find=kube", idle(sampleNode(), 0), 200, "text/html", `name="group" value="workload"`},
		{"page, odd parameters", "GET", "/?group=x&in=y&from=-7&find=%00%ff", idle(sampleNode(), 0), 200, "text/html", "A row for each"},
		{"metrics at first", "GET", "/metrics", idle(nil, 0), 200, "text/plain", "snug_agent_scans_total 0"},
		{"metrics", "GET", "/metrics", idle(sampleNode(), 0), 200, "text/plain", "snug_go_container_info{"},
		{"nothing", "GET", "/favicon.ico", idle(sampleNode(), 0), 404, "", ""},
		{"no profiles", "GET", "/debug/pprof/heap", idle(sampleNode(), 0), 404, "", ""},
		{"it takes nothing", "POST", "/findings", idle(sampleNode(), 0), 405, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			c.agent.Handler().ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil))
			text := w.Body.String()
			if w.Code != c.code || !strings.HasPrefix(w.Header().Get("Content-Type"), c.kind) || !strings.Contains(text, c.holds) {
				t.Errorf("%d %s\n%s", w.Code, w.Header().Get("Content-Type"), text)
			}
			if c.kind == "text/html" && strings.Contains(text, "<script") || w.Header().Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%v\n%s", w.Header(), text)
			}
		})
	}
}

// TestWarn: many denied processes are noted, a few are not.
func TestWarn(t *testing.T) {
	for denied, want := range map[int]string{
		107: "note: 107 of 108 processes cannot be inspected, denied\nhint: run as root\n", 3: "", 0: "",
	} {
		notes := ""
		a := idle(sampleNode(), 0)
		a.opts.Note = func(text string) { notes += text + "\n" }
		a.warn(&finding.Node{Scan: finding.Scan{Processes: 108}, Skipped: []finding.Left{{Reason: skipDenied, Count: denied, Hint: "run as root"}}})
		if notes != want {
			t.Errorf("%d denied: %q", denied, notes)
		}
	}
}

// TestHealthyMeanwhile calls Healthy while a scan ends, for the race detector.
func TestHealthyMeanwhile(t *testing.T) {
	a := idle(nil, 0)
	done := make(chan bool)
	go func() {
		defer close(done)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.failed = "no /proc"
	}()
	_ = a.Healthy()
	<-done
	if err := a.Healthy(); err == nil || err.Error() != "no /proc" {
		t.Errorf("%v", err)
	}
}

// TestServeEnds: Serve ends with its context, also while a client keeps a connection.
func TestServeEnds(t *testing.T) {
	a := idle(nil, 0)
	ctx, stop := context.WithCancel(t.Context())
	stop() // so that it never scans
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := a.Serve(ctx, l); err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("it still listens")
	}
	if n, _ := io.Copy(io.Discard, c); n > 0 { // it ends, or is reset
		t.Errorf("%d bytes", n)
	}
}

// TestServeFails: Serve fails if its listener is closed.
func TestServeFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	a := idle(nil, 0)
	if err := a.Serve(t.Context(), l); err == nil {
		t.Error("it served")
	}
}

// TestPacer: the pauses are in proportion to the CPU time.
func TestPacer(t *testing.T) {
	now := 10 * time.Second // of CPU time, before the first stint
	var slept time.Duration
	p := pacer{share: 0.25, cpu: func() time.Duration { return now }, sleep: func(_ context.Context, d time.Duration) error { slept += d; return nil }}
	for range 1000 {
		if err := p.rest(t.Context()); err != nil {
			t.Fatal(err)
		}
		now += time.Millisecond
	}
	took := time.Second
	if share := took.Seconds() / (took + slept).Seconds(); share < 0.24 || share > 0.26 {
		t.Errorf("%v of %v", took, took+slept)
	}
	free := pacer{}
	if err := free.rest(t.Context()); err != nil || free.begun {
		t.Errorf("%v, %+v", err, free)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := free.rest(ctx); err != context.Canceled {
		t.Error(err)
	}
	if err := pause(ctx, time.Hour); err != context.Canceled {
		t.Error(err)
	}
}

// TestHistory: historyLen scans are kept, and none of containers that have ended.
func TestHistory(t *testing.T) {
	d := sampleNode()
	a := idle(d, 0)
	now := time.Now()
	for i := range historyLen + 10 {
		d.Containers[0].Throttled = figure.New(float64(i), "")
		now = now.Add(time.Second)
		a.remember(d, now)
	}
	h := a.history[keyOfContainer(&d.Containers[0])]
	if len(h.throttled) != historyLen || h.throttled[historyLen-1] != historyLen+9 || h.throttled[0] != 10 || h.memory[0] != 64<<20 {
		t.Errorf("%v %v", h.throttled, h.memory)
	}
	if h := a.history[keyOfContainer(&d.Containers[1])]; h.throttled[0] != -1 {
		t.Errorf("no quota: %v", h.throttled[0])
	}
	d.Containers = d.Containers[1:]
	a.remember(d, now.Add(time.Second))
	if len(a.history) != 3 {
		t.Errorf("%d containers are remembered", len(a.history))
	}
}

// TestRegistry: each metric has a row and a unique name.
func TestRegistry(t *testing.T) {
	seen := map[string]bool{}
	for m, f := range newRegistry() {
		if f.name == "" || f.kind == "" || f.help == "" || seen[f.name] {
			t.Errorf("metric %d: %+v", m, f)
		}
		seen[f.name] = true
	}
}

// TestMetricsMadeOnce: scrapes of one scan share its text. The next scan has another one, with the parts of
// the containers that are the same.
func TestMetricsMadeOnce(t *testing.T) {
	d := sampleNode()
	a := idle(d, 0)
	first := scraped(t, a)
	made := a.made
	if len(made.parts) < 2 || !strings.Contains(first, "go_goroutines ") || scraped(t, a) == "" || a.made != made {
		t.Errorf("%d parts, made once: %t", len(made.parts), a.made == made)
	}
	c := &d.Containers[0]
	c.Processes = slices.Clone(c.Processes)
	c.Processes[0].CPUTotal = 4711
	a.scans++
	second := scraped(t, a)
	if !strings.Contains(second, "snug_agent_scans_total 4\n") || !strings.Contains(second, "} 4711\n") {
		t.Errorf("%.100q", second)
	}
	anew := 0
	for _, p := range a.made.parts {
		if !slices.Contains(made.parts, p) {
			anew++
		}
	}
	if anew != 1 || len(a.made.parts) != len(made.parts) {
		t.Errorf("%d of %d parts were made anew, want 1", anew, len(a.made.parts))
	}
}

// scraped returns the metrics as a client gets them.
func scraped(t *testing.T, a *Agent) string {
	t.Helper()
	w := httptest.NewRecorder()
	a.scraped(nil).write(w)
	text := w.Body.String()
	if got := w.Header().Get("Content-Length"); got != strconv.Itoa(len(text)) {
		t.Errorf("Content-Length %s of %d bytes", got, len(text))
	}
	return text
}
