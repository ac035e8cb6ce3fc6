// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/keep"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/snapshot"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/needs"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/profile/promtext"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// idle returns a server of one scan, d if not nil.
func idle(d *finding.Node, age time.Duration) *Server {
	from := snapshot.Snapshot{Trends: &snapshot.Trends{}, Needs: noNeeds{}}
	if d != nil {
		from.Node, from.Ended, from.Scans = d, time.Now().Add(-age), 3
		from.Trends.Add(d, time.Now())
	}
	return New(Options{Interval: time.Minute, Last: func() snapshot.Snapshot { return from }})
}

// noNeeds has no workloads.
type noNeeds struct{}

func (noNeeds) Each(func(*needs.Workload)) {}
func (noNeeds) Encode() ([]byte, error)    { return nil, nil }

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
		Skipped: []finding.Left{{Reason: snapshot.SkipDenied, Count: 3, Hint: "run as root"}}, Unknown: []finding.Gap{},
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
func gathered(t *testing.T, a *Server) map[string]float64 {
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
		server             *Server
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
		{"page, searched", "GET", "/?sort=name&find=kube", idle(sampleNode(), 0), 200, "text/html", `name="sort" value="name"`},
		{"page, odd parameters", "GET", "/?sort=x&reverse=y&find=%00%ff", idle(sampleNode(), 0), 200, "text/html", "None."},
		{"metrics at first", "GET", "/metrics", idle(nil, 0), 200, "text/plain", "snug_agent_scans_total 0"},
		{"metrics", "GET", "/metrics", idle(sampleNode(), 0), 200, "text/plain", "snug_go_container_info{"},
		{"nothing", "GET", "/favicon.ico", idle(sampleNode(), 0), 404, "", ""},
		{"no profiles", "GET", "/debug/pprof/heap", idle(sampleNode(), 0), 404, "", ""},
		{"it takes nothing", "POST", "/findings", idle(sampleNode(), 0), 405, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			c.server.Handler().ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil))
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

// TestFamilies: each metric has a type, help and a unique name, and each figure of package needs has a metric.
func TestFamilies(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range families() {
		kind := slices.Contains([]promtext.Type{promtext.Gauge, promtext.Counter, promtext.Histogram}, f.kind)
		if f.help == "" || !kind || seen[f.name] {
			t.Errorf("%+v", f)
		}
		seen[f.name] = true
	}
	for _, one := range needs.Names {
		if !seen["snug_go_workload_"+one.Name] {
			t.Errorf("no metric for %s", one.Name)
		}
	}
	if len(seen) < 50 {
		t.Errorf("%d metrics", len(seen))
	}
}

// TestMetricsResized: the time of a change is a series, by resource.
func TestMetricsResized(t *testing.T) {
	d := sampleNode()
	d.Containers[0].Processes[0].QuotaChanged = new("2026-11-22T11:00:00Z")
	got := gathered(t, idle(d, 0))
	const name = "snug_go_container_resized_timestamp_seconds{container_id=abababababab,pod_uid=0ad2ec32-5d7e-4f53-a7a8-6b9d0e1c2f34,resource="
	if v := got[name+"cpu}"]; v != 1795345200 {
		t.Errorf("%v", v)
	}
	if v, ok := got[name+"memory}"]; ok {
		t.Errorf("the memory limit did not change: %v", v)
	}
	if v := got["snug_agent_scan_interval_seconds{}"]; v != 60 {
		t.Errorf("interval %v", v)
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
	next := a.opts.Last()
	next.Scans++
	a.opts.Last = func() snapshot.Snapshot { return next }
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
func scraped(t *testing.T, a *Server) string {
	t.Helper()
	w := httptest.NewRecorder()
	a.scraped(nil).write(w)
	text := w.Body.String()
	if got := w.Header().Get("Content-Length"); got != strconv.Itoa(len(text)) {
		t.Errorf("Content-Length %s of %d bytes", got, len(text))
	}
	return text
}

// TestNamesServed: a container's names are on every page, and the workload is a label of only
// one metric.
func TestNamesServed(t *testing.T) {
	d, sum := sampleNode(), strings.Repeat("01", 32)
	d.Containers[0].ContainerNames = finding.ContainerNames{Namespace: new("shop"), Pod: new("cart-1"), Name: new("app"), Workload: new("Deployment/cart"), Image: new("shop/cart:1"), Digest: new("sha256:" + sum)}
	d.Others = []finding.OtherContainer{{ContainerNames: finding.ContainerNames{Namespace: new("shop"), Pod: new("db-0"), Name: new("db"), Workload: new("StatefulSet/db"), Image: new("postgres:17")}}}
	a := idle(d, 0)
	for path, want := range map[string][]string{
		"/findings": {`"workload":"Deployment/cart","image":"shop/cart:1","image_digest":"sha256:` + sum + `"`, `"other_containers":[{"namespace":"shop","pod":"db-0","container":"db","workload":"StatefulSet/db","image":"postgres:17","image_digest":null`},
		"/":         {"Deployment/cart", "shop/cart:1", sum},
	} {
		w := httptest.NewRecorder()
		a.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		for _, one := range want {
			if !strings.Contains(w.Body.String(), one) {
				t.Errorf("%s: no %q in\n%s", path, one, w.Body)
			}
		}
	}
	n := 0
	for series := range gathered(t, a) {
		if !strings.Contains(series, "workload=") {
			continue
		}
		if n++; !strings.HasPrefix(series, "snug_go_container_info{") || !strings.Contains(series, "workload=Deployment/cart") {
			t.Error(series)
		}
	}
	if n != 1 {
		t.Errorf("%d series have a workload", n)
	}
}

// TestNeedsServed: the document and the metrics of a workload are served.
func TestNeedsServed(t *testing.T) {
	noon := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	c := finding.Container{
		ContainerNames: finding.ContainerNames{Namespace: new("shop"), Pod: new("p"), Name: new("app"), Workload: new("Deployment/web")},
		Used:           figure.New(0.25, ""), MemoryLimit: figure.New(int64(512<<20), ""), Processes: []finding.NodeProcess{{}},
	}
	g := &goproc.Facts{CPUs: 4, Allocated: figure.New(uint64(1<<30), ""), Collections: figure.New(uint32(100), ""), GOGC: figure.New(100, ""), GOMAXPROCS: figure.New(4, "")}
	g.Exe.Minor = 26
	later := *g
	later.Allocated.N += 100 << 20
	later.Collections.N += 2
	kept := keep.Open("", "n1", 15*time.Second, nil)
	for i, one := range []snapshot.Sample{{Last: observe.Moment{At: noon, Go: g}}, {Prev: observe.Moment{At: noon, Go: g}, Last: observe.Moment{At: noon.Add(15 * time.Second), Go: &later}}} {
		kept.Add(&snapshot.Snapshot{Node: &finding.Node{Containers: []finding.Container{c}}, Samples: []snapshot.Sample{one}}, noon.Add(time.Duration(i)*15*time.Second))
	}
	a := idle(sampleNode(), 0)
	from := a.opts.Last()
	from.Needs = kept
	a.opts.Last = func() snapshot.Snapshot { return from }
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/needs", nil))
	if d, err := needs.Decode(w.Body.Bytes()); err != nil || w.Code != 200 || len(d.Workloads) != 1 || d.Node != "n1" {
		t.Errorf("%d: %v", w.Code, err)
	}
	got := gathered(t, a)
	const of = "container=app,namespace=shop,"
	for name, want := range map[string]float64{
		"seen_seconds{" + of + "workload=Deployment/web}": 15, "cpu_cores{" + of + "stat=mean,workload=Deployment/web}": 0.25,
		"info{container=app,go=1.26,gogc=100,gomaxprocs=4,namespace=shop,workload=Deployment/web}": 1, "memory_limit_bytes{" + of + "stat=least,workload=Deployment/web}": 512 << 20, "memory_limit_bytes{" + of + "stat=count,workload=Deployment/web}": 1,
		"gc_cycles_per_second{" + of + "stat=mean,workload=Deployment/web}": 2 / 15.0, "allocated_bytes_per_second{" + of + "stat=mean,workload=Deployment/web}": 100 << 20 / 15.0,
	} {
		if v, ok := got["snug_go_workload_"+name]; !ok || v < 0.999*want || v > 1.001*want {
			t.Errorf("%s: %v", name, v)
		}
	}
	for name := range got {
		if strings.HasPrefix(name, "snug_go_workload_throttled") {
			t.Error("a share of no periods: " + name)
		}
	}
}
